"""Which fields Kubernetes writes though nobody set them, and which it leaves out when they are empty.

Its OpenAPI documents do not say: it follows from the Go types, where a struct is always written, a pointer only when
it points somewhere, and `omitempty` drops zeros, empty texts, lists and maps. This reads the declarations of the
modules the test bed builds and prints them in the short form that the sandbox's API server goes by:

    python -m testbed.gofields > src/tangram/sandbox/apiserver/rules/gofields.json

A type is a map from field to `what[!][:type]`. What: `v` a text, `i` a number, `b` a boolean, `p` a pointer to one of
those, `l` a list, `m` a map, `s` a struct, `r` a reference to a struct, `q` a quantity, `t` a time, `u` a time with
microseconds, `d` a duration, `x` a number or text, `a` anything.
`!`: written even when it is empty (of a struct: left out when it is zero). `type` is what the struct, the elements of
the list or the values of the map are.
"""

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tangram.sandbox.apiserver.builtin import BUILT_IN
from testbed.box import REPOSITORY
from testbed.errors import BedError
from testbed.gomod import read_go_mod
from testbed.toolchain import find_go

_MODULES = ("k8s.io/apiextensions-apiserver", "k8s.io/apimachinery", "k8s.io/api")
_DECLARED = re.compile(r"^type (\w+) struct ?(?:\{\n(.*?)^\}|\{\})", re.MULTILINE | re.DOTALL)
_RENAMED = re.compile(r"^type (\w+) ([\w.\[\]*]+)$", re.MULTILINE)
_FIELD = re.compile(r"^\t(?:(\w+)\s+)?([\w.\[\]*]+)\s+`json:\"([^\"]*)\"", re.MULTILINE)
_IMPORT = re.compile(r'^\s+(?:(\w+)\s+)?"([\w./-]+)"$', re.MULTILINE)
_QUANTITY = "quantity"
_SPECIAL = {
    "k8s.io/apimachinery/pkg/api/resource.Quantity": "q",
    "k8s.io/apimachinery/pkg/apis/meta/v1.Time": "t",
    "k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime": "u",
    "k8s.io/apimachinery/pkg/apis/meta/v1.Duration": "d",
    "k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1": "a",
    "k8s.io/apimachinery/pkg/runtime.RawExtension": "a",
    "k8s.io/apimachinery/pkg/util/intstr.IntOrString": "x",
    "k8s.io/apimachinery/pkg/types.UID": "v",
    "k8s.io/apimachinery/pkg/types.NodeName": "v",
}
_WRITE_THEMSELVES = "qtudx"


class Package(NamedTuple):
    structs: dict[str, tuple[str, dict[str, str]]]
    """Name to the text of its fields and the imports of its file."""
    renamed: dict[str, str]


def main() -> int:
    """Print the table."""
    found: dict[str, dict[str, str]] = {}
    waiting = [_home(kind.definition) for kind in BUILT_IN]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = _fields(name)
        targets = [text.partition(":")[2] for text in found[name].values()]
        waiting += [target for target in targets if target not in {"", _QUANTITY}]
    lines = [
        f"{json.dumps(_short(name))}: {json.dumps({key: _told(text) for key, text in sorted(fields.items())})}"
        for name, fields in sorted(found.items())
    ]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")
    return 0


def _home(definition: str) -> str:
    """`io.k8s.api.core.v1.Pod` to the package and type that declare it."""
    package, _, name = definition.removeprefix("io.k8s.").rpartition(".")
    return f"k8s.io/{package.replace('.', '/')}.{name}"


def _short(name: str) -> str:
    """As the OpenAPI documents call it, without the `io.k8s.` that all of them begin with."""
    package, _, kind = name.removeprefix("k8s.io/").rpartition(".")
    return f"{package.replace('/', '.')}.{kind}"


def _told(text: str) -> str:
    what, colon, name = text.partition(":")
    return f"{what}{colon}{_short(name) if name not in {'', _QUANTITY} else name}"


def _fields(name: str) -> dict[str, str]:
    """Every field of a struct, those of the structs it embeds among them."""
    package, _, kind = name.rpartition(".")
    body, imports = _package(package).structs[kind]
    found: dict[str, str] = {}
    for _, go_type, tag in _FIELD.findall(body):
        field, *options = tag.split(",")
        if field == "-":
            continue
        if not field:
            found |= _fields(_qualified(go_type.lstrip("*"), package, imports))
            continue
        found[field] = _described(go_type, package, imports, options)
    return found


def _described(go_type: str, package: str, imports: dict[str, str], options: list[str]) -> str:
    points = go_type.startswith("*")
    what, of = _kind(go_type.lstrip("*"), package, imports)
    if what == "s":
        always = "" if points or "omitzero" not in options else "!"
        return f"{'r' if points else 's'}{always}:{of}"
    if points:
        return what if what in _WRITE_THEMSELVES else "p"
    # What writes itself is a struct, which only `omitzero` leaves out.
    always = ("omitzero" if what in _WRITE_THEMSELVES else "omitempty") not in options
    return f"{what}{'!' if always else ''}{f':{of}' if of else ''}"


def _kind(go_type: str, package: str, imports: dict[str, str]) -> tuple[str, str]:
    if go_type == "[]byte":
        return "v", ""
    for opening, what in ((r"\[\]", "l"), (r"map\[[\w.]+\]", "m")):
        matched = re.match(opening, go_type)
        if matched:
            inner, of = _kind(go_type[matched.end() :].lstrip("*"), package, imports)
            return what, of if inner == "s" else (_QUANTITY if inner == "q" else "")
    name = _qualified(go_type, package, imports)
    if name in _SPECIAL:
        return _SPECIAL[name], ""
    home, _, kind = name.rpartition(".")
    if not home:
        return {"string": "v", "bool": "b"}.get(go_type, "i"), ""
    declared = _package(home)
    if kind in declared.structs:
        return ("a", "") if kind.startswith("JSON") and kind != "JSONSchemaProps" else ("s", name)
    renamed = declared.renamed.get(kind)
    if renamed is None:
        raise BedError(f"{go_type} in {package} is declared nowhere")
    return _kind(renamed, home, _imports_of(home))


def _qualified(go_type: str, package: str, imports: dict[str, str]) -> str:
    if "." in go_type:
        alias, _, name = go_type.partition(".")
        return f"{imports[alias]}.{name}"
    return go_type if go_type[0].islower() or go_type.startswith(("[", "*")) else f"{package}.{go_type}"


@cache
def _package(path: str) -> Package:
    structs: dict[str, tuple[str, dict[str, str]]] = {}
    renamed: dict[str, str] = {}
    for file in sorted(_folder(path).glob("*.go")):
        if file.name.startswith("zz_") or file.name.endswith(("_test.go", ".pb.go")):
            continue
        text = file.read_text("utf-8")
        imports = {alias or target.rsplit("/", 1)[-1]: target for alias, target in _IMPORT.findall(text)}
        structs |= {name: (body, imports) for name, body in _DECLARED.findall(text)}
        renamed |= dict(_RENAMED.findall(text))
    return Package(structs, renamed)


def _imports_of(path: str) -> dict[str, str]:
    merged: dict[str, str] = {}
    for _, imports in _package(path).structs.values():
        merged |= imports
    return merged


def module_folder(module: str) -> Path:
    """Where the sources of a module are, such as k8s.io/api."""
    return _modules_folder() / f"{module}@{_version()}"


def _folder(path: str) -> Path:
    for module in _MODULES:
        if path.startswith(f"{module}/"):
            return module_folder(module) / path.removeprefix(f"{module}/")
    raise BedError(f"no module of the test bed declares {path}")


@cache
def _modules_folder() -> Path:
    go = find_go(["1.21"])
    asked = [go.program, "env", "GOMODCACHE"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=True)  # noqa: S603 - our own words
    return Path(answer.stdout.strip())


@cache
def _version() -> str:
    """Of the libraries: Kubernetes 1.36.3 is made of modules 0.36.3."""
    go_mod = read_go_mod(REPOSITORY / "testbed" / "components" / "kubernetes" / "go.mod")
    version = go_mod.version_of("k8s.io/kubernetes/cmd/kube-apiserver")
    if version is None:
        raise BedError("the components' go.mod names no Kubernetes")
    return version.replace("v1.", "v0.", 1)


if __name__ == "__main__":
    sys.exit(main())
