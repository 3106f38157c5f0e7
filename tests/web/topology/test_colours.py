"""Colours of the picture: each can be told from what it is drawn on, in both themes."""

import re

import pytest

from tangram.web.static_files import FOLDER

PAIR = re.compile(r"--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")
TOKENS = {
    name: (light, dark)
    for file in ("tokens.css", "node.css")
    for name, light, dark in PAIR.findall((FOLDER / file).read_text(encoding="utf-8"))
}
DRAWN = [name for name in TOKENS if name.startswith(("own-", "link-"))]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("ground", ["panel", "sunk", "ground"])
@pytest.mark.parametrize("name", DRAWN)
def test_shares_and_links_stand_out_from_their_ground(name: str, ground: str) -> None:
    assert all(contrast(TOKENS[name][theme], TOKENS[ground][theme]) >= 3 for theme in (0, 1))


def test_colours_are_named_in_the_style_sheet_by_tokens_alone() -> None:
    text = (FOLDER / "node.css").read_text(encoding="utf-8")
    assert not re.search(r"#[0-9a-f]{3,6}", PAIR.sub("", text))
    assert len(DRAWN) == 11
