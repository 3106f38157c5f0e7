"""The viewer's language, as the picture asks for words."""

from __future__ import annotations

import msgspec

from tangram.web.catalogue import counted, said
from tangram.web.language import Language


class Speech(msgspec.Struct, frozen=True):
    language: Language

    def say(self, key: str, /, **values: object) -> str:
        return said(self.language, key, **values)

    def count(self, key: str, many: float, /, **values: object) -> str:
        return counted(self.language, key, many, **values)
