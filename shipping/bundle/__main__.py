"""`python -m shipping.bundle`: make the offline packages, say where they are, or say in a sentence why not."""

import argparse
import sys
from pathlib import Path

from shipping.bundle.building import bundle
from shipping.bundle.errors import BundleError
from shipping.charts.errors import ChartError
from shipping.ending import ended
from shipping.image.errors import ImageError
from shipping.image.progress import Progress
from shipping.image.project import ROOT
from tangram.services.images.errors import ImagesError


def main(words: list[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m shipping.bundle", description="Make the offline packages."
    )
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder of the files (dist/)")
    parser.add_argument(
        "--payload",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a driver or MXMACA to pack along, as `tangram images payload` writes it; may be repeated",
    )
    asked = parser.parse_args(words)
    return ended(
        lambda: bundle(asked.output, Progress(sys.stdout), payloads=tuple(asked.payload)),
        (BundleError, ChartError, ImageError, ImagesError),
        unmade="The packages could not be made",
        stopped="Stopped. What was fetched is kept; the same call goes on from there.",
    )


if __name__ == "__main__":
    sys.exit(main())
