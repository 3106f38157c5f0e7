"""The openb trace as typed records.

The files differ in their columns (the multigpu ones stop early) and use empty fields for "any", so reading them is
done once, here. Units stay those of the files, because published results are stated in them.
"""

import csv
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent / "data" / "openb"

WORKLOADS = ("default", "gpushare100", "gpuspec33", "multigpu50")


class TraceNode(NamedTuple):
    name: str
    cpu_milli: int
    memory_mib: int
    cards: int
    model: str


class TracePod(NamedTuple):
    name: str
    cpu_milli: int
    memory_mib: int
    cards: int
    card_milli: int
    """Thousandths of each card; 1000 is a whole one. 0 when the pod wants no card."""
    models: frozenset[str]
    """Card models the pod accepts; empty accepts any."""

    @property
    def demand_milli(self) -> int:
        """What the pod asks of all cards together."""
        return self.cards * self.card_milli


def read_nodes() -> list[TraceNode]:
    """All nodes with cards, in file order."""
    with (FOLDER / "openb_node_list_gpu_node.csv").open(encoding="utf-8", newline="") as file:
        return [
            TraceNode(row["sn"], int(row["cpu_milli"]), int(row["memory_mib"]), int(row["gpu"]), row["model"])
            for row in csv.DictReader(file)
        ]


def read_pods(workload: str) -> list[TracePod]:
    """The pods of one workload, in file order."""
    with (FOLDER / f"openb_pod_list_{workload}.csv").open(encoding="utf-8", newline="") as file:
        return [
            TracePod(
                row["name"],
                int(row["cpu_milli"]),
                int(row["memory_mib"]),
                int(row["num_gpu"]),
                int(row["gpu_milli"]),
                frozenset(model for model in (row.get("gpu_spec") or "").split("|") if model),
            )
            for row in csv.DictReader(file)
        ]
