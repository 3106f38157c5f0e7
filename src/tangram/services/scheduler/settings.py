"""Where the scheduler finds things and how it is to behave, as read from its command line."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from tangram.daemon.certificate_files import CertificateFiles
from tangram.daemon.endpoints import Address

TANGRAM_NAME: Final = "tangram-scheduler"
HAMI_NAME: Final = "hami-scheduler"
KOORDINATOR_NAME: Final = "koord-scheduler"
"""Served only where somebody says so: where Koordinator runs, its pods are its own to place."""


class ServiceName(msgspec.Struct, frozen=True):
    namespace: str
    name: str


class LeaseName(msgspec.Struct, frozen=True):
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class SchedulerSettings(msgspec.Struct, frozen=True, kw_only=True):
    served: frozenset[str] = frozenset({TANGRAM_NAME, HAMI_NAME})
    """Names by which pods ask for this scheduler. The first given is written into pods that name none."""
    name: str = TANGRAM_NAME
    lease: LeaseName | None = None
    """kube-scheduler's own. None where it has none, or serves from elsewhere."""
    identity: str = ""
    """How the holder's name begins when the kube-scheduler beside us holds the Lease."""
    extender: Address | None = Address("127.0.0.1", 8080)
    """Plain, on loopback only."""
    outside: Address | None = None
    """TLS, for the API server, for people and for a kube-scheduler elsewhere."""
    certificate: CertificateFiles | None = None
    """Somebody else's certificate, such as cert-manager's; None: our own, kept in a Secret."""
    client_authority: Path | None = None
    """Whose certificates let a kube-scheduler elsewhere ask."""
    service: ServiceName = ServiceName("kube-system", TANGRAM_NAME)
    """How others reach `outside`; our own certificate is made for it."""
    webhooks: str = TANGRAM_NAME
    """The name of our webhook configurations, whose trust in our certificate we keep up to date."""
    account: str = "system:serviceaccount:kube-system:tangram-scheduler"
    """Who we are to the API server: the one who may write allocations."""
    agents: tuple[str, ...] = ("system:serviceaccount:kube-system:tangram-gpu-device",)
    """Who the nodes' agents are; each may write on its own node's pods."""
    config: Path | None = None
    device_config: Path | None = None
    nominate: bool | None = None
    """Decide ahead. None: where the cluster is new enough."""
    legacy_metrics: bool = False
