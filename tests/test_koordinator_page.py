"""Every test that the page on Koordinator names is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "koordinator.md"
NAMED = re.compile(r"`(?P<file>tests/[\w/]+\.py)::(?P<test>test_\w+)`")


def test_the_tests_that_hold_us_to_koordinator_exist() -> None:
    named = {(found["file"], found["test"]) for found in NAMED.finditer(PAGE.read_text("utf-8"))}
    missing = [
        f"{file}::{test}"
        for file, test in sorted(named)
        if not re.search(rf"^(async )?def {test}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)
    ]
    assert len(named) > 20
    assert missing == []
