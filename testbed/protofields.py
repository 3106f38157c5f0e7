"""The numbers under which Kubernetes' messages carry their fields, for clients that do not send JSON.

kubectl sends some bodies in protobuf. This reads the `.proto` files of the modules the test bed builds and prints, of
every message that can be in a request the sandbox's API server takes, which number is which field:

    python -m testbed.protofields > src/tangram/sandbox/apiserver/protobuf/fields.json

A message is a map from number to `name what`. What: `s` text, `i` number, `b` boolean, `y` bytes, `d` a fraction, or
the name of another message; before it `*` for a list, `%` for a map whose values are that, `&` for a message whose
fields stand among those of the outer one in JSON.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from functools import cache

from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.apiserver.schemas import built_in
from testbed.gofields import module_folder
from testbed.schemas import roots

_MODULES = ("api", "apimachinery", "apiextensions-apiserver")
_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(
    r"^  (?:(repeated|optional) )?(map<\w+, ?\.?([\w.]+)>|\.?[\w.]+) (\w+) = (\d+);", re.MULTILINE
)
_SCALARS = {
    "string": "s", "bytes": "y", "bool": "b", "double": "d",
    "int32": "i", "int64": "i", "uint32": "i", "uint64": "i",
}  # fmt: skip


def main() -> int:
    """Print the table."""
    found: dict[str, dict[str, str]] = {}
    waiting = sorted(roots(BUILT_IN))
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = dict(_fields(name))
        waiting += [each for text in found[name].values() for each in _messages(text)]
    lines = [f"{json.dumps(name)}: {json.dumps(fields)}" for name, fields in sorted(found.items())]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")
    return 0


def _messages(text: str) -> Iterable[str]:
    what = text.split()[1].lstrip("*%&")
    return [what] if "." in what else []


def _fields(definition: str) -> Iterable[tuple[str, str]]:
    package, _, name = definition.rpartition(".")
    body = _declared(package).get(name)
    if body is None:
        raise LookupError(f"there is no message {definition}")
    for label, kind, value, field, number in _FIELD.findall(body):
        what = _what(value or kind, package)
        if value:
            what = f"%{what}"
        elif label == "repeated":
            what = f"*{what}"
        elif "." in what and _is_inline(definition, field):
            what = f"&{what}"
        yield number, f"{_spelled(definition, field)} {what}"


def _spelled(definition: str, field: str) -> str:
    """As JSON has it: where somebody was careless about capitals in a `.proto`, the numbers were given already."""
    try:
        known = built_in(definition).properties
    except KeyError:
        return field
    return next((name for name in known if name.lower() == field.lower()), field)


def _is_inline(definition: str, field: str) -> bool:
    """A field that JSON does not have is one whose own fields it has instead."""
    try:
        known = built_in(definition).properties
    except KeyError:
        return False
    return bool(known) and field.lower() not in map(str.lower, known)


def _what(kind: str, package: str) -> str:
    kind = kind.lstrip(".")
    if kind in _SCALARS:
        return _SCALARS[kind]
    if "." not in kind:
        return f"{package}.{kind}"
    return kind.replace("_", "-").replace("k8s.io.", "io.k8s.", 1)


@cache
def _declared(package: str) -> dict[str, str]:
    module, _, path = package.removeprefix("io.k8s.").partition(".")
    if module not in _MODULES:
        raise LookupError(f"no module declares {package}")
    file = module_folder(f"k8s.io/{module}") / path.replace(".", "/") / "generated.proto"
    return dict(_MESSAGE.findall(file.read_text("utf-8")))


if __name__ == "__main__":
    sys.exit(main())
