from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.plugins import short_directory


@pytest.fixture
def directory() -> Iterator[Path]:
    with short_directory() as made:
        yield made
