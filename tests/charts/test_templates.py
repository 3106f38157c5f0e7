"""How the templates are written: so that the oldest helm of docs/install.md reads them."""

import re
from pathlib import Path

import pytest

from builders.charts.goldens import CHARTS as FOLDER

TEMPLATES = sorted(
    file
    for chart in FOLDER.iterdir()
    for file in (chart / "templates").rglob("*")
    if file.is_file() and not file.is_symlink()
)
COMMENT = re.compile(r"\{\{-?\s*/\*.*?\*/\s*-?\}\}", re.DOTALL)
ACTION = re.compile(r"\{\{.*?\}\}", re.DOTALL)
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
CALLED = re.compile(r"(?=(?:\{\{-?|\(|\||=|\b(?:if|with|range)\b)\s*([A-Za-z]\w*))")

KEYWORDS = {"if", "else", "end", "with", "range", "define", "true", "false"}
IN_HELM_3_1 = {
    *("and", "or", "not", "eq", "ne", "gt", "index", "len", "printf"),
    *("include", "lookup", "fail", "toYaml", "fromYaml", "toJson", "fromJson"),
    *("append", "concat", "first", "has", "list", "prepend", "rest", "sortAlpha", "uniq"),
    *("deepCopy", "dict", "get", "hasKey", "merge", "mergeOverwrite", "set"),
    *(
        "add",
        "b64enc",
        "base",
        "join",
        "nindent",
        "quote",
        "regexFind",
        "regexMatch",
        "regexReplaceAll",
        "replace",
    ),
    *("sha256sum", "splitList", "toString", "trim", "trimPrefix", "trimSuffix"),
    *("default", "empty", "int", "kindIs", "semverCompare", "ternary"),
}
"""Of Go 1.13, sprig 3.0.2 and helm itself."""


def actions_of(file: Path) -> list[str]:
    return ACTION.findall(COMMENT.sub("", file.read_text("utf-8")))


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_no_action_goes_over_the_end_of_its_line(file: Path) -> None:
    """Helm before 3.6 is built with a Go that ends with `unclosed action` there."""
    assert [each for each in actions_of(file) if "\n" in each] == []


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_every_function_is_known_to_the_oldest_helm(file: Path) -> None:
    called = {name for each in actions_of(file) for name in CALLED.findall(TEXT.sub('""', each))}
    assert called - KEYWORDS - IN_HELM_3_1 == set()


def test_the_functions_are_found_where_they_are_called() -> None:
    action = '{{- if and (dig "a" .) (not .b | chunk "or (x") }}'
    assert set(CALLED.findall(TEXT.sub('""', action))) == {"if", "and", "dig", "not", "chunk"}
