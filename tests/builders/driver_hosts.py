"""A host with cards for the driver manager: a kernel, a disk, a node object, and a process that can be killed anywhere.

What outlives a process (kernel, disk, node) stands apart from what does not, so that a test can end it between any two
operations and start it again.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, TypeVar

from builders.fake_driver import FakeDriver, metax_card
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.modules.protocol import FunctionState, LoadedModule, LoaderCode, LoaderError
from tangram.drivers.protocol import Driver
from tangram.kube.recorder import Event
from tangram.model.devices import Health
from tangram.services.driver_manager.decisions import Decision
from tangram.services.driver_manager.disk import Disk
from tangram.services.driver_manager.doing import Doer
from tangram.services.driver_manager.facts import Busy, Wish
from tangram.services.driver_manager.looking import Looker
from tangram.services.driver_manager.manager import Manager
from tangram.services.driver_manager.metrics import Metrics
from tangram.services.driver_manager.own_node import TRUE, OwnNode
from tangram.services.driver_manager.recovering import recover
from tangram.services.driver_manager.reporting import FALSE, MODES
from tangram.services.driver_manager.staged import ARCHITECTURES, Checks
from tangram.services.driver_manager.telling import Telling
from tangram.units.ids import CardUuid, NodeName
from tangram.units.na import Maybe
from tangram.wire.operator import names
from tangram.wire.operator.node_states import DriverState, Phase, read_state, state_text
from tangram.wire.operator.payloads import (
    Payload,
    PayloadFile,
    PayloadKind,
    module_path,
    payload_folder,
    payload_text,
)
from tangram.wire.operator.policies import DeployPolicy

NODE = NodeName("gpu-1")
KERNEL = "5.15.0-91-generic"
BDFS: tuple[str, ...] = ("0000:10:00.0", "0000:11:00.0")

_Answer = TypeVar("_Answer")


class Killed(BaseException):
    """The end of the process, as by kill -9: nothing of ours may catch it."""


class Fuse:
    """Burns at the operation of that number; 0 never."""

    def __init__(self, left: int = 0, burns: BaseException | None = None) -> None:
        self.left = left
        self.passed = 0
        self._burns = burns or Killed()

    def point(self) -> None:
        self.passed += 1
        if self.left:
            self.left -= 1
            if not self.left:
                raise self._burns


class FusedDisk(Disk):
    """Every operation can be the last, before and after it, and a file may be left half written."""

    def __init__(self, root: Path, fuse: Fuse) -> None:
        super().__init__(root)
        self._fuse = fuse
        self.full = False

    def refuse_at(self, number: int) -> None:
        """Let the operation of that number fail, once, as on a disk without room."""
        self._fuse = Fuse(number, OSError(28, "No space left on device"))

    def _around(self, work: Callable[[], _Answer]) -> _Answer:
        self._fuse.point()
        answer = work()
        self._fuse.point()
        return answer

    def make_folder(self, path: str, mode: int = 0o755) -> None:
        self._around(lambda: super(FusedDisk, self).make_folder(path, mode))

    def copy(self, source: BinaryIO, path: str, mode: int) -> tuple[str, int]:
        return self._around(lambda: super(FusedDisk, self).copy(source, path, mode))

    def write(self, path: str, content: bytes, mode: int = 0o644) -> None:
        self._around(lambda: super(FusedDisk, self).write(path, content, mode))

    def link(self, path: str, target: str) -> None:
        self._around(lambda: super(FusedDisk, self).link(path, target))

    def rename(self, old: str, new: str) -> None:
        self._around(lambda: super(FusedDisk, self).rename(old, new))

    def remove(self, path: str) -> None:
        if self.is_there(path):
            self._around(lambda: super(FusedDisk, self).remove(path))

    def remove_tree(self, path: str) -> None:
        if not self.is_there(path):
            return
        self._fuse.point()
        # Half of it: whatever is first inside.
        inside = self.names_in(path) if self.is_folder(path) else ()
        if inside:
            super().remove_tree(f"{path}/{inside[0]}")
            self._fuse.point()
        super().remove_tree(path)
        self._fuse.point()

    def settle(self) -> None:
        self._fuse.point()

    def free(self, path: str) -> int:
        return 1 << 20 if self.full else super().free(path)

    def _put(self, file: BinaryIO, piece: bytes) -> None:
        file.write(piece[: len(piece) // 2])
        file.flush()
        self._fuse.point()
        file.write(piece[len(piece) // 2 :])


class FakeKernel:
    """A loader and the cards that its module drives. Refuses to unload while a pod holds a card, and remembers it."""

    name = "fake"

    def __init__(self, fuse: Fuse) -> None:
        self._fuse = fuse
        self.release = KERNEL
        self.loaded_version: str | None = None
        self.parameters: Mapping[str, str] = {}
        self.host: Maybe[str] | None = None
        self.split = dict.fromkeys(BDFS, 0)
        self.most = 8
        self.holders: tuple[str, ...] = ()
        self.violations: list[str] = []
        self.errors: dict[str, LoaderError] = {}
        """By call, or by call and version, as `load 2.33.0`."""
        self.broken: set[str] = set()
        """Versions with which a card does not start."""
        self.calls: list[str] = []

    def reboot(self) -> None:
        self.loaded_version, self.parameters = None, {}
        self.split = dict.fromkeys(BDFS, 0)

    def kernel(self) -> str:
        return self.release

    def loaded(self) -> LoadedModule | None:
        if self.loaded_version is None:
            return None
        return LoadedModule(name="metax", version=self.loaded_version, parameters=self.parameters)

    def of_host(self) -> Maybe[str] | None:
        return self.host

    def load_of_host(self) -> None:
        if not isinstance(self.host, str):
            raise LoaderError(LoaderCode.MISSING, "the host has no driver")
        self._load(self.host, {})

    def load(
        self, files: Sequence[Path], *, requires: Sequence[str] = (), parameters: Mapping[str, str]
    ) -> None:
        assert tuple(requires) == ("drm",)
        assert all(file.read_text().endswith("whole") for file in files)
        self._load(files[-1].read_text().split()[0], parameters)

    def _load(self, version: str, parameters: Mapping[str, str]) -> None:
        self._fuse.point()
        self.calls.append(f"load {version}")
        self._fail("load", version)
        for name in parameters:
            self._fail("parameter", name)
        if self.loaded_version is not None:
            raise LoaderError(LoaderCode.BUSY, "File exists")
        self.loaded_version, self.parameters = version, dict(parameters)
        self._fuse.point()

    def unload(self) -> None:
        self._fuse.point()
        if self.loaded_version is None:
            return
        if self.holders:
            self.violations.append(f"unloaded under {', '.join(self.holders)}")
        self._fail("unload", self.loaded_version)
        self.calls.append(f"unload {self.loaded_version}")
        self.reboot()
        self._fuse.point()

    def cards(self) -> tuple[str, ...]:
        return BDFS

    def functions(self) -> tuple[FunctionState, ...]:
        return tuple(FunctionState(bdf=bdf, now=now, most=self.most) for bdf, now in self.split.items())

    def set_functions(self, bdf: str, count: int) -> None:
        self._fuse.point()
        if self.holders:
            self.violations.append(f"split under {', '.join(self.holders)}")
        self._fail("split", bdf)
        self.calls.append(f"split {bdf} {count}")
        self.split[bdf] = count
        self._fuse.point()

    def _fail(self, call: str, what: str) -> None:
        for key in (call, f"{call} {what}"):
            if key in self.errors:
                raise self.errors[key]

    def open(self, _on_try: object) -> Driver:
        if self.loaded_version is None:
            raise DriverError(Kind.NO_DRIVER, "no driver is loaded")
        cards = [metax_card(at, bdf=bdf, driver_version=self.loaded_version) for at, bdf in enumerate(BDFS)]
        driver = FakeDriver(*cards)
        if self.loaded_version in self.broken:
            driver.health_of[CardUuid("GPU-1")] = Health(
                healthy=False, code="init", message="it did not start"
            )
        return driver


class Host:
    """What outlives the process, and the process."""

    def __init__(self, root: Path, policy: DeployPolicy = DeployPolicy.IF_NOT_PRESENT) -> None:
        self.fuse = Fuse()
        self.root = root
        (root / "opt").mkdir(parents=True)
        self.payloads = root / "var/lib/metax/payloads"
        self.payloads.mkdir(parents=True)
        self.disk = FusedDisk(root, self.fuse)
        self.kernel = FakeKernel(self.fuse)
        self.policy = policy
        self.image = ""
        self.boot = "boot-1"
        self.labels: dict[str, str] = {names.RUNTIME_READY: TRUE}
        self.annotations: dict[str, str] = {}
        self.allocatable: dict[str, str] = {}
        self.pending = ""
        self.wish: Wish | None = Wish()
        self.busy_trouble = ""
        self.users: dict[str, str] = {}
        self.signed_by: Checks | None = None
        self.events: list[Event] = []
        self.states: list[DriverState] = []
        self.now = 1000.0
        self.stays = False
        """gpu-device does not leave."""
        self.starts = 0

    # ---- what a test does to it

    def stage(self, version: str, *, corrupt: bool = False, **more: object) -> str:
        self.image = stage_driver(self.payloads, version, corrupt=corrupt, **more)
        return self.image

    def turn(self, version: str) -> None:
        self.annotations[names.TURN] = version

    def no_turn(self) -> None:
        self.annotations.pop(names.TURN, None)

    def remove(self) -> None:
        self.annotations[names.REMOVE] = TRUE

    def forget(self) -> None:
        """The node's object is deleted."""
        self._own.known = False

    def reboot(self) -> None:
        self.boot = f"{self.boot}+"
        self.kernel.reboot()
        self.start()

    # ---- what is seen

    @property
    def state(self) -> DriverState:
        return read_state(DriverState, self.annotations[names.DRIVER_STATE])

    def opt(self) -> dict[str, str]:
        """Names in /opt, links with what they lead to."""
        folder = self.root / "opt"
        return {
            place.name: f"-> {place.readlink()}" if place.is_symlink() else ""
            for place in sorted(folder.iterdir())
        }

    # ---- its process

    def start(self) -> None:
        self.starts += 1
        own = OwnNode(NODE)
        own.known, own.labels, own.annotations = True, self.labels, self.annotations
        own.allocatable = self.allocatable
        recovered = recover(self.disk, self.kernel.loaded(), self.boot, self._user)
        self.recovered = recovered
        self._own = own
        looker = Looker(
            self.kernel,
            self.kernel.open,
            self.disk,
            payloads=self.payloads,
            image=self.image,
            machine=platform.machine(),
            signed_by=self.signed_by,
            limit=60.0,
        )
        doer = Doer(self.disk, self.kernel, recovered.journal, self.boot, self._user)
        telling = Telling(own, self.events.append)
        telling.before()
        self.doer = doer
        self.manager = Manager(
            policy=self.policy,
            own=own,
            looker=looker,
            doer=doer,
            asks_busy=self._busy,
            reporter=self,
            telling=telling,
            wish=lambda: self.wish,
            metrics=Metrics(),
            boot=self.boot,
            background=_at_once,
            clock=lambda: self.now,
        )

    async def tell_driver(self, decision: Decision) -> None:
        """As the reporter, to a node that never refuses: an operation only where something is new."""
        state, removed = decision.state, decision.state.phase is Phase.REMOVED
        labels = {**self.labels, names.DRIVER_READY: TRUE if decision.is_ready else FALSE}
        labels[names.DRIVER_MODE] = MODES.get(state.source, "") if decision.is_ready else ""
        labels = {key: value for key, value in labels.items() if value and not (removed and "driver" in key)}
        annotations = {**self.annotations, names.DRIVER_STATE: state_text(state)}
        if (labels, annotations, decision.pending) == (self.labels, self.annotations, self.pending):
            return
        self.fuse.point()
        for present, wanted in ((self.labels, labels), (self.annotations, annotations)):
            present.clear()
            present.update(wanted)
        self.pending = decision.pending
        self.states.append(state)
        self.fuse.point()

    def _user(self, name: str) -> str:
        return self.users.get(name, "")

    async def _busy(self) -> Busy:
        return Busy(trouble=self.busy_trouble) if self.busy_trouble else Busy(pods=self.kernel.holders)

    def _tick(self, seconds: float) -> None:
        """The rest of the cluster: gpu-device comes and goes by the label."""
        # Waiting is waiting: fewer rounds of it show the same.
        self.now += max(5 * seconds, 0.1)
        ready = self.labels.get(names.DRIVER_READY) == TRUE
        units = sum(max(1, count) for count in self.kernel.split.values())
        self.allocatable["metax-tech.com/gpu"] = str(units) if ready or self.stays else "0"

    def run(self, rounds: int = 60) -> None:
        """Until nothing is left to do for a while. Raises `Killed` where the fuse burns."""
        if not self.starts:
            self.start()
        calm = 0
        for _ in range(rounds):
            pause = _answer(self.manager.round())
            self._tick(pause)
            calm = calm + 1 if pause >= 5.0 else 0
            if calm > 2:
                return

    def run_through(self, rounds: int = 60) -> None:
        """The same, started again after every kill."""
        while True:
            try:
                if not self.starts:
                    self.start()
                self.run(rounds)
            except Killed:
                self.fuse.left = 0
                while True:
                    try:
                        self.start()
                    except Killed:
                        continue
                    break
            else:
                return


def _answer(round_: Coroutine[None, None, float]) -> float:
    """Of a round that waits for nobody."""
    try:
        round_.send(None)
    except StopIteration as end:
        return float(end.value)
    raise AssertionError("a round waits for something that this host does not have")


async def _at_once(work: Callable[[], _Answer], _name: str = "") -> _Answer:
    return work()


def stage_driver(payloads: Path, version: str, *, corrupt: bool = False, **more: object) -> str:
    """A driver's payload as its pod leaves it on the node; the image's name."""
    image = f"reg/cloud/driver-image:{version}"
    contents = {
        module_path(KERNEL, "metax"): f"{version} is whole",
        "mxdriver/bin/mx-smi": f"#!/bin/sh\necho {version}\n",
        "mxdriver/lib/libmxsml.so.1": version,
    }
    return stage(
        payloads,
        image,
        contents,
        corrupt=corrupt,
        **{
            "kind": PayloadKind.DRIVER,
            "version": version,
            "kernels": (KERNEL,),
            "modules": ("metax",),
            "requires": ("drm",),
            "links": {"mxdriver/lib/libmxsml.so": "libmxsml.so.1"},
            **more,
        },
    )


def stage_maca(
    payloads: Path, version: str, image: str = "", *, corrupt: bool = False, says: str = ""
) -> str:
    """The same for MXMACA."""
    image = image or f"reg/cloud/maca-c500:{version}"
    return stage(
        payloads,
        image,
        {"maca/lib/libmaca.so": says or version},
        kind=PayloadKind.MACA,
        version=version,
        corrupt=corrupt,
    )


def stage(
    payloads: Path, image: str, contents: Mapping[str, str], *, corrupt: bool = False, **facts: object
) -> str:
    folder = payloads / payload_folder(image)
    files: dict[str, PayloadFile] = {}
    for path, text in contents.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        files[path] = PayloadFile(hashlib.sha256(text.encode()).hexdigest(), len(text), 0o755)
    payload = Payload(
        format=1,
        **{"architecture": ARCHITECTURES[platform.machine()], "files": files, **facts},  # pyright: ignore[reportArgumentType] - a test names the fields it cares for
    )
    (folder / "payload.json").write_text(payload_text(payload))
    if corrupt:
        first = folder / next(iter(contents))
        first.write_text(first.read_text()[::-1])
    return image
