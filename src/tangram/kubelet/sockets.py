"""gRPC over unix sockets, typed by the methods of `tangram.wire.kubelet`.

gRPC's own types lose the message on the way through its generic handlers; everything that touches them is here, so that
plugins, clients and the tests' fake kubelets deal in messages only. Reconnecting is made fast, because a kubelet that
was away for a moment would otherwise cost its clients a whole second. What is said over the sockets is not known here.
"""

from __future__ import annotations

import asyncio
import errno
import secrets
import socket
import stat
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from tangram.wire.kubelet.methods import Method

LONGEST_SOCKET_PATH = 107

_Asked = TypeVar("_Asked", bound=Message)
_Answered = TypeVar("_Answered", bound=Message)

_CHANNEL_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 20),
    # Despite its name, the time one attempt may take; the next one is not delayed by it. A busy machine needs it.
    ("grpc.min_reconnect_backoff_ms", 10_000),
    ("grpc.max_reconnect_backoff_ms", 100),
    # Else two channels to one path share their connection, and the back-off of a kubelet that is gone.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.default_authority", "localhost"),
    # What the kubelet's own clients allow for; gRPC's 4 MB may be too little for a full node's pod resources.
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
)


class SocketUnusable(Exception):  # noqa: N818 - says what is the case, as callers read it
    """A path at which no socket can be made or reached, in words for whoever chose the path."""


class Refusal(Exception):  # noqa: N818 - an answer, which the other side sees; nothing here went wrong
    """Raised by whoever answers a call, to answer it with a gRPC error."""

    def __init__(self, code: grpc.StatusCode, sentence: str) -> None:
        super().__init__(code, sentence)
        self.code = code
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Answering:
    """One method of a server."""

    service: str
    name: str
    handler: grpc.RpcMethodHandler[Message, Message]


def socket_address(path: Path) -> str:
    """The path as gRPC spells it. Raises `SocketUnusable` for a path that the kernel would not take."""
    length = len(bytes(path.absolute()))
    if length > LONGEST_SOCKET_PATH:
        raise SocketUnusable(
            f"'{path.absolute()}' has {length} bytes, and a unix socket's path may have {LONGEST_SOCKET_PATH}: "
            f"keep it in a folder with a shorter path"
        )
    return f"unix:{path.absolute()}"


def open_channel(path: Path) -> grpc.aio.Channel:
    """A channel to whoever listens at the path, now or later. The caller closes it (`async with`)."""
    return grpc.aio.insecure_channel(socket_address(path), options=_CHANNEL_OPTIONS)


async def ask(
    channel: grpc.aio.Channel, method: Method[_Asked, _Answered], question: _Asked, *, within: float
) -> _Answered:
    """The answer to one question. Raises `grpc.aio.AioRpcError`, at once if nobody listens."""
    call = channel.unary_unary(
        method.path, request_serializer=_serialised, response_deserializer=method.answers.FromString
    )
    return await call(question, timeout=within)


def watch(
    channel: grpc.aio.Channel, method: Method[_Asked, _Answered], question: _Asked
) -> grpc.aio.UnaryStreamCall[Message, _Answered]:
    """The answers to one question as they come: iterate over it, `cancel()` it when done."""
    call = channel.unary_stream(
        method.path, request_serializer=_serialised, response_deserializer=method.answers.FromString
    )
    return call(question)


def answering(
    method: Method[_Asked, _Answered], answer: Callable[[_Asked], Awaitable[_Answered]]
) -> Answering:
    """Serve a method that has one answer."""

    async def behaviour(question: _Asked, context: grpc.aio.ServicerContext[_Asked, _Answered]) -> _Answered:
        try:
            return await answer(question)
        except Refusal as refusal:
            await context.abort(refusal.code, refusal.sentence)

    return Answering(
        method.service,
        method.name,
        grpc.unary_unary_rpc_method_handler(
            behaviour, request_deserializer=method.asks.FromString, response_serializer=_serialised
        ),
    )


def streaming(
    method: Method[_Asked, _Answered],
    answer: Callable[[_Asked, Callable[[_Answered], Awaitable[None]]], Awaitable[None]],
) -> Answering:
    """Serve a method that has many answers, each handed to the function that `answer` is given."""

    async def behaviour(question: _Asked, context: grpc.aio.ServicerContext[_Asked, _Answered]) -> None:
        try:
            await answer(question, context.write)
        except Refusal as refusal:
            await context.abort(refusal.code, refusal.sentence)

    return Answering(
        method.service,
        method.name,
        grpc.unary_stream_rpc_method_handler(
            behaviour, request_deserializer=method.asks.FromString, response_serializer=_serialised
        ),
    )


@dataclass(frozen=True, slots=True)
class SocketFile:
    """Which socket a path leads to. A new one at the same path is another one, even on a reused inode."""

    inode: int
    made_ns: int


def socket_file_at(path: Path) -> SocketFile | None:
    """The socket at the path now, if there is one."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return SocketFile(found.st_ino, found.st_mtime_ns) if stat.S_ISSOCK(found.st_mode) else None


def listened_at(path: Path) -> bool:
    """Whether somebody listens there now: a dead kubelet's file stays. To learn it through gRPC costs far more."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0)
        # Anything else (no permission, a full queue) is for gRPC to try and to explain.
        return probe.connect_ex(bytes(path)) not in {errno.ECONNREFUSED, errno.ENOENT}


class SocketServer:
    """A running server and the file that leads to it."""

    def __init__(self, path: Path, file: SocketFile | None, server: grpc.aio.Server) -> None:
        self._path = path
        self._file = file
        self._server = server

    @property
    def reachable(self) -> bool:
        """Whether the path still leads here: a starting kubelet removes its plugins' sockets."""
        return socket_file_at(self._path) == self._file

    @property
    def removed(self) -> bool:
        """Whether the path leads nowhere; it may also have come to lead to somebody else."""
        return socket_file_at(self._path) is None

    async def stop(self, *, grace: float | None = None, leave_file: bool = False) -> None:
        """Cut off what is still running after the grace; remove the file if it is ours and not to be left."""
        if self.reachable and not leave_file:
            self._path.unlink(missing_ok=True)
        await self._server.stop(grace)


async def serve(path: Path, methods: Iterable[Answering]) -> SocketServer:
    """A started server at the path, in place of whatever socket was left there. The caller stops it.

    It is bound under a private name and then renamed. gRPC removes the name it bound when it stops, even if the file
    there has become someone else's; and a socket that appears by renaming listens from its first moment.
    """
    socket_address(path)
    if not path.parent.is_dir():
        raise SocketUnusable(
            f"'{path.parent}' is not a folder, so no socket can be made in it: the kubelet makes it when it starts"
        )
    by_service: dict[str, dict[str, grpc.RpcMethodHandler[Message, Message]]] = {}
    for method in methods:
        by_service.setdefault(method.service, {})[method.name] = method.handler
    # Random, because two agents that overlap may have the same process id, each in its own container.
    private = path.with_name(f".{secrets.token_hex(6)}")
    server = grpc.aio.server(
        handlers=[
            grpc.method_handlers_generic_handler(name, handlers) for name, handlers in by_service.items()
        ]
    )
    try:
        server.add_insecure_port(socket_address(private))
        await _started(server)
        private.replace(path)
    except BaseException as error:
        await server.stop(None)
        private.unlink(missing_ok=True)
        if isinstance(error, RuntimeError | OSError):
            raise SocketUnusable(f"no socket could be made at '{path}': {error}") from error
        raise
    return SocketServer(path, socket_file_at(path), server)


async def _started(server: grpc.aio.Server) -> None:
    """Start it, whole even if we are cancelled meanwhile: gRPC cannot stop a server that has started half."""
    starting = asyncio.ensure_future(server.start())
    try:
        await asyncio.shield(starting)
    finally:
        await asyncio.wait({starting})


def _serialised(message: Message) -> bytes:
    return message.SerializeToString()
