"""The four machines that every command is shown on: none, mixed, eight C500, eight S4000."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from builders import mtml_twin, mxsml_twin
from builders.hosts import Host
from builders.places import Place
from builders.simulated import ManualClock
from tangram.drivers.simulated import opening
from tangram.drivers.simulated.description import Description
from tangram.drivers.simulated.world import World

POD = "0f3b2a1c-1111-2222-3333-444455556666"
MIXED = """
tangram: cards/v1
name: mixed
cards:
  - {product: C500, count: 4, links: full-mesh, sliced: true, load: 60}
  - {product: S4000, count: 4, links: pairs, numa: [0, 0, 1, 1]}
faults:
  - {card: 2, fault: ecc}
"""


@pytest.fixture
def simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Place]:
    """Cards whose time stands still: their figures move with it, and an answer must not depend on when it came."""

    def still(description: Description, _clock: object) -> World:
        return World(description, ManualClock())

    monkeypatch.setattr(opening, "World", still)

    def described(text: str) -> Place:
        file = tmp_path / "cards.yaml"
        file.write_text(text)
        host = Host(tmp_path / "host")
        host.folder("/")
        return Place(f"simulated:{file}", host.root)

    return described


@pytest.fixture
def mixed(simulated: Callable[[str], Place]) -> Place:
    return simulated(MIXED)


@pytest.fixture
def metax_twin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Place]:
    monkeypatch.setenv(mxsml_twin.RULES, "")
    monkeypatch.setenv(mxsml_twin.SYSFS, "")

    def make(machine: mxsml_twin.Machine, *, left_out: Sequence[str] = ()) -> Place:
        root = tmp_path / "metax"
        root.mkdir()
        twin = mxsml_twin.Twin(root, machine, left_out=left_out, opened=[])
        host = Host(root)
        host.metax([card.bdf for card in machine.cards])
        host.kubernetes()
        return Place(f"mxsml:{twin.library}", root)

    return make


@pytest.fixture
def eight_c500(metax_twin: Callable[..., Place]) -> Place:
    machine = (
        mxsml_twin.c500()
        .with_slice(
            0,
            0,
            memory=16384,
            compute=25,
            minor=22,
            used=3 << 30,
            usage=1234,
            alias="notebook",
            uuid="s0",
        )
        .with_slice(0, 3, memory=8192, compute=10, minor=23, alias="idle", uuid="s3")
        .with_process(4100, 0, slice=0, memory=3 << 30, name="python3")
        .with_process(4242, 4, memory=40 << 30, name="train.py")
    )
    place: Place = metax_twin(machine)
    host = Host(place.root)
    host.folder(f"/var/log/pods/ai_train-0_{POD}")
    host.write("/proc/4242/cgroup", f"0::/kubepods/burstable/pod{POD}/main\n")
    return place


@pytest.fixture
def mthreads_twin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Place]:
    def make(machine: mtml_twin.Machine, *, left_out: Sequence[str] = ()) -> Place:
        root = tmp_path / "mthreads"
        root.mkdir()
        twin = mtml_twin.Twin(root, machine)
        monkeypatch.setenv(mtml_twin.VARIABLE, str(twin.file))
        library = root / "libmtml.so.2"
        library.symlink_to(mtml_twin.twin_library(left_out=tuple(left_out)))
        host = Host(root)
        host.mthreads([card.sbdf.removeprefix("0000") for card in machine.cards])
        host.kubernetes("mt-gpu-scheduler-0", "mt-mutating-webhook-5d9f-x2x")
        return Place(f"mtml:{library}", root)

    return make


@pytest.fixture
def eight_s4000(mthreads_twin: Callable[..., Place]) -> Place:
    place: Place = mthreads_twin(mtml_twin.eight_s4000(mtml_twin.two_islands()))
    host = Host(place.root)
    for name, text in {"id": "128", "memsize": str(16 << 30), "weight": "8"}.items():
        host.write(f"/proc/sgpu_km/0/3f1c2a9b7d5e/{name}", f"{text}\n")
    host.write("/proc/sgpu_km/0/3f1c2a9b7d5e/meminfo", f"Free: {12 << 30}\nPID: 5150 Mem: {4 << 30}\n")
    return place
