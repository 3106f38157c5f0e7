"""Every sentence exists in both languages, and every sentence that a template names exists."""

from __future__ import annotations

import re
from string import Formatter

import pytest
from markupsafe import Markup

from tangram.web.catalogue import catalogue, counted, said
from tangram.web.language import Language
from tangram.web.rendering import TEMPLATES

_NAMED = re.compile(r"""\b(t|n)\(\s*"([^"{}]+)"\s*[,)]""")


def _places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_every_key_has_both_languages_with_the_same_places() -> None:
    found = catalogue()
    for key, texts in {**found.words, **found.counted}.items():
        assert all(text.strip() for text in texts), key
        assert len({frozenset(_places(text) - {"n"}) for text in texts}) == 1, key


def test_keys_begin_with_the_name_of_their_catalogue() -> None:
    found = catalogue()
    assert not [key for key in (*found.words, *found.counted) if "." not in key]


@pytest.mark.parametrize("template", sorted(TEMPLATES.glob("*.html")), ids=lambda path: path.name)
def test_every_key_that_a_template_names_is_in_a_catalogue(template: object) -> None:
    found = catalogue()
    text = TEMPLATES.joinpath(str(template)).read_text("utf-8")
    named = _NAMED.findall(text)
    missing = [key for kind, key in named if key not in (found.words if kind == "t" else found.counted)]
    assert missing == []


def test_what_is_put_into_a_sentence_with_markup_is_escaped() -> None:
    linked = said(Language.ENGLISH, "common.lost", when=Markup("<b>now</b>"))
    assert "<b>now</b>" in linked
    assert isinstance(linked, Markup)
    plain = said(Language.ENGLISH, "common.lost", when="<b>now</b>")
    assert not isinstance(plain, Markup)


def test_english_has_one_and_many() -> None:
    assert counted(Language.ENGLISH, "common.minutes_ago", 1) == "1 minute ago"
    assert counted(Language.ENGLISH, "common.minutes_ago", 2) == "2 minutes ago"
    assert counted(Language.CHINESE, "common.minutes_ago", 1) == "1 分钟前"
