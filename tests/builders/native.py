"""Shared objects and programs compiled from `tests/native`, once per test session, with the machine's own gcc."""

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from builders.system_programs import system_program
from testbed.left_out import lacking

NATIVE = Path(__file__).resolve().parent.parent / "native"
STRICT = ("-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread")
SANITIZED = ("-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined")


@functools.cache
def folder() -> Path:
    """A folder for what is compiled, gone when the session ends."""
    made = Path(tempfile.mkdtemp(prefix="tangram-native-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@functools.cache
def shared_object(
    sources: tuple[str, ...],
    name: str,
    *,
    exports: str = "*",
    left_out: tuple[str, ...] = (),
    flags: tuple[str, ...] = (),
) -> Path:
    """A shared object of that file name, in a folder of its own, exporting names that match `exports`.

    Sources are paths under `tests/native`. `left_out` names symbols that an older library would not have.
    """
    home = Path(tempfile.mkdtemp(dir=folder()))
    script = home / "exports.map"
    hidden = "".join(f"{symbol}; " for symbol in left_out)
    script.write_text(f"{{ global: {exports}; local: {hidden}*; }};\n" if exports != "*" or left_out else "")
    versions = (f"-Wl,--version-script={script}",) if script.stat().st_size else ()
    return _compiled(sources, home / name, ("-fPIC", "-shared", *versions, *flags))


@functools.cache
def program(sources: tuple[str, ...], name: str, *, flags: tuple[str, ...] = ()) -> Path:
    """A program of that name. Libraries go last in `flags`."""
    return _compiled(sources, Path(tempfile.mkdtemp(dir=folder())) / name, flags)


def sanitizer_runtime() -> Path:
    """The library to preload into a program that was not compiled with the address sanitizer."""
    answer = subprocess.run(
        [system_program("gcc"), "-print-file-name=libasan.so"],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    found = Path(answer.stdout.strip())
    if not found.is_absolute():
        pytest.skip(lacking("address sanitizer for gcc", "g++"))
    return found.resolve()


def _compiled(sources: tuple[str, ...], output: Path, flags: tuple[str, ...]) -> Path:
    answer = subprocess.run(
        [system_program("gcc"), *STRICT, "-o", output, *(NATIVE / source for source in sources), *flags],
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    if answer.returncode != 0:
        pytest.fail(f"gcc could not compile {sources}:\n{answer.stderr}")
    return output
