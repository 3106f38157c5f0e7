"""The parts of the spec in the cluster: applied, healed, and taken away when they are not wanted any more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.kube.api import Object
from tangram.services.operator.applying import Applier
from tangram.services.operator.objects import Name, is_ours, name_of
from tangram.services.operator.parts.catalogue import PARTS
from tangram.services.operator.parts.pods import COMPONENT, Site
from tangram.wire import loose
from tangram.wire.operator.spec import Spec

_STAYS: Final = frozenset({part.name for part in PARTS if part.once})
"""What people edit is theirs, also when the part that reads it is gone for a while."""


async def keep_parts(
    applier: Applier, spec: Spec, site: Site, live: Mapping[Name, Object], unread: Mapping[str, str]
) -> dict[str, str]:
    """Make the cluster have what the spec wants of parts; what went wrong, by part. One that fails stops no other.

    `unread` names parts whose objects cannot be read: those are not written either.
    """
    troubles = {name: why for name, why in unread.items() if why}
    wanted: set[Name] = set()
    for part in PARTS:
        if not part.wanted(spec) or part.name in troubles:
            continue
        for thing in part.make(spec, site):
            name = name_of(thing)
            wanted.add(name)
            trouble = await applier.ensure(thing, live.get(name), once=part.once)
            if trouble:
                troubles.setdefault(part.name, trouble)
    for name, thing in live.items():
        part_name = loose.text_map(loose.members(thing.get("metadata")).get("labels")).get(COMPONENT, "")
        if name not in wanted and is_ours(thing) and part_name not in _STAYS:
            trouble = await applier.remove(thing)
            if trouble:
                troubles.setdefault(part_name, trouble)
    return troubles
