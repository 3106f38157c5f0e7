"""`python -m shipping.release`: make the release of what is checked out, or say in a sentence why not."""

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

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
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        release(Wish(asked.snapshot, asked.refresh), Progress(sys.stdout), root=root, output=asked.output)
    except (ReleaseError, ImageError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except OSError as error:  # a full disk, a folder that vanished or may not be written
        sys.stderr.write(f"The release could not be made: {error}.\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("Stopped. No part of the release is left; what was fetched is kept.\n")
        return 130
    return 0


def _as_interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
