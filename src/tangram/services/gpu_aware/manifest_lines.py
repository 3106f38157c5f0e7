"""A kube-scheduler's manifest with our configuration in use, and without: the same text but for our own lines.

The changed text is parsed again, and unless it says exactly what was meant, the manifest is refused. So a layout that
is not understood costs a person some typing, and never a kube-scheduler.
"""

from __future__ import annotations

import copy
import re
from typing import Any, Final

import yaml

from tangram.daemon.yaml_text import StrictLoader, UnreadableYaml, parse_document
from tangram.services.gpu_aware.yaml_lines import NotLaidOut, YamlLines
from tangram.wire.errors import WireError
from tangram.wire.static_manifest import Entry, SchedulerPod, read_scheduler_pod, refusal

# What Python or YAML takes for the end of a line, and editors do not.
_ODD_BREAKS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|\r(?!\n)")
_BY_HAND: Final = "change the manifest by hand"


def read_manifest(text: str, path: str) -> SchedulerPod:
    """What the manifest has and lacks for the configuration at `path`. Raises `WireError`."""
    return read_scheduler_pod(_parsed(text), path)


def enabled(text: str, path: str) -> str:
    """The manifest with the configuration in use; the same text when it is already. Raises `WireError`."""
    missing = [entry for entry in read_manifest(text, path).entries if not entry.places]
    wanted = copy.deepcopy(_parsed(text))
    lines = YamlLines(text)
    try:
        for entry in missing:
            lines.add(entry.where, entry.field, entry.lines)
            _map_at(wanted, entry).setdefault(entry.field, []).append(entry.value)
    except NotLaidOut as error:
        raise _not_laid_out(error) from None
    return _checked(lines.text(), wanted)


def disabled(text: str, path: str) -> str:
    """The manifest without it; the same text when it is not in use. Raises `WireError`."""
    present = [entry for entry in read_manifest(text, path).entries if entry.places]
    wanted = copy.deepcopy(_parsed(text))
    lines = YamlLines(text)
    try:
        for entry in present:
            lines.remove(entry.where, entry.field, entry.places)
            holder = _map_at(wanted, entry)
            kept = [each for place, each in enumerate(holder[entry.field]) if place not in entry.places]
            if kept:
                holder[entry.field] = kept
            else:
                del holder[entry.field]
    except NotLaidOut as error:
        raise _not_laid_out(error) from None
    return _checked(lines.text(), wanted)


def _parsed(text: str) -> object:
    if _ODD_BREAKS.search(text):
        raise refusal(f"it has line breaks that are none to an editor; {_BY_HAND}")
    try:
        found = parse_document(text)
    except UnreadableYaml as error:
        raise refusal(f"it is no YAML document ({error})") from None
    if _has_alias(text):
        # One line may stand for several places then, and a page for more than fits into memory.
        raise refusal(f"it has aliases; {_BY_HAND}")
    return found


def _has_alias(text: str) -> bool:
    parser = StrictLoader(text)
    while (event := parser.get_event()) is not None:
        if isinstance(event, yaml.AliasEvent):
            return True
    return False


def _map_at(root: object, entry: Entry) -> dict[str, Any]:
    found: Any = root
    for step in entry.where:
        found = found[step]
    return found


def _checked(text: str, wanted: object) -> str:
    if _parsed(text) != wanted:
        raise _not_laid_out("its lines are laid out in a way that was not understood")
    return text


def _not_laid_out(reason: object) -> WireError:
    return refusal(f"{reason}; {_BY_HAND}")
