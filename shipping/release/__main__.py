"""`python -m shipping.release`: make the release of what is checked out, or say in a sentence why not."""

import argparse
import sys
from pathlib import Path

from shipping.ending import ended
from shipping.image.errors import ImageError
from shipping.image.progress import Progress
from shipping.image.project import ROOT
from shipping.release.errors import ReleaseError
from shipping.release.making import FOLDER, Wish, release


def main(words: list[str] | None = None, root: Path = ROOT) -> int:
    """The command for what is checked out in `root`; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m shipping.release", description="Make a release.")
    parser.add_argument("--output", type=Path, help=f"folder of the releases ({FOLDER}/)")
    parser.add_argument("--snapshot", action="store_true", help="of a commit without a tag, to try out")
    parser.add_argument("--refresh", action="store_true", help="look for newer Debian packages first")
    asked = parser.parse_args(words)
    wish = Wish(asked.snapshot, asked.refresh)
    return ended(
        lambda: release(wish, Progress(sys.stdout), root=root, output=asked.output),
        (ReleaseError, ImageError),
        unmade="The release could not be made",
        stopped="Stopped. No part of the release is left; what was fetched is kept.",
    )


if __name__ == "__main__":
    sys.exit(main())
