"""The Python that runs this, as files of an image: program, standard library, and the shared libraries they load.

Program and standard library keep the paths they have on this machine, since that is where the program looks for the
rest. Shared libraries all go into the folder of the C library: the loader searches that one without being told, so
the image needs no loader configuration of this machine's.
"""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

from testbed.errors import BedError
from testbed.images.layers import Entry, File, Link, container_path

_C_LIBRARY = "libc.so.6"
# Loaded by the C library on demand, so that no program names them.
_LOADED_LATER = ("libgcc_s.so.1", "libnss_files.so.2", "libnss_dns.so.2")
_LOADER_CACHE = Path("/etc/ld.so.cache")
_UNWANTED_FOLDERS = frozenset(
    (
        *("__pycache__", "site-packages", "dist-packages", "test", "tests"),
        *("ensurepip", "idlelib", "lib2to3", "pydoc_data", "tkinter", "turtledemo"),
    )
)
_UNWANTED_FILES = ("_tkinter.", "_test", "_ctypes_test.", "xxlimited", "turtle.py")


def interpreter_program() -> Path:
    """The real program behind `python3`, also when a virtual environment is active."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    program = Path(sys.base_exec_prefix, "bin", name)
    return program if program.is_file() else Path(sys.executable).resolve()


def interpreter_tree() -> dict[str, Entry]:
    """Program and standard library. Without its tests, and without windows to draw in."""
    program = interpreter_program()
    tree: dict[str, Entry] = {
        "usr/bin/python3": Link(str(program)),
        container_path(str(program)): File(program, executable=True),
    }
    for folder in _library_folders():
        for path in _walk(folder):
            tree[container_path(str(path))] = File(path)
    return tree


def shared_libraries(tree: dict[str, Entry]) -> dict[str, Entry]:
    """Every shared library that the programs and modules of the tree load and that is not itself in the tree.

    What the loader does not find here is left out: the module that wants it cannot be imported on this machine either.
    """
    present = {
        entry.content.resolve()
        for entry in tree.values()
        if isinstance(entry, File) and isinstance(entry.content, Path)
    }
    found = dict(_loaded_by(_loadable(tree)))
    if not found:
        return {}
    if _C_LIBRARY not in found:
        raise BedError(
            f"ldd shows no {_C_LIBRARY} for {sys.executable}: the test bed's images need a Python on glibc."
        )
    folder = found[_C_LIBRARY].parent
    found |= {name: folder / name for name in _LOADED_LATER if (folder / name).is_file()}
    libraries: dict[str, Entry] = {}
    for name, path in found.items():
        if path.resolve() not in present:
            # The loader itself is named by its whole path, and must be exactly there.
            place = name if name.startswith("/") else str(folder / name)
            libraries[container_path(place)] = File(path.resolve(), executable=True)
    return libraries


def libraries_mark() -> str:
    """Changes whenever shared libraries of this machine do, at the price of one look at the loader's cache."""
    try:
        return str(_LOADER_CACHE.stat().st_mtime_ns)
    except FileNotFoundError:
        return "none"


def _library_folders() -> list[Path]:
    bases = {"installed_base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    kinds = ("stdlib", "platstdlib")
    return sorted({Path(sysconfig.get_path(kind, "posix_prefix", bases)) for kind in kinds})


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [
            name for name in folders if name not in _UNWANTED_FOLDERS and not name.startswith("config-")
        ]
        for name in files:
            path = Path(parent, name)
            if not name.startswith(_UNWANTED_FILES) and path.is_file():
                yield path


def _loadable(tree: dict[str, Entry]) -> Iterator[Path]:
    for name, entry in tree.items():
        if (
            isinstance(entry, File)
            and isinstance(entry.content, Path)
            and (entry.executable or ".so" in Path(name).suffixes)
        ):
            yield entry.content


def _loaded_by(programs: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Names and paths as the loader resolves them, in one call: it takes a tenth of a second per dozen modules."""
    arguments = sorted(str(path) for path in programs)
    if not arguments:
        return
    try:
        # S603, S607: the loader's own tool, found as everywhere, with paths from this interpreter.
        answer = subprocess.run(  # noqa: S603
            ["ldd", *arguments],  # noqa: S607
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BedError(
            f"ldd, which names the libraries an image needs, failed ({error}): on Debian it is in libc-bin."
        ) from None
    for line in answer.stdout.splitlines():
        match line.split():
            case [name, "=>", path, _address] if path.startswith("/"):
                yield name, Path(path)
            case [loader, _address] if loader.startswith("/") and line.startswith("\t"):
                yield loader, Path(loader)
            case _:
                pass
