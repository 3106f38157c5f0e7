"""Every public function, class and method of the source has a caller in the source: tests alone keep nothing alive.

What nothing calls is not part of the product, and a test of it proves nothing about the product. Functions and classes
are followed through imports. Methods are followed by name only, so one that shares its name with a method that is
called is not found.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"

ALLOWED: dict[str, str] = {}
"""By dotted name, why something has no caller in the source; for what a program outside of it calls by name."""

NAMED = re.compile(r"\b(tangram(?:\.\w+)+):(\w+)")
"""How entry points and commands are named: `tangram.cli.entry:main`."""
PLAIN_BASES = frozenset(
    {
        "Enum", "Exception", "Generic", "IntEnum", "LookupError", "NamedTuple", "OSError", "Protocol", "RuntimeError",
        "StrEnum", "Struct", "TypedDict", "ValueError",
    }
)  # fmt: skip
"""Bases from outside that call no method of ours by its name."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module(NamedTuple):
    tree: ast.Module
    names: dict[str, str]
    """By the name used here, what was imported."""


class Uses:
    """What is referred to, and inside which definition; the empty text is a module's own code."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.modules = {name: _module(text) for name, text in sources.items()}
        self.paths: defaultdict[str, set[str]] = defaultdict(set)
        self.attributes: defaultdict[str, set[str]] = defaultdict(set)
        for name, module in self.modules.items():
            for statement in module.tree.body:
                self._read(name, statement, "")

    def note(self, path: str, owner: str = "") -> None:
        """The path, whatever it is made of, and what packages on the way hand on under that name."""
        first, *rest = path.split(".")
        for each in rest:
            parent, first = first, f"{first}.{each}"
            self.paths[first].add(owner)
            handed_on = self.modules[parent].names.get(each, first) if parent in self.modules else first
            if owner not in self.paths[handed_on]:
                self.paths[handed_on].add(owner)
                self.note(handed_on, owner)

    def _read(self, module: str, node: ast.AST, owner: str) -> None:
        if isinstance(node, Function | ast.ClassDef) and owner.count(".") <= module.count(".") + 1:
            owner = f"{owner or module}.{node.name}"
        match node:
            case ast.Import() | ast.ImportFrom():
                return
            case ast.Name() | ast.Attribute():
                path = self._path(module, node)
                if path is not None:
                    self.note(path, owner)
                if isinstance(node, ast.Attribute):
                    self.attributes[node.attr].add(owner)
            case ast.MatchClass():
                for name in node.kwd_attrs:
                    self.attributes[name].add(owner)
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
                self.attributes[name].add(owner)
            case ast.Constant(value=str(text)):
                for path in named_in(text):
                    self.note(path, owner)
            case _:
                pass
        for child in ast.iter_child_nodes(node):
            self._read(module, child, owner)

    def _path(self, module: str, node: ast.expr) -> str | None:
        match node:
            case ast.Name():
                return self.modules[module].names.get(node.id, f"{module}.{node.id}")
            case ast.Attribute():
                before = self._path(module, node.value)
                return None if before is None else f"{before}.{node.attr}"
            case _:
                return None

    def called_from_outside(self, module: str, known: ast.ClassDef) -> bool:
        """Whether a base of the class, or of its bases, is not ours and may call any of its methods."""
        for base in known.bases:
            written = base.value if isinstance(base, ast.Subscript) else base
            path = self._path(module, written) or ""
            at, _, name = path.rpartition(".")
            own = self.modules.get(at)
            found = own and next(
                (each for each in own.tree.body if isinstance(each, ast.ClassDef) and each.name == name), None
            )
            if found is not None:
                if self.called_from_outside(at, found):
                    return True
            elif name not in PLAIN_BASES:
                return True
        return False


def _module(text: str) -> Module:
    tree = ast.parse(text)
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            for each in node.names:
                whole, top = each.name, each.name.partition(".")[0]
                names[each.asname or top] = whole if each.asname else top
    return Module(tree, names)


def named_in(text: str) -> Iterator[str]:
    return (f"{module}.{name}" for module, name in NAMED.findall(text))


def is_registered(known: Function) -> bool:
    """Whether a decorator hands it to an `app` of the command line."""
    return any(ast.unparse(each).startswith(("app.command", "app.default")) for each in known.decorator_list)


def uncalled(
    sources: Mapping[str, str], entries: Iterable[str] = (), words: Iterable[str] = ()
) -> Iterator[str]:
    """Public definitions that nothing but themselves refers to; `entries` name functions, `words` are templates'."""
    uses, known_words = Uses(sources), frozenset(words)
    for text in entries:
        for path in named_in(text):
            uses.note(path)
    for module, (tree, _) in uses.modules.items():
        for known in tree.body:
            if not isinstance(known, Function | ast.ClassDef):
                continue
            path = f"{module}.{known.name}"
            others = {each for each in uses.paths[path] if each != path and not each.startswith(f"{path}.")}
            called = bool(others) or (isinstance(known, Function) and is_registered(known))
            if not called and not known.name.startswith("_"):
                yield path
            if isinstance(known, ast.ClassDef) and not uses.called_from_outside(module, known):
                for method in known.body:
                    if isinstance(method, Function) and not method.name.startswith("_"):
                        of_method = f"{path}.{method.name}"
                        if method.name not in known_words and not uses.attributes[method.name] - {of_method}:
                            yield of_method


def source() -> dict[str, str]:
    """By the name of the module; what a compiler wrote is left out."""
    found: dict[str, str] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        if not file.name.endswith("_pb2.py"):
            parts = file.relative_to(SOURCE).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file.read_text("utf-8")
    return found


def test_everything_public_has_a_caller_in_the_source() -> None:
    templates = [file.read_text("utf-8") for file in SOURCE.rglob("templates/*")]
    words = {word for text in templates for word in re.findall(r"\w+", text)}
    found = set(uncalled(source(), [(ROOT / "pyproject.toml").read_text("utf-8")], words))
    assert found - ALLOWED.keys() == set(), "use it in src, or delete it with its tests"
    assert ALLOWED.keys() - found == set(), "it has a caller now: take it from the list"


@pytest.mark.parametrize(
    ("sources", "dead"),
    [
        pytest.param({"a": "def f(): ..."}, ["a.f"], id="a function"),
        pytest.param({"a": "def f(): f()"}, ["a.f"], id="called by itself alone"),
        pytest.param({"a": "def f(): ...\nf()"}, [], id="called beside it"),
        pytest.param({"a": "def f(): ...", "b": "from a import f"}, ["a.f"], id="imported alone"),
        pytest.param({"a": "def f(): ...", "b": "from a import f as g\ng()"}, [], id="under another name"),
        pytest.param({"p.a": "def f(): ...", "b": "from p import a\na.f()"}, [], id="by its module"),
        pytest.param({"p.a": "def f(): ...", "b": "import p.a\np.a.f()"}, [], id="by its whole path"),
        pytest.param(
            {"a": "def f(): ...", "b": "def f(): ...\nf()"}, ["a.f"], id="another of the same name is called"
        ),
        pytest.param(
            {"p": "from p.f import f", "p.f": "def f(): ...", "b": "import p\np.f()"}, [], id="by its package"
        ),
        pytest.param({"a": "class C: ..."}, ["a.C"], id="a class"),
        pytest.param({"a": "class C:\n def m(self): self.m()\nC()"}, ["a.C.m"], id="a method"),
        pytest.param({"a": "class C:\n def m(self): ...\nC().m()"}, [], id="a method that is called"),
        pytest.param(
            {"a": "import logging\nclass C(logging.Handler):\n def emit(self): ...\nC()"},
            [],
            id="by its base",
        ),
        pytest.param({"a": "def _f(): ..."}, [], id="private"),
        pytest.param({"tangram.a": "def f(): ...", "b": "run('tangram.a:f')"}, [], id="named in a text"),
        pytest.param({"a": "@app.command\ndef f(): ..."}, [], id="a command"),
    ],
)
def test_what_nothing_calls_is_found(sources: dict[str, str], dead: list[str]) -> None:
    assert list(uncalled(sources)) == dead
