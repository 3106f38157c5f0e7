"""Everything can be read in both themes: the colours of the style sheet are held to WCAG's AA by arithmetic."""

from __future__ import annotations

import re

import pytest

from tangram.web.static_files import FOLDER

_PAIR = re.compile(r"--([a-z0-9-]+):\s*light-dark\(\s*(#[0-9a-f]{6})\s*,\s*(#[0-9a-f]{6})\s*\)")
_COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(")
_ANY_NAME = re.compile(r"var\(--([a-z0-9-]+)")
TOKENS = {
    name: (light, dark)
    for name, light, dark in _PAIR.findall(FOLDER.joinpath("tokens.css").read_text("utf-8"))
}
THEMES = ("light", "dark")
TEXT = 4.5
SHAPES = 3.0
GROUNDS = ("ground", "panel", "raised", "sunk")
READ_ON = [
    *((ink, ground) for ink in ("ink", "ink-soft", "ink-faint", "accent") for ground in GROUNDS),
    *((state, ground) for state in ("good", "warn", "bad") for ground in ("ground", "panel", "raised")),
    *((state, f"{state}-soft") for state in ("good", "warn", "bad")),
    *(("ink", soft) for soft in ("accent-soft", "good-soft", "warn-soft", "bad-soft")),
    ("ink-faint", "bad-soft"),
    ("ink-faint", "warn-soft"),
    ("accent-ink", "accent"),
]
TOLD_APART = [
    *(("line-strong", ground) for ground in ("panel", "raised", "ground", "warn-soft", "bad-soft")),
    *(("accent-mid", ground) for ground in ("panel", "raised")),
    ("accent-deep", "accent-mid"),
    ("accent", "sunk"),
]


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_the_arithmetic_is_that_of_wcag() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("ink", "ground"), READ_ON)
def test_text_is_readable(ink: str, ground: str, theme: str) -> None:
    which = THEMES.index(theme)
    assert contrast(TOKENS[ink][which], TOKENS[ground][which]) >= TEXT


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("shape", "ground"), TOLD_APART)
def test_shapes_are_told_from_their_ground(shape: str, ground: str, theme: str) -> None:
    which = THEMES.index(theme)
    assert contrast(TOKENS[shape][which], TOKENS[ground][which]) >= SHAPES


def _of_pages() -> list[tuple[str, str, str, str]]:
    """Colours that only one page needs, such as those of its owners and links."""
    return [
        (path.name, *found)
        for path in sorted(FOLDER.glob("*.css"))
        if path.name != "tokens.css"
        for found in _PAIR.findall(path.read_text("utf-8"))
    ]


@pytest.mark.parametrize(("sheet", "name", "light", "dark"), _of_pages())
def test_shapes_of_one_page_are_told_from_a_panel_too(sheet: str, name: str, light: str, dark: str) -> None:
    del sheet, name
    assert contrast(light, TOKENS["panel"][0]) >= SHAPES
    assert contrast(dark, TOKENS["panel"][1]) >= SHAPES


@pytest.mark.parametrize("sheet", ["style.css", "parts.css", "cluster.css"])
def test_colours_are_written_down_in_one_place(sheet: str) -> None:
    text = FOLDER.joinpath(sheet).read_text("utf-8")
    # The veil behind a dialog is no colour of anything that is read.
    assert set(_COLOUR.findall(text.replace("rgb(10 14 20 / 45%)", ""))) == set()


def test_every_style_sheet_uses_names_that_exist() -> None:
    sheets = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.css")}
    defined = {name for text in sheets.values() for name in re.findall(r"--([a-z0-9-]+)\s*:", text)}
    # Set by scripts.
    defined |= {"width", "height"}
    unknown = {
        (sheet, name)
        for sheet, text in sheets.items()
        for name in _ANY_NAME.findall(text)
        if name not in defined
    }
    assert unknown == set()
