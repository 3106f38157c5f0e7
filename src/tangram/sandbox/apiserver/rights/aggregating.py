"""ClusterRoles that are put together from others: what one comes to, given all that there are."""

from __future__ import annotations

from collections.abc import Iterable

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.rules.looking import record, records
from tangram.wire import loose
from tangram.wire.label_selectors import read_selector


def aggregated(role: Object, roles: Iterable[Object]) -> list[Object]:
    """The rules of every role its selectors take, by name, each rule once."""
    others = sorted(roles, key=lambda each: each["metadata"]["name"])
    found: list[Object] = []
    for selector in records(record(role, "aggregationRule"), "clusterRoleSelectors"):
        wanted = read_selector(selector)
        for other in others:
            if other["metadata"]["name"] == role["metadata"]["name"]:
                continue
            if wanted.matches(loose.text_map(other["metadata"].get("labels"))):
                found += [rule for rule in records(other, "rules") if rule not in found]
    return found
