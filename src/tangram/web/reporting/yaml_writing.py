"""Manifests as YAML that every reader takes for the same: kubectl's, this program's and people's.

Readers of YAML disagree about plain words: `1e3` is text to one and a thousand to the next, `y` is a letter or a yes.
So a text stays plain only where nobody could take it for anything else. Nothing is written as an alias, and what was
JSON comes back as the same JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import yaml

_PLAIN: Final = re.compile(
    r"[A-Za-z/](?:[A-Za-z0-9_./:@-]*[A-Za-z0-9_/])?(?: [A-Za-z0-9_./=-]+)*|[0-9]+(?:[KMGT]i|m)"
)
_WORDS: Final = frozenset(
    ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity")
)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        del data
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: FBT001, FBT002 - the library's
        del indentless
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
    style = None
    if "\n" in data and _is_block(data):
        style = "|"
    elif not _PLAIN.fullmatch(data) or data.lower() in _WORDS:
        style = "'" if data.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)  # pyright: ignore[reportUnknownMemberType] - the stubs do not say


def _is_block(data: str) -> bool:
    """Whether every line may stand for itself."""
    return all(
        line == line.rstrip() and all(each.isprintable() for each in line) for line in data.split("\n")
    )


_Dumper.add_representer(str, _text)


def yaml_text(manifest: Mapping[str, object]) -> str:
    """The manifest as a person would keep it, in the order in which it came."""
    return yaml.dump(
        dict(manifest),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=1000,
        default_flow_style=False,
    )
