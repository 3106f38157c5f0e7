"""Builds the programs of the test bed from their pinned Go modules, once, into a cache.

A second build at the same time waits for the first and then finds the work done. Nothing is downloaded but Go modules,
whose hashes stand in the go.sum files, and the packages that `debian` names.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from types import FrameType
from typing import TextIO

from testbed import debian
from testbed.binaries import (
    Binaries,
    binaries_in,
    component_folder,
    components_root,
    is_complete,
)
from testbed.compiling import Downloads, compiling
from testbed.errors import BedError
from testbed.parts import Component, read_components
from testbed.progress import Progress, duration
from testbed.store import only_builder, publish, used_now, workplace
from testbed.toolchain import Go, find_go

_TICK_S = 0.5
_LINES_OF_A_FAILURE = 15


def build(output: TextIO | None = None, components: Sequence[Component] | None = None) -> Binaries:
    """All programs of the test bed, built as far as they are not yet.

    Progress goes to `output` (standard output unless told). Raises `BedError` with a sentence where something is
    missing or does not compile. A `KeyboardInterrupt` ends Go's processes and removes what is half done.
    """
    to = sys.stdout if output is None else output
    wanted = read_components() if components is None else components
    root = components_root()
    go = find_go(component.go for component in wanted)
    folders = {component.name: component_folder(root, component, go.version) for component in wanted}
    if not _missing(wanted, folders):
        _provide(debian.TO_RUN, to)
    else:
        try:
            _build_alone(go, wanted, folders, root, to)
        except OSError as error:  # a full disk, a folder that vanished
            raise BedError(f"Building into {root} failed: {error}.") from None
    for folder in folders.values():
        used_now(folder)
    return binaries_in(folders, wanted)


def main() -> int:
    """`python -m testbed.building`: build, say where, or say in a sentence why not."""
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        binaries = build()
    except BedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write(
            "Stopped. Components that were finished are kept; the same call goes on from there.\n"
        )
        return 130
    _say(sys.stdout, readiness(binaries))
    return 0


def readiness(binaries: Binaries) -> str:
    """A sentence that says what is there, and where."""
    versions = ", ".join(f"{name} {version.removeprefix('v')}" for name, version in binaries.versions.items())
    return f"Ready in {components_root()}: {versions}."


def _as_interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _say(output: TextIO, sentence: str) -> None:
    output.write(f"{sentence}\n")
    output.flush()


def _missing(components: Sequence[Component], folders: Mapping[str, Path]) -> list[Component]:
    return [component for component in components if not is_complete(folders[component.name], component)]


def _provide(needs: Sequence[debian.Need], output: TextIO) -> None:
    debian.provide(needs, say=lambda sentence: _say(output, sentence))


def _build_alone(
    go: Go, wanted: Sequence[Component], folders: Mapping[str, Path], root: Path, output: TextIO
) -> None:
    with only_builder(root, output):
        missing = _missing(wanted, folders)  # the build we waited for may have made them
        needs_c = any(component.part.static_c for component in missing)
        _provide((*debian.TO_RUN, *debian.TO_COMPILE_C) if needs_c else debian.TO_RUN, output)
        if missing:
            _build_missing(go, missing, root, output, total=len(wanted))


def _build_missing(
    go: Go, components: Sequence[Component], root: Path, output: TextIO, *, total: int
) -> None:
    progress = Progress(output, components)
    progress.announce(str(root), total)
    with workplace(root) as unfinished, closing(Downloads(go, components, unfinished)) as downloads:
        for component in components:
            downloads.not_needed(component)
            progress.start(component)
            try:
                made = _compile(go, component, unfinished, downloads, progress)
            except BaseException:
                progress.stop()
                raise
            publish(made, component_folder(root, component, go.version))
            progress.done(component)
    progress.finish()


def _compile(
    go: Go, component: Component, unfinished: Path, downloads: Downloads, progress: Progress
) -> Path:
    """The folder with the programs of a component, all there and under the names they are known by."""
    began = time.monotonic()
    made = unfinished / component.name / "programs"
    made.mkdir(parents=True)
    logs = unfinished.parent.parent / "logs"
    logs.mkdir(exist_ok=True)
    log = logs / f"{component.name}.log"
    with log.open("wb") as file, compiling(go, component, made, file) as process:
        while True:
            downloads.advance()
            try:
                code = process.wait(_TICK_S)
            except subprocess.TimeoutExpired:
                progress.tick(component)
            else:
                break
    what = f"{component.name} {component.version.removeprefix('v')}"
    if code != 0:
        raise BedError(
            f"Building {what} failed after {duration(time.monotonic() - began)}; "
            f"Go's last words, of which {log} has all:\n{_last_lines(log)}"
        )
    for name, known_as in component.programs.items():
        with suppress(FileNotFoundError):
            (made / name).rename(made / known_as)
    if not is_complete(made, component):
        wanted = ", ".join(component.programs.values())
        found = ", ".join(sorted(path.name for path in made.iterdir())) or "nothing"
        raise BedError(f"Building {what} should have made {wanted} and made {found}: see {log}.")
    return made


def _last_lines(log: Path) -> str:
    lines = log.read_text("utf-8", errors="replace").splitlines()
    return "\n".join(lines[-_LINES_OF_A_FAILURE:]) or "(it said nothing)"


if __name__ == "__main__":
    sys.exit(main())
