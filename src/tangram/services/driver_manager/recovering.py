"""The first moment of the process: the journal, or what can be known without it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tangram.drivers.modules.protocol import LoadedModule
from tangram.services.driver_manager.disk import Disk
from tangram.services.driver_manager.journal import (
    EMPTY,
    FILE,
    UNREADABLE,
    Journal,
    Target,
    is_unreadable,
    read_journal,
    set_aside,
)
from tangram.services.driver_manager.problems import problem_of_files
from tangram.services.driver_manager.unpacking import ASIDE, Owner, installed_in, link_state, tidy
from tangram.units.na import NotAvailable
from tangram.wire.operator.node_states import Source
from tangram.wire.operator.payloads import PayloadKind


class Recovered(msgspec.Struct, frozen=True):
    journal: Journal
    remark: str = ""
    """What people should know."""


def recover(disk: Disk, loaded: LoadedModule | None, boot: str, in_use: Callable[[str], str]) -> Recovered:
    """What this host was left in. Raises `ProblemError` for a disk that cannot be read."""
    try:
        return _recovered(disk, loaded, boot, in_use)
    except OSError as error:
        raise problem_of_files(error, "what driver-manager left on this host cannot be looked at") from error


def _recovered(disk: Disk, loaded: LoadedModule | None, boot: str, in_use: Callable[[str], str]) -> Recovered:
    tidy(disk, PayloadKind.DRIVER, in_use)
    journal = read_journal(disk)
    if journal is not None:
        return Recovered(journal)
    remark = ""
    if is_unreadable(disk):
        set_aside(disk)
        remark = (
            f"the journal {FILE} could not be read and was moved to {UNREADABLE}: what runs is taken for what the link "
            "/opt/mxdriver leads to, and failures of the past are forgotten"
        )
    return Recovered(_rebuilt(disk, loaded, boot), remark)


def _rebuilt(disk: Disk, loaded: LoadedModule | None, boot: str) -> Journal:
    """A driver of the version that our link leads to is ours; any other is the host's."""
    link = link_state(disk, PayloadKind.DRIVER)
    installed = installed_in(disk, PayloadKind.DRIVER).get(link.version)
    aside = link.owner is not Owner.HOST and disk.is_there(ASIDE)
    if loaded is None or installed is None:
        return msgspec.structs.replace(EMPTY, aside=aside)
    if not isinstance(loaded.version, NotAvailable) and loaded.version != link.version:
        return msgspec.structs.replace(EMPTY, aside=aside)
    ours = Target(source=Source.CLOUD, version=link.version, digest=installed.digest)
    return msgspec.structs.replace(EMPTY, loaded=ours, boot=boot, aside=aside, host_ran=aside)
