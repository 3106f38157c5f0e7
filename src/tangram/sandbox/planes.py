"""The control plane under a sandbox: ours in this process, or a real one beside it.

Everything else of a sandbox knows a control plane by what is written here, and cannot tell which of the two it is.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

from tangram.daemon.certificates import (
    CertificateError,
    Issued,
    Pair,
    certificates_in,
    check_pair,
    vouches_for,
)
from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.kube.objects import Object
from tangram.sandbox.apiserver.journal import FileJournal
from tangram.sandbox.apiserver.server import Running, make_certificate, serving_api
from tangram.sandbox.controllers.heartbeats import GRACE_S
from tangram.sandbox.controllers.service import Controllers
from tangram.sandbox.folder import PairOnDisk, write_pair, write_private
from tangram.sandbox.our_services import IDENTITY
from tangram.sandbox.placing.standin import StandIn

TOKEN: Final = "administrator.token"  # noqa: S105 - a file's name


class Plane(Protocol):
    """An API server; its controllers and schedulers work from when it is told how to schedule, if not before."""

    @property
    def connection(self) -> Connection:
        """As its administrator."""
        ...

    @property
    def authority(self) -> bytes:
        """Who vouches for its API server."""
        ...

    @property
    def kubelets(self) -> Pair:
        """What kubelets show it when it asks them for logs."""
        ...

    async def schedule(self, configurations: Mapping[str, Object]) -> None:
        """Have a scheduler for each of these KubeSchedulerConfigurations, by name, from now on."""
        ...


class EmbeddedPlane:
    def __init__(self, running: Running, api: Api, controllers: Controllers, supervisor: Supervisor) -> None:
        self._running = running
        self._api = api
        self._controllers = controllers
        self._supervisor = supervisor

    @property
    def connection(self) -> Connection:
        return self._api.connection

    @property
    def authority(self) -> bytes:
        return self._running.issued.authority

    @property
    def kubelets(self) -> Pair:
        return self._running.issued.pair

    async def schedule(self, configurations: Mapping[str, Object]) -> None:
        # Not before: where objects were kept, they would make pods while nobody answers for the webhooks.
        await self._controllers.run(self._supervisor)
        for name, configuration in configurations.items():
            stand_in = StandIn(configuration, self._api, identity=IDENTITY)
            self._supervisor.lasting(f"scheduler {name}", stand_in.run)


@asynccontextmanager
async def embedded(
    port: int, keys: Path, data: Path | None, supervisor: Supervisor, *, grace: float = GRACE_S
) -> AsyncGenerator[EmbeddedPlane]:
    """Our own control plane. With `data`, its objects are kept there, and its certificate and token in `keys`.

    `grace` is how long its controllers wait for a node that is silent.
    Raises `SettingError` and `JournalError` for what cannot be used.
    """
    issued, token = _identity(keys)
    journal = None if data is None else FileJournal(data)
    try:
        async with (
            serving_api(port, issued=issued, token=token, journal=journal) as running,
            Api(running.connection(), agent="tangram-sandbox") as api,
        ):
            if journal is not None:
                supervisor.vital("keeping objects", journal.failing())
            controllers = Controllers(api, authority_pem=issued.authority.decode(), grace=grace)
            yield EmbeddedPlane(running, api, controllers, supervisor)
    finally:
        if journal is not None:
            journal.close()


def _identity(keys: Path) -> tuple[Issued, str]:
    """The certificate and the administrator's token, as they were the last time if they are still good."""
    files = PairOnDisk(keys / "api.crt", keys / "api.key", keys / "api-ca.crt")
    try:
        pair = Pair(files.certificate.read_bytes(), files.key.read_bytes())
        issued = Issued(files.authority.read_bytes(), pair)
        token = (keys / TOKEN).read_text("ascii").strip()
        if token and _vouched(issued):
            return issued, token
    except (OSError, CertificateError, UnicodeDecodeError):
        pass
    issued, token = make_certificate(), secrets.token_urlsafe(24)
    write_pair(keys, "api", issued)
    write_private(keys / TOKEN, token.encode())
    return issued, token


def _vouched(issued: Issued) -> bool:
    """Whether the three files belong together: a sandbox may have been killed between two of them."""
    leaf = check_pair(issued.pair, datetime.now(UTC))
    return any(vouches_for(authority, leaf) for authority in certificates_in(issued.authority))
