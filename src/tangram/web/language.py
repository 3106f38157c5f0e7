"""Both languages, side by side in every catalogue, so that a sentence cannot exist in one of them only.

A catalogue in `words/` is a dict from a key to a pair, English first; a key with a number in it has English for one
and for many before the Chinese. What the engine says in English sentences also comes with codes and amounts, and is put
into Chinese from those; a sentence without a code is shown as it is, marked as English.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

Words = Mapping[str, tuple[str, str]]
CountedWords = Mapping[str, tuple[str, str, str]]
"""One, many, Chinese: ("{n} node", "{n} nodes", "{n} 个节点")."""


class Language(StrEnum):
    """Values are what the `lang` attribute of a page says."""

    ENGLISH = "en"
    CHINESE = "zh-CN"
