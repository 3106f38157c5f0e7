"""Only the host's PID namespace has a number for every process."""

from pathlib import Path

import pytest

from tangram.drivers.pid_namespace import sees_every_process


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        pytest.param("pid:[4026531836]", True, id="the-hosts"),
        pytest.param("pid:[4026532451]", False, id="a-containers"),
        pytest.param("", False, id="no-such-file"),
    ],
)
def test_the_namespace_of_this_process_decides(tmp_path: Path, target: str, *, expected: bool) -> None:
    namespaces = tmp_path / "self/ns"
    namespaces.mkdir(parents=True)
    if target:
        (namespaces / "pid").symlink_to(target)
    assert sees_every_process(tmp_path) is expected
