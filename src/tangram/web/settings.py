"""Where the dashboard finds things and whom it lets in, as read from its command line."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from tangram.daemon.certificate_files import CertificateFiles
from tangram.daemon.endpoints import Address
from tangram.web.reception import WaysIn

COMPONENT: Final = "tangram-dashboard"
SCHEDULER_SERVICE: Final = "tangram-scheduler"
SCHEDULER_PORT: Final = 9443


class DashboardSettings(msgspec.Struct, frozen=True, kw_only=True):
    address: Address = Address("127.0.0.1", 8088)
    option: str = "--address"
    """What people wrote the address into."""
    server: str
    """The scheduler's, https."""
    server_authority: Path | None = None
    token_file: Path | None = None
    """What the scheduler is shown; None: the token of the account that the API server knows."""
    kubeconfig: Path | None = None
    certificate: CertificateFiles | None = None
    """None: plain, on loopback only."""
    proxy_authority: Path | None = None
    """Whose certificates prove to be the authenticating proxy."""
    metrics: Address | None = None
    """Where probes and metrics are told as well: plain, for the kubelet and Prometheus of a dashboard on loopback."""
    proxy_address: Address | None = None
    """A second door that nobody but the proxy can reach: plain, on loopback."""
    ways: WaysIn = WaysIn()
    history: Path | None = None


def usual_server(namespace: str) -> str:
    """Where the scheduler is in a cluster that it was installed in by our chart."""
    return f"https://{SCHEDULER_SERVICE}.{namespace}.svc:{SCHEDULER_PORT}"
