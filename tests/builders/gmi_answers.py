"""What `mthreads-gmi` prints, in the shapes seen on real machines, and a tool that prints it."""

import json
from pathlib import Path

from builders.mtml_twin import uuid_of

BUSES = ("03", "24", "44", "63", "83", "a3", "c3", "e3")


def card(index: int, **changes: object) -> dict[str, object]:
    return {
        "Index": str(index),
        "Product Name": "MTT S5000",
        "Product Brand": "MTT",
        "GPU UUID": uuid_of(index),
        "PCI": {"Bus ID": f"00000000:{BUSES[index % 8]}:00.0"},
        "FB Memory Usage": {"Total": "81920MiB", "Used": "66641MiB", "Free": "15279MiB"},
        "Utilization": {"Gpu": "42%", "Memory": "81%", "Encoder": "0%", "Decoder": "N/A"},
        "Temperature": {"GPU Current Temp": "34C"},
        "Power Readings": {"Power Draw ": "367.49W", "Current Power Limit": "950.00W"},
        "Clocks": {"Graphics": "1750MHz", "Memory": "2000MHz", "Video": "N/A"},
        **changes,
    }


def query(*cards: dict[str, object]) -> str:
    answer = {
        "Timestamp": "Mon Nov  2 09:30:00 2026",
        "Driver Version": "3.3.8-server",
        "Attached GPUs": str(len(cards)),
        "GPU": list(cards),
    }
    return json.dumps(answer, indent=4)


RULER = "-" * 69
SUMMARY = f"""Mon Nov  2 09:30:00 2026
{RULER}
    mthreads-gmi:2.3.2           Driver Version:3.3.5-server
{RULER}
ID   Name                 |PCIe                |%GPU  Mem
     Device Type   Perf   |Pcie Lane Width     |Temp  MPC Capable
                                               |      ECC Mode
+-------------------------------------------------------------------+
0    MTT S5000            |00000000:03:00.0    |0%    66641MiB(81920MiB)
     Physical      P0     |16x(16x)            |52C   YES
                                               |      On-die, EDC
{RULER}

{RULER}
Processes:
ID   PID       Process name                         GPU Memory
                                                         Usage
+-------------------------------------------------------------------+
0    4711      python3 -m vllm serve --port 8000      66000MiB
0    4712      /usr/bin/worker                          641MiB
3    99        x                                           N/A
{RULER}
"""
IDLE_SUMMARY = SUMMARY[: SUMMARY.index("0    4711")] + f"No running processes found\n{RULER}\n"


def matrix(size: int = 8, *, bonded: int = 2) -> str:
    """GPUs only, every pair joined by that many links, or by PCIe alone when none."""

    def word(one: int, other: int) -> str:
        if one == other:
            return "X"
        if bonded:
            return f"MT{bonded}"
        return "NODE" if one // 4 == other // 4 else "SYS"

    lines = ["\t" + "\t".join(f"GPU{at}" for at in range(size))]
    lines += [f"GPU{one}\t" + "\t".join(word(one, other) for other in range(size)) for one in range(size)]
    return "\n".join([*lines, "", "Legend:", "  X    = Self", "  MTx  = x bonded MTLinks", ""])


class FakeGmi:
    """A program that prints prepared answers, each with its exit code; anything else ends with 5 and a complaint."""

    def __init__(self, folder: Path) -> None:
        self._answers = folder / "gmi-answers"
        self._answers.mkdir()
        self.binary = folder / "mthreads-gmi"
        self.binary.write_text(
            f"""#!/bin/sh
answer="{self._answers}/answer$(echo "$*" | tr ' ' '_')"
echo "$*" >> "{folder}/gmi-calls"
[ -e "$answer.run" ] && . "$answer.run"
[ -e "$answer" ] || {{ echo "Error: unknown command"; exit 5; }}
cat "$answer"
exit "$(cat "$answer.code")"
"""
        )
        self.binary.chmod(0o755)
        self._calls = folder / "gmi-calls"

    def prints(self, arguments: str, text: str, code: int = 0, *, first: str = "") -> None:
        """`first` is shell to run before printing."""
        answer = self._answers / f"answer{arguments.replace(' ', '_')}"
        answer.write_text(text)
        Path(f"{answer}.code").write_text(str(code))
        Path(f"{answer}.run").write_text(first)

    @property
    def calls(self) -> list[str]:
        return self._calls.read_text().splitlines() if self._calls.exists() else []
