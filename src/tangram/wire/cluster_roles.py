"""ClusterRoles that are put together from others: what one comes to, given all that there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tangram.wire import loose
from tangram.wire.label_selectors import read_selector


def aggregated(role: Mapping[str, object], roles: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """The rules of every role its selectors take, by name, each rule once."""
    others = sorted((each for each in roles if _name(each) != _name(role)), key=_name)
    selectors = loose.elements(loose.members(role.get("aggregationRule")).get("clusterRoleSelectors"))
    found: list[dict[str, object]] = []
    for selector in selectors:
        wanted = read_selector(selector)
        for other in others:
            if wanted.matches(loose.text_map(loose.members(other.get("metadata")).get("labels"))):
                rules = (dict(loose.members(rule)) for rule in loose.elements(other.get("rules")))
                found += [rule for rule in rules if rule not in found]
    return found


def _name(role: Mapping[str, object]) -> str:
    return loose.text(loose.members(role.get("metadata")).get("name"))
