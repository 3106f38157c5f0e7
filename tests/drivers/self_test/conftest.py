"""A twin library per test, in a folder of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from builders.mxsml_twin import RULES, SYSFS, Machine, Twin


@pytest.fixture
def twin_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Machine], Twin]:
    monkeypatch.setenv(RULES, "")
    monkeypatch.setenv(SYSFS, "")
    return lambda machine: Twin(tmp_path, machine)
