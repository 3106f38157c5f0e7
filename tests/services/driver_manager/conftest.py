import os
from pathlib import Path

import pytest

from builders.driver_hosts import Host


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test writes need not survive the machine."""

    def nothing(_number: int) -> None:
        pass

    monkeypatch.setattr(os, "fsync", nothing)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path / "host")
