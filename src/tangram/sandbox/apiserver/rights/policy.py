"""One rule of a role: what it allows, and whether it allows all that another does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.rights.wanted import Wanted
from tangram.sandbox.apiserver.rules.looking import records, texts

ALL: Final = "*"


class Rule(Struct, frozen=True, kw_only=True):
    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Empty: whatever it is called."""
    urls: tuple[str, ...] = ()

    def written(self) -> Object:
        """As reviews and roles have it."""
        fields = {
            "verbs": self.verbs,
            "apiGroups": self.groups,
            "resources": self.resources,
            "resourceNames": self.names,
            "nonResourceURLs": self.urls,
        }
        return {key: list(values) for key, values in fields.items() if values}


def rules_of_role(role: Object) -> tuple[Rule, ...]:
    """What a Role or ClusterRole allows."""
    return tuple(
        Rule(
            verbs=tuple(texts(each, "verbs")),
            groups=tuple(texts(each, "apiGroups")),
            resources=tuple(texts(each, "resources")),
            names=tuple(texts(each, "resourceNames")),
            urls=tuple(texts(each, "nonResourceURLs")),
        )
        for each in records(role, "rules")
    )


def allows(rule: Rule, wanted: Wanted) -> bool:
    """Whether a rule allows this."""
    if wanted.path:
        return _has(rule.verbs, wanted.verb) and _leads(rule.urls, wanted.path)
    return allows_some(rule, wanted) and (not rule.names or wanted.name in rule.names)


def allows_some(rule: Rule, wanted: Wanted) -> bool:
    """Whether it allows this for objects of some name."""
    return (
        _has(rule.verbs, wanted.verb)
        and _has(rule.groups, wanted.group)
        and _has_resource(rule.resources, wanted.combined)
    )


# ---- one against another


def missing(held: Sequence[Rule], given: Sequence[Rule]) -> list[Rule]:
    """What `given` allows and `held` does not, in the smallest pieces."""
    pieces = (piece for rule in given for piece in _pieces(rule))
    return [piece for piece in pieces if not any(_covers(rule, piece) for rule in held)]


def _pieces(rule: Rule) -> Iterator[Rule]:
    for group in rule.groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                for names in [(name,) for name in rule.names] or [()]:
                    yield Rule(verbs=(verb,), groups=(group,), resources=(resource,), names=names)
    for url in rule.urls:
        for verb in rule.verbs:
            yield Rule(verbs=(verb,), urls=(url,))


def _covers(rule: Rule, piece: Rule) -> bool:
    return (
        all(_has(rule.verbs, verb) for verb in piece.verbs)
        and all(_has(rule.groups, group) for group in piece.groups)
        and all(_has_resource(rule.resources, resource) for resource in piece.resources)
        and (not rule.names or (bool(piece.names) and set(piece.names) <= set(rule.names)))
        and all(_leads(rule.urls, url) for url in piece.urls)
    )


def _has(listed: Sequence[str], word: str) -> bool:
    return word in listed or ALL in listed


def _has_resource(listed: Sequence[str], combined: str) -> bool:
    """`*` is everything with its parts, `*/scale` that part of everything."""
    if _has(listed, combined):
        return True
    _, slash, part = combined.partition("/")
    return bool(slash) and f"*/{part}" in listed


def _leads(urls: Sequence[str], path: str) -> bool:
    return any(url == path or (url.endswith(ALL) and path.startswith(url.rstrip(ALL))) for url in urls)
