"""A remote method as a typed fact: where it is, what it takes, what it answers.

gRPC's own stubs are untyped and would bring gRPC into this layer. With this record, whoever holds a channel or a server
needs one line per method, and the type checker knows both messages.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec
from google.protobuf.message import Message

Asked = TypeVar("Asked", bound=Message)
Answered = TypeVar("Answered", bound=Message)


class Method(msgspec.Struct, Generic[Asked, Answered], frozen=True, kw_only=True):
    service: str
    """With its package: `v1beta1.DevicePlugin`."""
    name: str
    asks: type[Asked]
    answers: type[Answered]
    streams: bool = False
    """Whether one question is answered by many messages."""

    @property
    def path(self) -> str:
        return f"/{self.service}/{self.name}"
