"""HAMi's values in, ours out, and a sentence about everything that is not simply the same.

Nothing is passed over in silence but what says nothing: an empty value, and one that is HAMi's usual where ours means
the same. What is written is read once by the code that will read it in the cluster; a value it would refuse is left
out and told, never written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, cast

import msgspec

from tangram.wire import loose
from tangram.wire.errors import shown
from tangram.wire.hami_values import device_file, images
from tangram.wire.hami_values.flags import USUAL_VERBOSITY, VERBOSITY, Given, options_in
from tangram.wire.hami_values.image_rows import EXTENDER_ARGUMENTS, KUBE_SCHEDULER_ARGUMENTS
from tangram.wire.hami_values.places import refused_at
from tangram.wire.hami_values.reading import HamiValuesError, Said, read_sayings, read_value
from tangram.wire.hami_values.rows import EXTRA_ARGS, Line, Note, Outcome, Row
from tangram.wire.hami_values.scheduler_rows import NAME
from tangram.wire.hami_values.table import ROWS
from tangram.wire.scheduler_config import DEFAULT_SCHEDULER

_AGENTS = (
    "HAMi has no agent for these cards: a vendor's plugin serves them. Change node by node, and then this: "
    "docs/migrate-from-metax.md."
)
_LABELS = "The same labels are written by the vendor's labeller; change it together with the agent."
AT_FIRST: Final = (
    Line("gpuDevice.enabled", value=False, comment=_AGENTS),
    Line("gpuLabel.enabled", value=False, comment=_LABELS),
)
"""Two plugins on one node would offer each card twice."""

_KUBE_SCHEDULER_USUAL = frozenset(
    ("--config=/config/config.yaml", "--policy-config-file=/config/config.json", "-v=4")
)
_HANDLED = (
    device_file.HANDLED
    | images.HANDLED
    | {EXTENDER_ARGUMENTS.key, NAME.key, *(row.key for row in KUBE_SCHEDULER_ARGUMENTS)}
)
_BY_KEY = {row.key: row for row in ROWS}


class Translation(msgspec.Struct, frozen=True):
    """Our values, and what became of theirs."""

    lines: tuple[Line, ...]
    notes: tuple[Note, ...]

    @property
    def values(self) -> dict[str, object]:
        """The lines as one document."""
        document: dict[str, object] = {}
        for line in self.lines:
            *folders, last = line.path.split(".")
            place = document
            for folder in folders:
                place = cast("dict[str, object]", place.setdefault(folder, {}))
            place[last] = line.value
        return document

    @property
    def complete(self) -> bool:
        """Whether everything that was said holds here too."""
        return all(note.outcome in (Outcome.MAPPED, Outcome.NOT_NEEDED) for note in self.notes)


def translate(document: object, parse: Callable[[str], object]) -> Translation:
    """Our values for HAMi's. `parse` reads YAML within a value; it and this raise `WireError`."""
    sayings = read_sayings(document)
    said = dict(sayings.said)
    found: list[Line | Note] = [*AT_FIRST]
    found += _options(said)
    found += device_file.device_file(said, parse)
    found += _name(said)
    for row in ROWS:
        if row.key in said and row.key not in _HANDLED:
            found += _ordinary(said[row.key])
    found += _other_rows(said)
    found += images.kube_scheduler_image(said)
    found += images.pull_secrets(said)
    found += _kube_scheduler_arguments(said)
    notes = [each for each in found if isinstance(each, Note)]
    return Translation(
        lines=tuple(each for each in found if isinstance(each, Line)), notes=(*notes, *sayings.unknown)
    )


def _ordinary(said: Said) -> Iterator[Line | Note]:
    row = said.row
    if _is_usual(said):
        if row.if_usual:
            yield Note(said.written, Outcome.NOT_NEEDED, row.if_usual)
        return
    if row.way is not Outcome.MAPPED:
        yield Note(said.written, row.way, row.remark)
        return
    value = said.value if row.becomes is msgspec.UNSET else row.becomes
    refused = refused_at(row.here, value)
    if refused:
        yield Note(said.written, Outcome.NOT_SUPPORTED, f"{refused}; it was left out.")
        return
    told = row.remark
    if said.written != row.here or told:
        origin = "" if said.written == row.here else f"HAMi's {said.written}. "
        yield Line(row.here, value, f"{origin}{told}".strip())
    else:
        yield Line(row.here, value, "")
    same = "It has the same name here." if said.written == row.here else f"It is {row.here}."
    yield Note(said.written, Outcome.MAPPED, f"{same} {told}".strip())


def _is_usual(said: Said) -> bool:
    """Whether it is what HAMi's chart has by itself; a number may stand there as a text."""
    return said.value in said.row.usual or loose.integer(said.value) in said.row.usual


def _name(said: Mapping[str, Said]) -> Iterator[Line | Note]:
    """A name that the cluster's own scheduler has cannot be ours; others are names of schedulers, or wrong."""
    found = said.get(NAME.key)
    if found is None or _is_usual(found):
        return
    if found.value == DEFAULT_SCHEDULER:
        yield Note(
            found.written,
            Outcome.NOT_SUPPORTED,
            f"{DEFAULT_SCHEDULER} is the name of the cluster's own scheduler; pods with cards that name it are given "
            "tangram-scheduler by the webhook.",
        )
        return
    if refused_at(NAME.here, found.value):
        raise HamiValuesError(
            "hami-values-name",
            f"{found.written} is {shown(found.value)}: it is the name of a scheduler, in lower case; write for example "
            "gpu-scheduler",
            found.written,
        )
    yield from _ordinary(found)


def _other_rows(said: Mapping[str, Said]) -> Iterator[Note]:
    """Values about other vendors' cards."""
    for key, found in said.items():
        if key not in _BY_KEY:
            yield Note(found.written, found.row.way, found.row.remark)


def _options(said: dict[str, Said]) -> list[Line | Note]:
    """Options of HAMi's scheduler, which go before the values that say the same: those are replaced in `said`."""
    found = said.get(EXTENDER_ARGUMENTS.key)
    told: list[Line | Note] = []
    loud: Given | None = None
    if found is None:
        return told
    for given in options_in(_words(found)):
        written = f"{EXTRA_ARGS} {given.name}"
        if given.flag is not None and given.flag.key:
            row = _BY_KEY[given.flag.key]
            before = said.get(row.key)
            if before is not None and not before.written.startswith(EXTRA_ARGS):
                told.append(
                    Note(
                        before.written,
                        Outcome.NOT_NEEDED,
                        f"{given.name} in {EXTRA_ARGS} goes before it, as in HAMi.",
                    )
                )
            _say(said, row, written, given.value)
        elif given.name == VERBOSITY:
            # Of several the last one holds, as on any command line of HAMi's.
            loud = given
        elif given.flag is None:
            told.append(
                Note(written, Outcome.UNKNOWN, "It is no option of HAMi's scheduler that is known here.")
            )
        elif not given.usual:
            told.append(Note(written, Outcome.NOT_NEEDED, given.flag.remark))
    if loud is not None and not loud.usual:
        told += _verbosity(f"{EXTRA_ARGS} {VERBOSITY}", loud)
    return told


def _say(said: dict[str, Said], row: Row, written: str, value: str) -> None:
    read = read_value(written, row, value)
    if read is None:
        said.pop(row.key, None)
    else:
        said[row.key] = Said(written, row, read)


def _verbosity(written: str, given: Given) -> Iterator[Line | Note]:
    level = loose.integer(given.value)
    if level is None:
        yield Note(
            written, Outcome.UNKNOWN, f"It is {shown(given.value)}, and HAMi's scheduler takes a number."
        )
    elif level > USUAL_VERBOSITY:
        yield Line("scheduler.log.level", "debug", f"HAMi's {written}={level}.")
        yield Note(written, Outcome.MAPPED, "It is scheduler.log.level: debug.")
    else:
        yield Note(written, Outcome.NOT_NEEDED, given.flag.remark if given.flag else "")


def _kube_scheduler_arguments(said: Mapping[str, Said]) -> Iterator[Note]:
    for row in KUBE_SCHEDULER_ARGUMENTS:
        found = said.get(row.key)
        for word in _words(found) if found else ():
            if word not in _KUBE_SCHEDULER_USUAL:
                yield Note(f"{found.written if found else row.key} {shown(word)}", row.way, row.remark)


def _words(found: Said) -> list[object]:
    words = loose.elements(found.value)
    if not loose.is_list(found.value) or any(loose.scalar_text(word) is None for word in words):
        raise HamiValuesError(
            "hami-values-kind",
            f"{found.written} is {shown(found.value)}: it is a list of words; write for example [--debug, -v=4]",
            found.written,
        )
    return words
