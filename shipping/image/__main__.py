"""`python -m shipping.image`: make the image, say where it is, or say in a sentence why not."""

import argparse
import sys
from pathlib import Path

from shipping.ending import ended
from shipping.image.building import build
from shipping.image.errors import ImageError
from shipping.image.progress import Progress
from shipping.image.project import ROOT


def main(words: list[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m shipping.image", description="Make the container image.")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder of the files (dist/)")
    parser.add_argument("--refresh", action="store_true", help="look for newer Debian packages first")
    asked = parser.parse_args(words)
    return ended(
        lambda: build(asked.output, Progress(sys.stdout), refresh=asked.refresh),
        (ImageError,),
        unmade="The image could not be made",
        stopped="Stopped. What was fetched is kept; the same call goes on from there.",
    )


if __name__ == "__main__":
    sys.exit(main())
