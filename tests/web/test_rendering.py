"""What templates may call, and what they cannot forget."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from builders.dashboards import NOW, asked, viewer
from tangram.web.language import Language
from tangram.web.rendering import NOTHING, Rendering, address_of, ago_text, percent_text, when_text


def _shown(folder: Path, text: str, **values: object) -> str:
    (folder / "one.html").write_text(text, "utf-8")
    rendering = Rendering(lambda name: f"/static/{name}", folder)
    return rendering.page("one.html", values, asked("/nodes/a b", query={"q": "<x>"})).decode()


def test_values_are_escaped(tmp_path: Path) -> None:
    said = _shown(tmp_path, '<a title="{{ bad }}">{{ bad }}</a>', bad="\"'><script>")
    assert said == '<a title="&#34;&#39;&gt;&lt;script&gt;">&#34;&#39;&gt;&lt;script&gt;</a>'


def test_a_name_that_nobody_gave_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UndefinedError, match="nobody"):
        _shown(tmp_path, "{{ nobody }}")


def test_templates_see_who_looks_and_where(tmp_path: Path) -> None:
    text = "{{ viewer.user.name }} {{ path }} {{ here }} {{ static('a.js') }} {{ memory(1024 ** 3) }}"
    assert _shown(tmp_path, text) == "alice /nodes/a b /nodes/a%20b?q=%3Cx%3E /static/a.js 1 GiB"


@pytest.mark.parametrize(
    ("share", "said"),
    [(0, "0%"), (0.0001, "<1%"), (0.5, "50%"), (0.9999, ">99%"), (1, "100%"), (math.nan, NOTHING)],
)
def test_a_share_never_pretends_to_be_nothing_or_all(share: float, said: str) -> None:
    assert percent_text(share) == said


@pytest.mark.parametrize(
    ("passed", "said"),
    [(0.2, "just now"), (1, "1 second ago"), (59.9, "59 seconds ago"), (60, "1 minute ago"), (7200, "2 hours ago"),
     (86_400 * 3, "3 days ago"), (-50, "just now")],
)  # fmt: skip
def test_how_long_ago(passed: float, said: str) -> None:
    assert ago_text(Language.ENGLISH, NOW, NOW - passed) == said


@given(st.floats())
def test_any_moment_can_be_said(unix: float) -> None:
    when_text(unix)
    ago_text(Language.CHINESE, NOW, unix)
    percent_text(unix)


@given(st.text(), st.dictionaries(st.text(), st.text(), max_size=3))
def test_an_address_of_ours_is_always_plain(path: str, query: dict[str, str]) -> None:
    found = address_of(f"/{path}", **query)
    assert found.isascii()
    assert found.isprintable()
    assert not set(found) & set('<>"\\ ')


def test_the_theme_and_language_are_on_the_page() -> None:
    rendering = Rendering(lambda name: f"/static/{name}")
    values = {"title": "T", "sentence": "S", "sentence_language": "", "stamp": "1"}
    page = rendering.page(
        "error.html", values, asked(by=viewer(language=Language.CHINESE, theme="dark"))
    ).decode()
    assert '<html lang="zh-CN" data-theme="dark">' in page
