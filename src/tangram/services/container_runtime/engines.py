"""Which container runtime this node has: by what the kubelet says, else by what lies on the host."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from tangram.services.container_runtime.host import Host
from tangram.services.container_runtime.settings import EngineKind
from tangram.services.container_runtime.trouble import Code, Trouble

SOCKETS: Final = {
    EngineKind.CONTAINERD: "/run/containerd/containerd.sock",
    EngineKind.CRIO: "/run/crio/crio.sock",
    EngineKind.DOCKER: "/run/docker.sock",
}
_REPORTED = re.compile(r"([a-z-]+)://v?([0-9A-Za-z.+~-]*)")
_NUMBER = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})")


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    kind: EngineKind
    version: str = ""
    """As the kubelet reports it; empty where it has not."""

    @property
    def number(self) -> tuple[int, int] | None:
        found = _NUMBER.match(self.version)
        return (int(found[1]), int(found[2])) if found else None

    @property
    def socket(self) -> str:
        return SOCKETS[self.kind]


def find_engine(host: Host, reported: str, wanted: EngineKind | None) -> Engine:
    """The runtime of this node. `reported` is `containerRuntimeVersion` of the node. Raises `Trouble`."""
    found = _REPORTED.fullmatch(reported)
    kind = next((each for each in EngineKind if found and each == found[1]), None)
    # The kubelet writes Unknown of a runtime that does not answer just now.
    version = found[2] if found and _NUMBER.match(found[2]) else ""
    if kind is not None:
        if wanted not in (None, kind):
            raise Trouble(
                Code.ENGINE_MISMATCH,
                f"--engine is {wanted}, and the kubelet of this node uses {reported}; write --engine auto or {kind}",
            )
        return Engine(kind=kind, version=version)
    if wanted is not None:
        return Engine(kind=wanted)
    there = [each for each in EngineKind if host.exists(SOCKETS[each])]
    # Docker brings a containerd, which the kubelet does not use.
    if EngineKind.DOCKER in there and EngineKind.CRIO not in there:
        there = [EngineKind.DOCKER] if not host.exists("/etc/containerd/config.toml") else there
    if len(there) != 1:
        seen = f"the node reports {reported!r:.60}, and on the host there is " + (
            f"a socket of {' and '.join(there)}" if there else "no socket of any"
        )
        raise Trouble(
            Code.ENGINE_UNKNOWN,
            f"{seen}; a runtime can be registered with containerd, cri-o and docker; write --engine with one of these",
        )
    return Engine(kind=there[0])
