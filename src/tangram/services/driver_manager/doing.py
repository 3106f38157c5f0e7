"""One step at a time: what was decided, done to the machine and written down first.

Everything here blocks and belongs on a thread. Nothing here decides: a step either happens, or raises `ProblemError`
(or a `LoaderError`) and leaves what was. Whatever interrupts it, the next look finds where things stand.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tangram.drivers.modules.protocol import LoaderCode, LoaderError, ModuleLoader
from tangram.services.driver_manager.decisions import (
    Begin,
    Clean,
    Discard,
    Drop,
    Finish,
    Link,
    Load,
    Split,
    Step,
    Undo,
    Unload,
    Unpack,
)
from tangram.services.driver_manager.disk import Disk
from tangram.services.driver_manager.journal import (
    EMPTY,
    NOTHING,
    Change,
    Failed,
    Journal,
    Target,
    failed_with,
    remove_journal,
    write_journal,
)
from tangram.services.driver_manager.problems import PASSING, ProblemError, problem_of_files
from tangram.services.driver_manager.unpacking import (
    ASIDE,
    LINKS,
    OPT,
    Installed,
    Owner,
    discard,
    folder_name,
    installed_in,
    link_state,
    point,
    put_aside,
    put_back,
    tidy,
    unpack,
    unpoint,
)
from tangram.wire.operator.node_states import Source
from tangram.wire.operator.payloads import PayloadKind

_DRIVER = PayloadKind.DRIVER

InUse = Callable[[str], str]
"""Who uses a folder of /opt; empty for nobody."""


class Doer:
    """The hands of the manager, with its journal. For one thread at a time."""

    def __init__(self, disk: Disk, loader: ModuleLoader, journal: Journal, boot: str, in_use: InUse) -> None:
        self._disk = disk
        self._loader = loader
        self._boot = boot
        self._in_use = in_use
        self.journal = journal
        self.left = ""

    def write(self, journal: Journal) -> None:
        """Written down when this returns."""
        if journal != self.journal:
            write_journal(self._disk, journal)
            self.journal = journal

    def do(self, step: Step) -> None:  # noqa: C901, PLR0912 - one line for each kind of step
        """Do it. Raises `ProblemError` and `LoaderError`."""
        try:
            match step:
                case Unpack(staged):
                    unpack(self._disk, staged)
                case Begin(change):
                    host_ran = self.journal.host_ran or change.back.source is Source.HOST
                    self.write(msgspec.structs.replace(self.journal, change=change, host_ran=host_ran))
                case Drop():
                    self.write(msgspec.structs.replace(self.journal, change=None))
                case Undo(code, why):
                    self._undo(code, why)
                case Finish(failed):
                    self._finish(failed)
                case Unload():
                    self._loader.unload()
                    self.write(msgspec.structs.replace(self.journal, loaded=NOTHING))
                case Link(version):
                    self._link(version)
                case Load(target):
                    self._load(target)
                case Split(count):
                    self._split(count)
                case Discard(versions):
                    self._discard(versions)
                case Clean(why_loaded):
                    self._clean(why_loaded)
                case _:
                    pass
        except OSError as error:
            raise problem_of_files(error, "a file of the host could not be changed") from error

    def _undo(self, code: str, why: str) -> None:
        change = self.journal.change
        if change is not None:
            turned = msgspec.structs.replace(change, undoing=True, code=code, why=why)
            self.write(msgspec.structs.replace(self.journal, change=turned))

    def _finish(self, failed: Failed | None) -> None:
        journal, change = self.journal, self.journal.change
        if change is None:
            return
        if failed is not None and change.only_splits:
            # That this can be written at all says that the disk is well again.
            kept = None if failed.code in PASSING else failed
            journal = msgspec.structs.replace(journal, functions_failed=kept)
        elif failed is not None:
            journal = msgspec.structs.replace(journal, failed=failed_with(journal, failed))
        else:
            journal = self._succeeded(journal, change)
        self.write(msgspec.structs.replace(journal, change=None))

    def _succeeded(self, journal: Journal, change: Change) -> Journal:
        counts = {card.now for card in self._loader.functions()}
        mentioned = journal.wish_functions is not None or journal.functions is not None
        functions = counts.pop() if len(counts) == 1 and mentioned else journal.functions
        return msgspec.structs.replace(
            journal,
            functions=functions,
            host_ran=journal.host_ran and change.to.source is not Source.HOST,
            failed=tuple(each for each in journal.failed if each.key != change.to.key),
        )

    def _link(self, version: str) -> None:
        tidy(self._disk, _DRIVER, self._in_use)
        if not version:
            unpoint(self._disk, _DRIVER)
            if self.journal.aside:
                put_back(self._disk)
                self.write(msgspec.structs.replace(self.journal, aside=False))
            return
        if link_state(self._disk, _DRIVER).owner is Owner.HOST:
            if self._disk.is_there(ASIDE):
                # Says why not.
                put_aside(self._disk)
            self.write(msgspec.structs.replace(self.journal, aside=True))
            put_aside(self._disk)
        point(self._disk, _DRIVER, version)

    def _load(self, target: Target) -> None:
        if target.source is Source.HOST:
            self.write(msgspec.structs.replace(self.journal, loaded=NOTHING, boot=self._boot))
            self._loader.load_of_host()
            return
        installed = self._installed(target)
        files = [self._disk.at(path) for path in installed.modules(self._loader.kernel())]
        if not files:
            raise ProblemError(
                "wrong-kernel",
                f"driver {target.version} in {installed.folder} has no module for this kernel, "
                f"{self._loader.kernel()}: use a payload that was built for it",
            )
        self.write(msgspec.structs.replace(self.journal, loaded=target, boot=self._boot))
        try:
            self._loader.load(files, requires=installed.payload.requires, parameters=target.parameters)
        except LoaderError:
            self.write(msgspec.structs.replace(self.journal, loaded=NOTHING))
            raise

    def _installed(self, target: Target) -> Installed:
        found = installed_in(self._disk, _DRIVER).get(target.version)
        if found is None:
            raise ProblemError(
                "module-missing",
                f"{OPT}/{folder_name(_DRIVER, target.version)} is not there any more: somebody removed it; give the "
                "payload again, or another version",
            )
        return found

    def _split(self, count: int) -> None:
        before = self.journal.functions or 0
        try:
            for card in self._loader.functions():
                if card.now != count:
                    self._loader.set_functions(card.bdf, count)
        except LoaderError as error:
            if error.code is not LoaderCode.BUSY and count != before:
                self._join_again(before)
                failed = Failed(
                    key=str(count), policy="", boot=self._boot, code=error.code, why=error.sentence
                )
                self.write(msgspec.structs.replace(self.journal, functions_failed=failed))
                return
            raise

    def _join_again(self, count: int) -> None:
        for card in self._loader.functions():
            if card.now != count:
                self._loader.set_functions(card.bdf, count)

    def _discard(self, versions: tuple[str, ...]) -> None:
        for version in versions:
            name = folder_name(_DRIVER, version)
            if not self._in_use(name):
                discard(self._disk, name)

    def _clean(self, why_loaded: str) -> None:
        left = [why_loaded] if why_loaded else []
        moved = self.journal.aside and self._disk.is_there(ASIDE)
        self._link("")
        if moved and self._disk.is_there(ASIDE):
            left.append(f"{ASIDE} stays, because somebody else has put something to {LINKS[_DRIVER]}")
        for version in installed_in(self._disk, _DRIVER):
            name = folder_name(_DRIVER, version)
            user = self._in_use(name)
            if user:
                left.append(f"{OPT}/{name} stays, {user} uses it")
            else:
                discard(self._disk, name)
        tidy(self._disk, _DRIVER, self._in_use)
        remove_journal(self._disk)
        self.journal = EMPTY
        self.left = "; ".join(left)
