"""A docker that starts nothing: it writes down how it was called, and answers what a test has put beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

MAIN = "import sys; from tangram.cli.docker.entry import main; sys.argv[0] = 'metax-docker'; main()"
_SCRIPT = """#!/bin/sh
D={folder}
n=$(ls "$D/calls" | wc -l)
printf '%s\\0' "$@" > "$D/calls/$(printf %04d "$n")"
for word in "$@"; do
  if [ -e "$D/answers/$word" ]; then cat "$D/answers/$word"; exit 0; fi
  case $word in run|create) break;; esac
done
{last}
"""


@dataclass
class RecordedDocker:
    folder: Path
    last: str = "echo started; exit 0"
    """What it does when asked to run."""
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        for name in ("calls", "answers", "bin", "home"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.answer("version", "20.10.24\n20.10.24\n")
        self.answer("info", "{}")
        self.answer("ps", "")
        self.act(self.last)

    def act(self, last: str, name: str = "docker") -> None:
        program = self.folder / "bin" / name
        program.write_text(_SCRIPT.format(folder=self.folder, last=last))
        program.chmod(0o755)

    def answer(self, word: str, text: str) -> None:
        (self.folder / "answers" / word).write_text(text)

    def cards(self, description: Mapping[str, object]) -> None:
        file = self.folder / "cards.yaml"
        file.write_text(json.dumps({"tangram": "cards/v1", **description}))
        self.environment["TANGRAM_DRIVER"] = f"simulated:{file}"

    @property
    def calls(self) -> list[list[str]]:
        """Every call's words, the first call first."""
        files = sorted((self.folder / "calls").iterdir())
        return [file.read_text(errors="surrogateescape").split("\0")[:-1] for file in files]

    @property
    def everything(self) -> dict[str, str]:
        """The environment of whoever calls it."""
        kept = {
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "HOME": str(self.folder / "home"),
            "METAX_DOCKER_RUN_DIR": str(self.folder / "run"),
        }
        return {**kept, **self.environment}

    def run(self, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """`metax-docker` with these words, as a process of its own."""
        return subprocess.run(
            [sys.executable, "-c", MAIN, *words],
            env=self.everything,
            input=stdin,
            capture_output=True,
            check=False,
            cwd=self.folder,
        )
