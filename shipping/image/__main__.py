"""`python -m shipping.image`: make the image, say where it is, or say in a sentence why not."""

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

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
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        build(asked.output, Progress(sys.stdout), refresh=asked.refresh)
    except ImageError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except OSError as error:  # a full disk, a folder that vanished or may not be written
        sys.stderr.write(f"The image could not be made: {error}.\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("Stopped. What was fetched is kept; the same call goes on from there.\n")
        return 130
    return 0


def _as_interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
