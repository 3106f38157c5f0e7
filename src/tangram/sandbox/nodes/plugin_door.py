"""Where plugins register with a kubelet, and what becomes of their connections.

The kubelet looks up its client by resource. Of two plugins of one resource the newer is called, and both lists are
read; when either of them ends, whichever is the present one is dropped. That is a mistake of the real one, and our
agent must live with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import grpc

from tangram.kubelet.sockets import Refusal, SocketServer, answering, serve, socket_file_at
from tangram.sandbox.nodes.plugin_client import PluginClient, PluginError
from tangram.sandbox.nodes.pod_specs import is_extended
from tangram.wire.kubelet import deviceplugin

Listed = Callable[[str, Sequence[deviceplugin.Device]], None]


class PluginDoor:
    """`start` and `stop`; tells of plugins that came, of every list, and of plugins that went."""

    def __init__(
        self,
        folder: Path,
        *,
        came: Callable[[str], None],
        listed: Listed,
        went: Callable[[str], None],
    ) -> None:
        self._folder = folder
        self._came = came
        self._listed = listed
        self._went = went
        self.introductions: Final[list[deviceplugin.RegisterRequest]] = []
        self._clients: dict[str, PluginClient] = {}
        self._older: set[PluginClient] = set()
        self._left: set[str] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._server: SocketServer | None = None

    async def start(self) -> None:
        """Remove every socket in the folder, and listen."""
        self._left.clear()
        for path in self._folder.iterdir():
            if socket_file_at(path) is not None:
                path.unlink(missing_ok=True)
        self._server = await serve(
            self._folder / deviceplugin.KUBELET_SOCKET, [answering(deviceplugin.REGISTER, self._on_register)]
        )

    async def stop(self) -> None:
        """As if killed: connections are cut, the socket's file stays."""
        clients = [*self._clients.values(), *self._older]
        self._clients.clear()
        self._older.clear()
        for client in clients:
            await client.close()
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop(leave_file=True)

    def client(self, resource: str) -> PluginClient | None:
        """The connection to the present plugin of a resource, if there is one."""
        return self._clients.get(resource)

    def has_left(self, resource: str) -> bool:
        """Whether a plugin of the resource went away from this very kubelet."""
        return resource in self._left

    async def _on_register(self, asked: deviceplugin.RegisterRequest) -> deviceplugin.Empty:
        self.introductions.append(asked)
        if asked.version != deviceplugin.VERSION:
            raise Refusal(
                grpc.StatusCode.UNKNOWN,
                f'requested API version "{asked.version}" is not supported by kubelet. Supported version is '
                f'["{deviceplugin.VERSION}"]',
            )
        if not is_extended(asked.resource_name):
            raise Refusal(grpc.StatusCode.UNKNOWN, f'the ResourceName "{asked.resource_name}" is invalid')
        client = PluginClient(self._folder / asked.endpoint, asked, self._on_list, self._on_end)
        try:
            await client.connect()
        except PluginError as error:
            raise Refusal(grpc.StatusCode.UNKNOWN, str(error)) from error
        if self._server is None:
            await client.close()
            raise Refusal(grpc.StatusCode.UNAVAILABLE, "the kubelet is ending")
        before = self._clients.get(client.resource)
        if before is not None:
            self._older.add(before)
        self._clients[client.resource] = client
        self._left.discard(client.resource)
        self._came(client.resource)
        client.follow()
        return deviceplugin.Empty()

    def _on_list(self, client: PluginClient, devices: Sequence[deviceplugin.Device]) -> None:
        self._listed(client.resource, devices)

    def _on_end(self, client: PluginClient) -> None:
        self._older.discard(client)
        current = self._clients.pop(client.resource, None)
        if current is None:
            return
        self._left.add(client.resource)
        for each in {client, current}:
            closing = asyncio.create_task(each.close(), name=f"closing {client.resource}")
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        self._went(client.resource)
