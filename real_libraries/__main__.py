"""Run the suite over libraries of the vendors, in a mount namespace whose `/sys` is ours.

make real-libraries MXSML=/path/libmxsml.so
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Final, NoReturn

from cyclopts import App, CycloptsError, Parameter

from testbed import linux
from testbed.errors import BedError

HERE: Final = Path(__file__).resolve().parent
TESTS: Final = HERE.parent / "tests"
_INSIDE: Final = "TANGRAM_REAL_INSIDE"
_WHERE: Final = (
    "No library was named. MetaX's is part of its driver (/opt/mxdriver/lib/libmxsml.so) and of the public repository "
    "MetaX-MACA/mxExporter (dep/libmxsml.so): make real-libraries MXSML=/path/libmxsml.so"
)

app = App(name="real_libraries", help=__doc__)


@app.default
def run(
    *,
    mxsml: Annotated[Path | None, Parameter(help="MetaX's libmxsml.so.")] = None,
    words: Annotated[tuple[str, ...], Parameter(help="Further words for pytest.")] = (),
) -> None:
    """Ask the library and its twin the same, and compare."""
    if mxsml is None or not str(mxsml).strip(". "):
        raise BedError(_WHERE)
    if not mxsml.is_file():
        raise BedError(f"{mxsml} is no file. {_WHERE}")
    if os.environ.get(_INSIDE) != "1":
        _start_inside()
    linux.mount("tmpfs", "/sys", "tmpfs")
    sys.path[:0] = [str(HERE.parent), str(TESTS)]
    from builders.native import shared_object  # noqa: PLC0415 - of the tests, whose folder is known now

    sources = tuple(f"mxsml/{name}.c" for name in ("preload", "kernel", "tree"))
    environment = {
        **os.environ,
        "TANGRAM_REAL_MXSML": str(mxsml.resolve()),
        "LD_PRELOAD": str(shared_object(sources, "kernel.so", flags=("-ldl",))),
        "PYTHONPATH": f"{HERE.parent}:{TESTS}",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE), *words],
        env=environment,
        cwd=HERE.parent,
        check=False,
    )
    sys.exit(done.returncode)


def _start_inside() -> NoReturn:
    """This program again, where mounts are its own."""
    unshare = shutil.which("unshare")
    if unshare is None:
        raise BedError("unshare is not there: on Debian, apt-get install util-linux.")
    os.environ[_INSIDE] = "1"
    mapped = () if os.geteuid() == 0 else ("--map-root-user",)
    sys.stdout.flush()
    os.execv(unshare, [unshare, "--mount", *mapped, sys.executable, "-m", "real_libraries", *sys.argv[1:]])  # noqa: S606


def main() -> int:
    """The exit status."""
    try:
        app(exit_on_error=False, print_error=False, result_action="return_value")
    except (CycloptsError, BedError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
