"""Run the suite over libraries of the vendors, in a mount namespace whose `/sys` and `/dev` are ours.

make real-libraries MXSML=/path/libmxsml.so MTML=/path/libmtml.so
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Final, NamedTuple, NoReturn

from cyclopts import App, CycloptsError, Parameter

from testbed import linux
from testbed.errors import BedError

HERE: Final = Path(__file__).resolve().parent
TESTS: Final = HERE.parent / "tests"
_INSIDE: Final = "TANGRAM_REAL_INSIDE"
_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty")


class Vendor(NamedTuple):
    """How one vendor's library is tried."""

    option: str
    variable: str
    stand_in: tuple[str, ...]
    """Sources of what is put before its calls to the kernel."""
    where: str


VENDORS: Final = (
    Vendor(
        "MXSML",
        "TANGRAM_REAL_MXSML",
        ("mxsml/preload.c", "mxsml/kernel.c", "mxsml/tree.c"),
        "MetaX's is part of its driver (/opt/mxdriver/lib/libmxsml.so) and of the public repository "
        "MetaX-MACA/mxExporter (dep/libmxsml.so)",
    ),
    Vendor(
        "MTML",
        "TANGRAM_REAL_MTML",
        ("mtml/kernel.c", "mtml/world.c"),
        "Moore Threads' is part of MT GPU Management Center (/usr/lib/libmtml.so) and of the public repository "
        "MooreThreads/MobiMaliangSDK (in debs/mtml_1.5.0.deb; it needs libdrm2)",
    ),
)
_WHERE: Final = (
    f"{'. '.join(vendor.where for vendor in VENDORS)}. Name one or both: "
    f"make real-libraries {' '.join(f'{vendor.option}=/path/lib{vendor.option.lower()}.so' for vendor in VENDORS)}"
)

app = App(name="real_libraries", help=__doc__)


@app.default
def run(
    *,
    mxsml: Annotated[Path | None, Parameter(help="MetaX's libmxsml.so.")] = None,
    mtml: Annotated[Path | None, Parameter(help="Moore Threads' libmtml.so.")] = None,
    words: Annotated[tuple[str, ...], Parameter(help="Further words for pytest.")] = (),
) -> None:
    """Ask each library and its twin the same, and compare."""
    files = zip(VENDORS, (mxsml, mtml), strict=True)
    named = {vendor: file for vendor, file in files if file is not None and str(file).strip(". ")}
    if not named:
        raise BedError(f"No library was named. {_WHERE}")
    for file in named.values():
        if not file.is_file():
            raise BedError(f"{file} is no file. {_WHERE}")
    if os.environ.get(_INSIDE) != "1":
        _start_inside()
    linux.mount("tmpfs", "/sys", "tmpfs")
    _bare_dev()
    sys.path[:0] = [str(HERE.parent), str(TESTS)]
    from builders.native import shared_object  # noqa: PLC0415 - of the tests, whose folder is known now

    stand_ins = [
        str(shared_object(vendor.stand_in, f"{vendor.option.lower()}-kernel.so", flags=("-ldl",)))
        for vendor in named
    ]
    environment = {
        **os.environ,
        **{vendor.variable: str(file.resolve()) for vendor, file in named.items()},
        "LD_PRELOAD": ":".join(stand_ins),
        "PYTHONPATH": f"{HERE.parent}:{TESTS}",
    }
    suites = [
        str(suite) for vendor in named for suite in sorted(HERE.glob(f"test_{vendor.option.lower()}_*.py"))
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *suites, *words],
        env=environment,
        cwd=HERE.parent,
        check=False,
    )
    sys.exit(done.returncode)


def _bare_dev() -> None:
    """A `/dev` without cards, where files can be made. Nodes are bound: making one needs more rights."""
    with tempfile.TemporaryDirectory(prefix="tangram-dev-") as folder:
        linux.mount("tmpfs", folder, "tmpfs")
        for name in _DEVICES:
            (Path(folder) / name).touch()
            linux.mount(f"/dev/{name}", f"{folder}/{name}", flags=linux.BIND)
        (Path(folder) / "shm").mkdir()
        (Path(folder) / "fd").symlink_to("/proc/self/fd")
        linux.mount(folder, "/dev", flags=linux.MOVE)


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
