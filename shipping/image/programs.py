"""The two programs that are not Python: the runtime wrapper and the payloads' copier, compiled from `runtime/` by Go.

They run on hosts and in other people's images, where there is no Python. Go compiles for both platforms on either,
and writes the same bytes wherever it runs: paths, times and identifiers of the build are kept out. They import only
Go's standard library, so nothing is downloaded.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shipping.image.cachefolder import cache_folder, filled, key_of
from shipping.image.elf import read_elf
from shipping.image.errors import ImageError
from shipping.image.platforms import Platform
from shipping.image.sbom import Part
from shipping.image.tools import last_words, run
from shipping.image.tree import Entry, File

SOURCES: Final = "runtime"
NAMES: Final = ("mx-container-runtime", "mx-payload")
PLACE_IN_IMAGE: Final = "usr/lib/tangram"
LICENCE_IN_IMAGE: Final = "usr/share/doc/tangram/go-LICENSE"
USUAL_PLACE: Final = Path("/usr/local/go/bin")
"""Where Go's own archive is unpacked to; a bare PATH (cron, CI) does not name it."""

_NEEDED: Final = re.compile(r"^go ([0-9.]+)$", re.MULTILINE)
_VERSION: Final = re.compile(r"go([0-9]+)\.([0-9]+)(?:\.([0-9]+))?")
_VARIABLE: Final = "tangram.dev/runtime/internal/version.Version"
# Whatever a person has set for their own builds must not change these.
_SETTINGS: Final = {
    "CGO_ENABLED": "0",
    "GOAMD64": "v1",
    "GOARM64": "v8.0",
    "GOENV": "off",
    "GOEXPERIMENT": "",
    "GOFLAGS": "",
    "GOPROXY": "off",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
}


@dataclass(frozen=True, slots=True)
class Go:
    program: Path
    version: str
    """As Go writes it: go1.26.0."""
    licence: Path


def find_go(sources: Path) -> Go:
    """The first Go, on PATH or in the usual place, that is new enough for these sources."""
    asked = _NEEDED.search((sources / "go.mod").read_text("utf-8"))
    least = asked[1] if asked is not None else "1"
    cure = "take one from https://go.dev/dl and unpack it into /usr/local, or put its bin folder on PATH."
    too_old: list[str] = []
    for program in _candidates():
        version, root = _asked(program)
        if _number(version) >= _number(f"go{least}"):
            return Go(program, version, root / "LICENSE")
        too_old.append(f"{program} is {version.removeprefix('go') or 'of an unknown version'}")
    found = " and ".join(too_old) or f"there is no `go` on PATH or in {USUAL_PLACE}"
    raise ImageError(
        f"The programs that run on hosts ({SOURCES}/) are compiled with Go {least} or newer, but {found}: {cure}"
    )


def compiled(sources: Path, version: str, platform: Platform, go: Go) -> Path:
    """A folder with both programs, compiled unless it is in the cache. For `only_builder`."""
    target = cache_folder() / "programs" / key_of([_content(sources), version, platform.name, go.version])

    def fill(folder: Path) -> None:
        answer = run(
            [
                go.program,
                "build",
                "-trimpath",
                "-buildvcs=false",
                "-ldflags",
                f"-s -w -buildid= -X {_VARIABLE}={version}",
                "-o",
                f"{folder}/",
                *(f"./cmd/{name}" for name in NAMES),
            ],
            needed_for="Compiling the programs for hosts",
            package="golang-go",
            folder=sources,
            environment={**_SETTINGS, **_build_cache(), "GOOS": "linux", "GOARCH": platform.name},
        )
        if answer.returncode != 0:
            raise ImageError(
                f"The programs in {SOURCES}/ do not compile for {platform.name}; Go said:\n{last_words(answer)}"
            )
        for name in NAMES:
            _refuse_unfit(folder / name, platform)

    return filled(target, fill)


def programs_tree(folder: Path, go: Go) -> dict[str, Entry]:
    """The programs where the agents look for them, and the licence of what is in them."""
    try:
        licence = go.licence.read_bytes()
    except OSError as error:
        raise ImageError(
            f"{go.licence}, which must go with everything Go compiles, cannot be read ({error.strerror}): use a Go "
            f"from https://go.dev/dl."
        ) from None
    programs: dict[str, Entry] = {
        f"{PLACE_IN_IMAGE}/{name}": File((folder / name).read_bytes(), executable=True) for name in NAMES
    }
    return {**programs, LICENCE_IN_IMAGE: File(licence)}


def parts_of_programs(folder: Path, version: str, go: Go) -> list[Part]:
    """The programs and what of Go is in them, for the list of contents."""
    number = go.version.removeprefix("go")
    ours = [
        Part(
            kind="generic",
            name=name,
            version=version,
            sha256=hashlib.sha256((folder / name).read_bytes()).hexdigest(),
            licence="Apache-2.0 AND BSD-3-Clause",
            supplier="NOASSERTION",
            purl=f"pkg:generic/{name}@{version.replace('+', '%2B')}",
        )
        for name in NAMES
    ]
    library = Part(
        kind="golang",
        name="stdlib",
        version=number,
        sha256="",
        licence="BSD-3-Clause",
        supplier="NOASSERTION",
        purl=f"pkg:golang/stdlib@{number}",
    )
    return [*ours, library]


def _candidates() -> Iterable[Path]:
    for place in (None, str(USUAL_PLACE)):
        found = shutil.which("go", path=place)
        if found is not None:
            yield Path(found).absolute()


def _asked(program: Path) -> tuple[str, Path]:
    answer = run(
        [program, "env", "GOVERSION", "GOROOT"],
        needed_for="Compiling the programs for hosts",
        package="golang-go",
        environment={**_SETTINGS, **_build_cache()},
    )
    version, _, root = answer.stdout.decode("utf-8", "replace").strip().partition("\n")
    return version, Path(root)


def _number(version: str) -> tuple[int, ...]:
    found = _VERSION.match(version)
    return tuple(int(one or 0) for one in found.groups()) if found is not None else (0,)


def _build_cache() -> dict[str, str]:
    """Go keeps what it compiled below a home folder; a builder without one keeps it in our cache."""
    told = any(os.environ.get(name) for name in ("GOCACHE", "XDG_CACHE_HOME", "HOME"))
    return {} if told else {"GOCACHE": str(cache_folder() / "go")}


def _content(sources: Path) -> str:
    """Tests are not part of a program."""
    files = [
        path
        for path in sorted(sources.rglob("*"))
        if path.name == "go.mod" or (path.suffix == ".go" and not path.name.endswith("_test.go"))
    ]
    named = [str(path.relative_to(sources)) for path in files]
    return key_of(
        [part for name, path in zip(named, files, strict=True) for part in (name, path.read_bytes())]
    )


def _refuse_unfit(path: Path, platform: Platform) -> None:
    elf = read_elf(path.read_bytes())
    if elf is None or elf.machine != platform.elf_machine or elf.loader or elf.needed:
        raise ImageError(
            f"{path.name} was not compiled to a program that stands alone on {platform.name}: look at the settings of "
            f"this machine's Go (`go env`)."
        )
