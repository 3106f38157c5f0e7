"""The Go that compiles the components: found, and checked against what their go.mod files ask for.

The version is read from the file beside the compiler, so that a call that finds everything built starts no process.
Go could fetch a newer Go by itself; that is switched off, because a test bed downloads nothing but the pinned modules.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import BedError
from testbed.gomod import parse_go_version

USUAL_PLACES: tuple[Path, ...] = (Path("/usr/local/go/bin"),)
"""Where Go's own archive is unpacked to; a bare PATH (cron, CI) does not name it."""

_NOT_PASSED_ON = ("GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOWORK", "GOROOT")
"""They would change what is built behind the cache's back."""


@dataclass(frozen=True, slots=True)
class Go:
    program: Path
    version: str
    """As Go writes it: go1.26.0."""

    def environment(self, *, cgo: bool, temporary: Path) -> dict[str, str]:
        """For its processes: the caller's, without what would build something else."""
        kept = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
        return kept | {
            "CGO_ENABLED": "1" if cgo else "0",
            "GOTMPDIR": str(temporary),
            "GOTOOLCHAIN": "local",
            "GOWORK": "off",
            "PATH": os.pathsep.join((str(self.program.parent), kept.get("PATH", os.defpath))),
        }


def find_go(needed: Iterable[str]) -> Go:
    """The first Go, on PATH or in the usual place, that is new enough for all go.mod files.

    Raises `BedError` with the reason and the cure.
    """
    least = max(needed, key=lambda text: parse_go_version(text, where="go.mod"))
    cure = (
        "Debian's own is too old, so take one from https://go.dev/dl and unpack it into /usr/local, "
        "or put its bin folder on PATH."
    )
    too_old: list[str] = []
    for program in _candidates():
        version = _version(program)
        if parse_go_version(version, where=str(program)) >= parse_go_version(least, where="go.mod"):
            return Go(program, version)
        too_old.append(f"{program} is {version.removeprefix('go')}")
    if too_old:
        raise BedError(f"The test bed needs Go {least} or newer, but {' and '.join(too_old)}: {cure}")
    places = " or ".join(str(place) for place in USUAL_PLACES)
    raise BedError(f"The test bed needs Go {least} or newer and found no `go` on PATH or in {places}: {cure}")


def _candidates() -> Iterator[Path]:
    for place in (None, *USUAL_PLACES):
        found = shutil.which("go", path=place)
        if found is not None:
            yield Path(found).absolute()


def _version(program: Path) -> str:
    """From the VERSION file of its distribution; only a Go without one, or one behind a wrapper, is asked."""
    try:
        first = (program.resolve().parent.parent / "VERSION").read_text("utf-8").split("\n", 1)[0].strip()
    except (OSError, UnicodeDecodeError):
        first = ""
    if first.startswith("go"):
        return first
    environment: Mapping[str, str] = {**os.environ, "GOTOOLCHAIN": "local"}
    try:
        answer = subprocess.run(  # noqa: S603 - the program is the caller's own Go, the arguments are constants
            [program, "env", "GOVERSION"],
            capture_output=True,
            check=True,
            text=True,
            timeout=60,
            env=environment,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BedError(
            f"{program} does not tell its version ({error}): reinstall Go or take it off PATH."
        ) from None
    return answer.stdout.strip()
