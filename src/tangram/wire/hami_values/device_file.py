"""HAMi's device-config.yaml, whether its chart made it from values or somebody wrote all of it.

What comes out is read once by the code that will read it in the cluster, so that a file which the scheduler would
refuse is refused here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, cast

from tangram.wire import loose
from tangram.wire.errors import WireError, shown
from tangram.wire.hami_device_config import read_hami_device_config
from tangram.wire.hami_values.other_vendors import vendor_row
from tangram.wire.hami_values.reading import HamiValuesError, Said, is_plain, read_sizes
from tangram.wire.hami_values.resource_rows import CONTENT, RESOURCES
from tangram.wire.hami_values.rows import Line, Note, Outcome

HANDLED = frozenset((CONTENT.key, *(row.key for row in RESOURCES)))
_VENDORS = ("metax", "mthreads")
_FILE = "scheduler.deviceConfig."


def device_file(said: Mapping[str, Said], parse: Callable[[str], object]) -> Iterator[Line | Note]:
    """The names and sizes of resources. `parse` reads YAML and raises `WireError`."""
    content = said.get(CONTENT.key)
    values = [said[row.key] for row in RESOURCES if row.key in said]
    if content is not None:
        yield from _whole_file(content, parse)
        for found in values:
            yield Note(found.written, Outcome.NOT_NEEDED, f"{CONTENT.key} goes before it, as in HAMi.")
        return
    told = [found for found in values if found.value not in found.row.usual]
    file: dict[str, dict[str, object]] = {}
    for found in told:
        if found.row.here.startswith(_FILE):
            vendor, _, key = found.row.here.removeprefix(_FILE).partition(".")
            file.setdefault(vendor, {})[key] = found.value
    _check(file, ", ".join(found.written for found in told))
    for found in told:
        yield Line(found.row.here, found.value, f"HAMi's {found.written}. {found.row.remark}".strip())
        yield Note(found.written, Outcome.MAPPED, f"It is {found.row.here}. {found.row.remark}".strip())


def _whole_file(content: Said, parse: Callable[[str], object]) -> Iterator[Line | Note]:
    document = content.value
    if isinstance(document, str):
        try:
            document = parse(document)
        except WireError as error:
            raise HamiValuesError(
                "hami-values-content",
                f"{content.written} is no YAML: {error.sentence}; write device-config.yaml as HAMi documents it",
                content.written,
            ) from None
    if document is not None and not loose.is_object(document):
        raise HamiValuesError(
            "hami-values-content",
            f"{content.written} holds {shown(document)}: it holds a map with a section for each vendor; write "
            "device-config.yaml as HAMi documents it",
            content.written,
        )
    sections = loose.members(document)
    ours = {vendor: sections[vendor] for vendor in _VENDORS if sections.get(vendor)}
    _check(ours, content.written)
    for vendor in (each for each in sections if each not in _VENDORS):
        row = vendor_row(vendor)
        yield Note(f"{content.written}: {shown(vendor)}", row.way, row.remark)
    # Read by the check above, which looks no deeper; what nobody reads is not worth carrying over.
    kept = {vendor: plain for vendor, section in ours.items() if (plain := _plain(section))}
    if kept:
        yield Line(CONTENT.here, kept, f"HAMi's {content.written}. {CONTENT.remark}")
        yield Note(content.written, Outcome.MAPPED, f"It is {CONTENT.here}. {CONTENT.remark}")


def _plain(section: object) -> dict[str, object]:
    """Numbers, texts and lists of them; other things no program of HAMi's or ours asks for.

    Charts take text for anything; ours takes a number for a number.
    """
    read = {
        key: _KINDS.get(key, _as_it_is)(value)
        for key, value in loose.members(section).items()
        if isinstance(cast("object", key), str) and not loose.is_object(value) and _flat(value)
    }
    return {key: value for key, value in read.items() if value is not None}


def _as_it_is(value: object) -> object:
    return list(loose.elements(value)) if loose.is_list(value) else value


_KINDS: Final[Mapping[str, Callable[[object], object]]] = {
    "sgpuTopologyAware": loose.flag,
    "memoryPerCard": read_sizes,
}


def _flat(value: object) -> bool:
    return all(is_plain(each) for each in (loose.elements(value) if loose.is_list(value) else [value]))


def _check(file: Mapping[str, object], written: str) -> None:
    if not file:
        return
    try:
        read_hami_device_config(file)
    except WireError as error:
        raise HamiValuesError("hami-values-device-config", f"{written}: {error.sentence}", written) from None
