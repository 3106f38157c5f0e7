"""What the real kube-apiserver said to each case, kept for machines without one.

`e2e/test_contract.py` holds it to the truth; with RECORD=1 it writes it anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).resolve().parents[1] / "data" / "captures" / "contract.json"
RECORD: Final = "RECORD"


def read_record() -> dict[str, Any]:
    """The observations by the name of their case."""
    return json.loads(FILE.read_text("utf-8"))


def write_record(observations: Mapping[str, Any]) -> None:
    """One line for each case, so that a change of the truth is a readable change of the file."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(seen, sort_keys=True, ensure_ascii=False)}"
        for name, seen in sorted(observations.items())
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


VERBS: Final = FILE.with_name("kubectl.json")


def read_verbs() -> dict[str, dict[str, Any]]:
    """What kubectl printed against the real server: by release, then by session, one entry for each step."""
    return json.loads(VERBS.read_text("utf-8"))


def write_verbs(heard: Mapping[str, Mapping[str, Any]]) -> None:
    """One line for each session."""
    releases = [
        f"{json.dumps(release)}: {{\n"
        + ",\n".join(
            f"{json.dumps(name)}: {json.dumps(steps, sort_keys=True)}" for name, steps in sessions.items()
        )
        + "\n}"
        for release, sessions in heard.items()
    ]
    VERBS.write_text("{\n" + ",\n".join(releases) + "\n}\n", encoding="utf-8")
