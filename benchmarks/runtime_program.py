"""What the runtime wrapper adds to the start of a container.

Every container of a node is created through it, so it has five milliseconds at most. The program that it becomes is one
that ends at once: runc itself would hide the difference in its own noise. Calls with and without the wrapper take
turns, so that whatever else the machine does happens to both, and the medians are compared.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

BUDGET_MS = 5.0
ROUNDS = 200
REPOSITORY = Path(__file__).resolve().parents[1]

sys.path.insert(0, str(REPOSITORY))

from e2e.programs_kit import host_programs  # noqa: E402 - the repository's own modules are found only now
from shipping.image.errors import ImageError  # noqa: E402 - the same


def config(*, card: bool) -> dict[str, object]:
    """About as large as what containerd writes for a pod's container with eight cards."""
    nodes = (
        ["/dev/mxcd", *(f"/dev/dri/renderD{128 + number}" for number in range(8))] if card else ["/dev/null"]
    )
    names = ["read", "write", "openat", "close", "mmap", "futex", "epoll_wait", "clone3"] * 60
    return {
        "ociVersion": "1.2.0",
        "process": {"args": ["sleep", "1"], "env": [f"VARIABLE_{number}={'x' * 80}" for number in range(60)]},
        "root": {"path": "rootfs"},
        "mounts": [
            {
                "destination": f"/mounted/{number}",
                "type": "bind",
                "source": f"/var/lib/kubelet/pods/0000/volumes/{number}",
                "options": ["rbind", "rprivate", "rw"],
            }
            for number in range(30)
        ],
        "annotations": {f"io.kubernetes.cri.{number}": "x" * 40 for number in range(20)},
        "linux": {
            "devices": [{"path": path, "type": "c", "major": 234, "minor": 0} for path in nodes],
            "seccomp": {
                "defaultAction": "SCMP_ACT_ERRNO",
                "syscalls": [{"names": names, "action": "SCMP_ACT_ALLOW"}],
            },
        },
    }


def milliseconds(command: Sequence[str | Path], environment: dict[str, str]) -> float:
    """One call, from start to end."""
    began = time.perf_counter()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1000


def measured(folder: Path, rounds: int) -> dict[str, tuple[float, float]]:
    """The medians of each case, without and with the wrapper."""
    for name in ("maca-2.23.0.4", "mxdriver-2.32.0"):
        (folder / name).mkdir()
    for name, target in (("maca", "maca-2.23.0.4"), ("mxdriver", "mxdriver-2.32.0")):
        (folder / name).symlink_to(target)
    real, wrapper = "/bin/true", host_programs() / "mx-container-runtime"
    settings = folder / "runtime.json"
    folders = [str(folder / "maca"), str(folder / "mxdriver")]
    settings.write_text(json.dumps({"runtime": real, "folders": folders, "log": str(folder / "log")}))
    environment = {**os.environ, "MX_CONTAINER_RUNTIME_SETTINGS": str(settings)}
    found: dict[str, tuple[float, float]] = {}
    for case, card in (("--version", None), ("create, no card", False), ("create, a card", True)):
        words = ["--version"] if card is None else ["--root", "/run", "create", "--bundle", str(folder), "id"]
        text = json.dumps(config(card=bool(card)))
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(rounds):
            for program, kept in zip((real, wrapper), times, strict=True):
                (folder / "config.json").write_text(text)
                kept.append(milliseconds([program, *words], environment))
        found[case] = (statistics.median(times[0]), statistics.median(times[1]))
    return found


def main() -> int:
    """Print one line for each case; 1 if one is over the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="calls of each kind")
    rounds = parser.parse_args().rounds
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = measured(Path(folder), rounds)
    except ImageError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{'':<18}{'alone':>9}{'wrapped':>10}{'added':>10}")
    for case, (alone, wrapped) in found.items():
        print(f"{case:<18}{alone:>6.2f} ms{wrapped:>7.2f} ms{wrapped - alone:>7.2f} ms")
    worst = max(wrapped - alone for alone, wrapped in found.values())
    if worst > BUDGET_MS:
        load, cores = os.getloadavg()[0], os.cpu_count()
        print(
            f"The wrapper adds {worst:.2f} ms to a start: it may add {BUDGET_MS:.0f} ms. (The machine has a load of "
            f"{load:.1f} on {cores} cores: a busy one proves nothing.)",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
