"""A manifest with one suggestion of the engine carried out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tangram.vendors.mthreads import names as mthreads
from tangram.vendors.renaming import NOTHING_RENAMED, Renamed
from tangram.wire.changing import amounts, hosts, rules
from tangram.wire.changing.refusing import NoSuchWords
from tangram.wire.changing.templates import Json, Template, template_of, without_empty
from tangram.wire.changing.words import Words

_RULES: Final[Mapping[str, Callable[[Template, Mapping[str, str]], None]]] = {
    "drop-scope": rules.drop_scope,
    "drop-mutex": rules.drop_mutex,
    "drop-card-lists": rules.drop_card_lists,
    "drop-app-class": rules.drop_app_class,
    "other-qos": rules.other_qos,
    "drop-node-rules": rules.drop_node_rules,
    "tolerate": rules.tolerate,
    "less-host": hosts.less_host,
}
_AMOUNTS: Final[Mapping[str, tuple[str, amounts.Capping]]] = {
    "less-memory": ("memory", amounts.less_memory),
    "less-compute": ("cores", amounts.less_compute),
    "fewer-cards": ("count", amounts.fewer_cards),
}
CODES: Final = frozenset({*_RULES, *_AMOUNTS})
"""Suggestions that change a manifest. Waiting for another pod's end does not."""


def changed(
    manifest: Mapping[str, object], code: str, change: Mapping[str, str], renamed: Renamed = NOTHING_RENAMED
) -> Json | None:
    """The manifest as the suggestion wants it, the given one untouched.

    None where it changes no manifest, lacks an amount, or cannot be said in the words of this one.
    """
    template = template_of(manifest)
    if template is None:
        return None
    try:
        if code in _RULES:
            _RULES[code](template, change)
        elif code in _AMOUNTS:
            _with_amounts(template, code, change, renamed)
        else:
            return None
    except (NoSuchWords, KeyError, ValueError):
        return None
    untouched = template_of(manifest)
    return None if untouched is None or _tidy(template) == _tidy(untouched) else template.manifest


def with_policies(manifest: Mapping[str, object], node_policy: str, card_policy: str) -> Mapping[str, object]:
    """The manifest as it would be with these policies; empty ones change nothing."""
    template = template_of(manifest) if node_policy or card_policy else None
    if template is None:
        return manifest
    rules.put_policies(template, node_policy, card_policy)
    return template.manifest


def _tidy(template: Template) -> Json:
    without_empty(template.metadata, "annotations")
    without_empty(template.described, "metadata")
    return template.manifest


def _with_amounts(template: Template, code: str, change: Mapping[str, str], renamed: Renamed) -> None:
    key, cap = _AMOUNTS[code]
    amount = int(change[key])
    if amount < 1:
        raise NoSuchWords(f"{code} to {amount} is no amount to ask for")
    for container in template.containers():
        cap(Words(container, renamed), amount)
    if code == "fewer-cards":
        annotations = template.annotations()
        if mthreads.REQUEST_GPU_NUM in annotations:
            # Admission writes it again for several cards, and nobody reads it for one.
            del annotations[mthreads.REQUEST_GPU_NUM]
