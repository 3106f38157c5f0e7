"""What the real kube-apiserver said to each case, kept for machines without one.

`e2e/test_contract.py` holds it to the truth; with TANGRAM_RECORD_CONTRACT=1 it writes it anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).resolve().parents[1] / "data" / "captures" / "contract.json"
RECORD: Final = "TANGRAM_RECORD_CONTRACT"


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
