"""What is worked out in processes of their own is our code alone."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tangram.web import checking
from tangram.web.replay import running


@pytest.mark.parametrize("command", [checking.COMMAND, running.COMMAND], ids=["checks", "replay"])
def test_no_module_is_taken_from_the_folder_that_somebody_stands_in(
    tmp_path: Path, command: Sequence[str]
) -> None:
    for name in ("msgspec", "asyncio", "tangram"):
        (tmp_path / f"{name}.py").write_text("open('taken', 'w')\nraise SystemExit(99)\n", "utf-8")
    ended = subprocess.run(
        command,
        cwd=tmp_path,
        input=b"",
        capture_output=True,
        check=False,
        env={"KUBECONFIG": str(tmp_path / "none")},
        timeout=60,
    )
    assert not (tmp_path / "taken").exists()
    assert ended.returncode != 99, ended.stderr
