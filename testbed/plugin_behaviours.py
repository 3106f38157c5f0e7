"""How a scripted plugin answers: small functions from a call to an answer, and ways to combine them.

A behaviour may take as long as the test likes, look at anything (the PodResources API, a file), write a CDI spec, and
refuse by raising `Refusal`. Any other exception is a mistake of the test: the plugin reports it when it stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NoReturn, TypeAlias, TypeVar

import grpc

from tangram.kubelet.sockets import Refusal
from testbed.errors import BedError
from testbed.plugin_records import Call, DeviceFile, Grant, HostMount

_Answer = TypeVar("_Answer")

Behaviour: TypeAlias = Callable[[Call], Awaitable[_Answer]]
Preferring: TypeAlias = Behaviour[tuple[tuple[str, ...], ...]]
Granting: TypeAlias = Behaviour[tuple[Grant, ...]]
Starting: TypeAlias = Behaviour[None]

CDI_KIND = "tangram.dev/test"


def cdi_name(call: Call, container: int = 0) -> str:
    """The CDI name of a call's answer, such as `tangram.dev/test=17`: no other call of this process has the same."""
    return f"{CDI_KIND}={call.order}" + (f"-{container}" if container else "")


def granting(
    env: Mapping[str, str] = MappingProxyType({}),
    *,
    device_files: tuple[DeviceFile, ...] = (),
    mounts: tuple[HostMount, ...] = (),
    annotations: Mapping[str, str] = MappingProxyType({}),
    cdi: bool = True,
) -> Granting:
    """Give every container a CDI name of its own (unless told not to) and the same things besides."""

    async def grant(call: Call) -> tuple[Grant, ...]:
        return tuple(
            Grant(
                cdi_names=(cdi_name(call, index),) if cdi else (),
                env=env,
                device_files=device_files,
                mounts=mounts,
                annotations=annotations,
            )
            for index in range(len(call.ids))
        )

    return grant


async def prefer_first(call: Call) -> tuple[tuple[str, ...], ...]:
    """What must be included, then the available ids in order."""
    return tuple(
        tuple(dict.fromkeys([*asked.must_include, *sorted(asked.available)]))[: asked.size]
        for asked in call.preferences
    )


async def start_at_once(_call: Call) -> None:
    """Let the container start."""


def failing(
    sentence: str, code: grpc.StatusCode = grpc.StatusCode.INTERNAL
) -> Callable[[Call], Awaitable[NoReturn]]:
    """Answer with a gRPC error."""

    async def fail(_call: Call) -> NoReturn:
        raise Refusal(code, sentence)

    return fail


def holding(until: asyncio.Event, then: Behaviour[_Answer]) -> Behaviour[_Answer]:
    """Answer only once the event is set."""

    async def hold(call: Call) -> _Answer:
        await until.wait()
        return await then(call)

    return hold


def in_turn(*behaviours: Behaviour[_Answer]) -> Behaviour[_Answer]:
    """Answer the first call in the first way, the second in the second; the last way serves all that follow."""
    if not behaviours:
        raise BedError("a plugin was told to answer in turn but given no way to answer: name at least one")
    left = list(behaviours)

    async def answer(call: Call) -> _Answer:
        return await (left.pop(0) if len(left) > 1 else left[0])(call)

    return answer


@dataclass(slots=True)
class Script:
    """How a plugin answers now. May be changed at any time; a call keeps the behaviour it began with."""

    allocate: Granting = field(default_factory=granting)
    prefer: Preferring = prefer_first
    pre_start: Starting = start_at_once
