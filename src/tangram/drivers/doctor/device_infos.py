"""Who tells koordlet of this node's cards: the files in the folder that it reads.

koordlet publishes every file there, whoever dropped it. A card in two of them is counted twice and given away twice,
and one file that cannot be read makes it leave all of them unread.
"""

from __future__ import annotations

from typing import Final

from tangram.drivers.doctor.findings import Findings, fail, ok
from tangram.drivers.doctor.machine import Machine
from tangram.wire.errors import WireError
from tangram.wire.koordinator.device_info import DIRECTORY, decode_device_infos

CHECK: Final = "device-infos"


def device_infos(machine: Machine) -> Findings:
    """Nothing on a machine without the folder: no koordlet has ever run there."""
    if not machine.exists(DIRECTORY):
        return
    cards: dict[str, list[str]] = {}
    unreadable = False
    for name in machine.names(DIRECTORY):
        text = machine.text(f"{DIRECTORY}/{name}")
        if text is None:
            # A folder; koordlet takes none.
            continue
        try:
            infos, problems = decode_device_infos(text)
        except WireError as error:
            unreadable = True
            yield fail(
                CHECK,
                f"{DIRECTORY}/{name} cannot be read ({error.sentence}), so koordlet reads none of the files there",
                "remove it, or restart whoever writes it",
            )
            continue
        if problems:
            unreadable = True
            yield fail(CHECK, f"{DIRECTORY}/{name}: {problems[0].sentence}", "restart whoever writes it")
        for uuid in dict.fromkeys(info.uuid for info in infos):
            cards.setdefault(uuid, []).append(name)
    yield from _told(cards, clean=not unreadable)


def _told(cards: dict[str, list[str]], *, clean: bool) -> Findings:
    twice: dict[tuple[str, ...], list[str]] = {}
    for uuid, files in cards.items():
        if len(files) > 1:
            twice.setdefault(tuple(files), []).append(uuid)
    for files, uuids in twice.items():
        more = f" and {len(uuids) - 1} more" if len(uuids) > 1 else ""
        yield fail(
            CHECK,
            f"{' and '.join(files)} in {DIRECTORY} both list {uuids[0]}{more}, so koordlet counts it twice",
            "keep one of the files; Tangram's agent takes its own away by itself where koord-device-daemon writes one",
        )
    if clean and not twice:
        files = sorted({name for names in cards.values() for name in names})
        said = (
            f"koordlet is told of {len(cards)} cards by {', '.join(files)}"
            if files
            else "nobody tells koordlet of cards"
        )
        yield ok(CHECK, said)
