"""The help of daemons and of what goes with them teaches by examples that can be pasted."""

import pytest

from builders.commands import run


@pytest.mark.parametrize(
    "command",
    [
        "gpu-device",
        "gpu-label",
        "driver-manager",
        "operator",
        "status operator",
        "gpu-aware",
        "gpu-aware enable",
        "gpu-aware disable",
        "cordon",
        "uncordon",
    ],
)
def test_help_shows_examples_and_exit_statuses(command: str) -> None:
    answer = run(*command.split(), "--help")
    assert answer.status == 0
    examples = [line for line in answer.out.splitlines() if line.startswith("  tangram ")]
    assert len(examples) >= 3
    assert all(
        line.startswith(f"  tangram {command} ") or line == f"  tangram {command}" for line in examples
    )
    assert "Exit status: 0" in answer.out
    assert max(len(line) for line in answer.out.splitlines()) <= 80
