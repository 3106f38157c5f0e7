"""What a request wants to do, in the words in which rights are given: a verb, and a resource or a path.

It is read from the address alone, before anybody looks whether such a thing is served: who may not ask for it is not
told that there is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_VERBS: Final = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_OF_NAMESPACES: Final = frozenset({"status", "finalize"})
_OLD_WATCH: Final = "watch"
"""`/api/v1/watch/pods`, how watches were asked for before there was a word for it in the query."""
_NAMED: Final = re.compile(r"(?:^|,)\s*metadata\.name\s*==?\s*([^,=!\s/%]+)\s*(?:,|$)")


class Wanted(NamedTuple):
    """A resource of a group, perhaps one object and a part of it; or a `path` that is no resource at all."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def combined(self) -> str:
        """`pods`, `pods/log`: how rules and refusals name it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def read_wanted(method: str, path: str, query: Mapping[str, str]) -> Wanted:
    """What a request wants."""
    parts = path.strip("/").split("/")
    match parts:
        case ["api", _version, first, *more]:
            group = ""
        case ["apis", group, _version, first, *more]:
            pass
        case _:
            return Wanted(method.lower(), path=path)
    verb = _VERBS.get(method, "")
    rest = [first, *more]
    if first == _OLD_WATCH and more:
        verb, rest = "watch", more
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        # What is asked of a namespace itself counts as asked inside it: a role there may allow it.
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
            rest = rest[2:]
    resource, name, subresource = [*rest, "", ""][:3]
    if verb == "watch":
        subresource = ""
    if not name and verb == "get":
        verb = "watch" if query.get("watch", "false").lower() not in ("false", "0", "") else "list"
        found = _NAMED.search(query.get("fieldSelector", ""))
        name = found[1] if found is not None else ""
    elif not name and verb == "delete":
        verb = "deletecollection"
    return Wanted(verb, group, resource, subresource, namespace, name)
