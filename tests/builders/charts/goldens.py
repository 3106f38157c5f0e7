"""What each case of a chart gave, as files: the default whole, every other as its difference to the case it stands on.

A change of one option is then a few lines that a person can judge, and still every object of every case can be put
together again. Texts that are files of the chart, such as dashboards, are named and not repeated, and the version of
the chart is not told: a release changes none of these files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import yaml

from builders.charts.cases import Case, case_named, values_of
from builders.charts.differences import SAME, applied, difference

Object = dict[str, Any]

ROOT = Path(__file__).resolve().parents[3]
CHARTS = ROOT / "deploy" / "charts"
GOLDENS = ROOT / "tests" / "data" / "charts"
_HEAD = "# Written by e2e/test_charts.py with TANGRAM_REFRESH=1, never by hand.\n"
_FILE = "file of the chart: "
_VERSION = "VERSION"


def golden_file(case: Case) -> Path:
    return GOLDENS / case.chart / f"{case.name}.yaml"


def written(case: Case, objects: Iterable[Object]) -> str:
    """The text of the file for what a case gave."""
    kept = [_shortened(case.chart, each) for each in _sorted(objects)]
    if not case.on:
        return _HEAD + "".join(f"---\n{_yaml(each)}" for each in [{"case": told_of(case)}, *kept])
    under = by_key(_kept(case_named(case.chart, case.on)))
    now = by_key(kept)
    changed = {key: difference(under[key], each) for key, each in now.items() if key in under}
    said = {
        "case": told_of(case),
        "removed": [key for key in under if key not in now],
        "added": [each for key, each in now.items() if key not in under],
        "changed": {key: each for key, each in changed.items() if each is not SAME},
    }
    return _HEAD + _yaml({key: value for key, value in said.items() if value})


def keep(case: Case, objects: Iterable[Object]) -> None:
    """Write the file of a case. The case it stands on must have been written before."""
    file = golden_file(case)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(written(case, objects), "utf-8")
    _read.cache_clear()


def objects_of(case: Case) -> list[Object]:
    """Every object of a case, put together from the files."""
    return [_lengthened(case.chart, each) for each in _kept(case)]


def told_in(case: Case) -> Object:
    """The words of the file about the case it is of."""
    first = next(iter(yaml.safe_load_all(golden_file(case).read_text("utf-8"))))
    return first["case"]


def changes_of(case: Case) -> Object:
    """What the file of a case says beside the case: `removed`, `added` and `changed`."""
    (said,) = _read(golden_file(case))
    return {key: value for key, value in said.items() if key != "case"}


def key_of(thing: Object) -> str:
    """How an object is called here. No chart has two of a kind with one name."""
    return f"{thing['kind']} {thing['metadata']['name']}"


def told_of(case: Case) -> Object:
    """What a file says first: of which case it is."""
    named: Object = {"release": case.release, "namespace": case.namespace, "kubernetes": case.kube}
    return named | ({"compared with": case.on} if case.on else {}) | {"values": values_of(case)}


def _kept(case: Case) -> list[Object]:
    documents = _read(golden_file(case))
    if not case.on:
        return list(documents[1:])
    (said,) = documents
    under = by_key(_kept(case_named(case.chart, case.on)))
    for key in said.get("removed", ()):
        del under[key]
    for key, differing in said.get("changed", {}).items():
        under[key] = applied(under[key], differing)
    return _sorted([*under.values(), *said.get("added", ())])


@cache
def _read(file: Path) -> Sequence[Object]:
    return tuple(yaml.load_all(file.read_text("utf-8"), yaml.CSafeLoader))


def _sorted(objects: Iterable[Object]) -> list[Object]:
    return sorted(objects, key=lambda each: (each["kind"], each["metadata"]["name"]))


def by_key(objects: Sequence[Object]) -> dict[str, Object]:
    """Objects by what they are called here."""
    found = {key_of(each): each for each in objects}
    assert len(found) == len(objects), "two objects of one kind have one name"
    return found


@cache
def version_of(chart: str) -> str:
    return yaml.safe_load((CHARTS / chart / "Chart.yaml").read_text("utf-8"))["version"]


def without_version(chart: str, text: str) -> str:
    """A text for people, as it is kept."""
    return text.replace(version_of(chart), _VERSION)


def _shortened(chart: str, thing: Object) -> Object:
    short = _with_texts(thing, {text: f"{_FILE}{name}" for name, text in _files(chart).items()})
    return _renamed(short, version_of(chart), _VERSION)


def _lengthened(chart: str, thing: Object) -> Object:
    whole = _renamed(thing, _VERSION, version_of(chart))
    return _with_texts(whole, {f"{_FILE}{name}": text for name, text in _files(chart).items()})


def _renamed(tree: Any, was: str, now: str) -> Any:  # noqa: ANN401 - any JSON, and the same kind of it again
    """Another version where a text is one, or ends with one: a label, the tag of an image, the name of the chart."""
    if isinstance(tree, dict):
        return {key: _renamed(each, was, now) for key, each in cast("Object", tree).items()}
    if isinstance(tree, list):
        return [_renamed(each, was, now) for each in cast("list[Any]", tree)]
    if isinstance(tree, str) and (tree == was or tree.endswith((f":{was}", f"-{was}"))):
        return tree.removesuffix(was) + now
    return tree


@cache
def _files(chart: str) -> dict[str, str]:
    return {
        str(file.relative_to(CHARTS / chart)): file.read_text("utf-8")
        for file in sorted((CHARTS / chart / "dashboards").glob("*.json"))
    }


def _with_texts(thing: Object, texts: dict[str, str]) -> Object:
    if thing["kind"] != "ConfigMap":
        return thing
    data = cast("dict[str, str]", thing.get("data", {}))
    return thing | {"data": {key: texts.get(value, value) for key, value in data.items()}}


class _Dumper(yaml.SafeDumper):
    """Long texts as they are, and no references to what was said before."""

    def ignore_aliases(self, data: object) -> bool:
        del data
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    block = "\n" in text.rstrip("\n") and not any(line != line.rstrip() for line in text.split("\n"))
    return dumper.represent_scalar(  # pyright: ignore[reportUnknownMemberType] - its stub leaves the value bare
        "tag:yaml.org,2002:str", text, style="|" if block else None
    )


_Dumper.add_representer(str, _text)


def _yaml(thing: Object) -> str:
    return yaml.dump(thing, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)
