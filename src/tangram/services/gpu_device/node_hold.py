"""Keeping HAMi's and Koordinator's schedulers off the node while no agent serves it.

Our own scheduler reads `tangram.dev/agent`; theirs do not. Both look at the node lock right before they bind a MetaX
slice, and respect one that is younger than five minutes and names a pod that exists. So an agent that ends takes that
lock in the name of a pod of this node, in the same write that says `stopping`, and the agent that follows gives it
back once the kubelet has the units again. Where none follows, the lock ends by itself.

It is not left by an agent that is killed, and it holds off no pod with whole cards or cards of Moore Threads: of those
neither peer asks the lock (Koordinator asks it for whole MetaX cards too).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from tangram.model.pods import Phase
from tangram.services.gpu_device.peers import LOCK_EXPIRES_S
from tangram.services.gpu_device.records import BoundPod
from tangram.wire.errors import WireError
from tangram.wire.nodelock import NODE_LOCK, parse_lock, rfc3339

log = logging.getLogger("tangram.gpu-device")

FILE: Final = "node-hold.json"
_VERSION: Final = 1


class _File(msgspec.Struct, frozen=True, kw_only=True):
    v: int
    lock: str


class NodeHold:
    """`pods` are those of this node; `serving` says whether the kubelet has every resource of ours."""

    def __init__(
        self,
        folder: Path,
        pods: Callable[[], Iterable[BoundPod]],
        serving: Callable[[], bool],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._path = folder / FILE
        self._pods = pods
        self._serving = serving
        self._now = now
        self.lock = ""
        """The exact lock that we hold, or an earlier agent of this node left behind; empty for none."""

    def load(self) -> None:
        """Read what an earlier agent noted. Without a note its lock ends by itself."""
        try:
            file = msgspec.json.decode(self._path.read_bytes(), type=_File)
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as error:
            log.warning(
                "the note of the node lock cannot be read", extra={"file": self._path, "error": error}
            )
            return
        if file.v == _VERSION:
            self.lock = file.lock

    def wanted(self, present: Mapping[str, str], *, stopping: bool) -> dict[str, str | None]:
        """What the node should say of its lock; nothing where it is not ours to say."""
        lock = present.get(NODE_LOCK)
        held = bool(self.lock) and lock == self.lock
        if stopping:
            if not held:
                if lock is not None and not self._is_over(lock):
                    # A pod is being bound under it. The lock is given back when it arrives, and then it is our turn.
                    return {}
                self._keep(self._value())
            return {NODE_LOCK: self.lock}
        if not self.lock or not self._serving():
            return {}
        if held:
            return {NODE_LOCK: None}
        self._keep("")
        return {}

    def _value(self) -> str:
        holders = (
            (bound.bound_at, str(bound.pod.ref.namespace), str(bound.pod.ref.name))
            for bound in self._pods()
            if bound.pod.phase is Phase.RUNNING and not bound.pod.terminating
        )
        # Without a pod HAMi respects it all the same, and Koordinator does not.
        _, namespace, name = min(holders, default=(0, "", ""))
        return f"{rfc3339(int(self._now()))},{namespace},{name}"

    def _is_over(self, lock: str) -> bool:
        try:
            return self._now() - parse_lock(lock).taken_at > LOCK_EXPIRES_S
        except WireError:
            # HAMi and Koordinator wait for it already, whatever it is.
            return False

    def _keep(self, lock: str) -> None:
        """Note first, write to the node after: a lock of ours that is not noted would be a stranger's."""
        self.lock = lock
        try:
            if not lock:
                self._path.unlink(missing_ok=True)
                return
            unfinished = self._path.with_suffix(".new")
            self._path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(msgspec.json.encode(_File(v=_VERSION, lock=lock)))
            unfinished.replace(self._path)
        except OSError as error:
            log.warning("the node lock cannot be noted", extra={"file": self._path, "error": error})
