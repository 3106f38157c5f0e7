"""`python -m shipping.charts`: pack the charts, say where they are, or say in a sentence why not."""

import argparse
import sys
from pathlib import Path

from shipping.charts.errors import ChartError
from shipping.charts.packing import pack
from shipping.image.errors import ImageError
from shipping.image.project import ROOT


def main(words: list[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m shipping.charts", description="Pack the charts.")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder of the packages (dist/)")
    asked = parser.parse_args(words)
    try:
        for path in pack(asked.output):
            sys.stdout.write(f"{path} ({path.stat().st_size / 1e3:.0f} kB)\n")
    except (ChartError, ImageError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except OSError as error:  # a full disk, a folder that vanished or may not be written
        sys.stderr.write(f"The charts could not be packed: {error}.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
