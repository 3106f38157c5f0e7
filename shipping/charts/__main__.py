"""`python -m shipping.charts`: pack the charts, say where they are, or say in a sentence why not."""

import argparse
import sys
from pathlib import Path

from shipping.charts.errors import ChartError
from shipping.charts.packing import pack
from shipping.ending import ended
from shipping.image.errors import ImageError
from shipping.image.project import ROOT


def main(words: list[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m shipping.charts", description="Pack the charts.")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder of the packages (dist/)")
    asked = parser.parse_args(words)
    return ended(
        lambda: _pack(asked.output),
        (ChartError, ImageError),
        unmade="The charts could not be packed",
        stopped="Stopped.",
    )


def _pack(output: Path) -> None:
    for path in pack(output):
        sys.stdout.write(f"{path} ({path.stat().st_size / 1e3:.0f} kB)\n")


if __name__ == "__main__":
    sys.exit(main())
