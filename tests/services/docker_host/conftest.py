from pathlib import Path

import pytest

from builders.docker_hosts import DockerHost


@pytest.fixture
def host(tmp_path: Path) -> DockerHost:
    """Eight C500 in two groups of four, MXMACA 2 and 3, of which 3 is in use."""
    made = DockerHost(tmp_path)
    made.install("2", "3")
    return made
