"""Go values as the kubelet prints them before it hashes them, as far as its checkpoints need it.

The kubelet makes its checksums with a printing library (go-spew, verb %#v, keys sorted) and FNV-1a. Types stand in
parentheses before fields of a structure, and nowhere inside lists and maps; what Go calls nil is not the same as empty.
"""

from __future__ import annotations

from collections.abc import Sequence

_NIL = "<nil>"
_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193


def typed(go_type: str, value: str | None) -> str:
    """A field's value behind the name of its type."""
    return f"({go_type}){_NIL if value is None else value}"


def listed(values: Sequence[str]) -> str:
    """A slice."""
    return f"[{' '.join(values)}]"


def mapped(items: Sequence[tuple[str, str | None]]) -> str:
    """A map, in the order given."""
    return f"map[{' '.join(f'{key}:{_NIL if value is None else value}' for key, value in items)}]"


def fnv1a_32(data: bytes) -> int:
    """The 32-bit FNV-1a hash. A few MB a second; the dump of a hundred pods is about a tenth of one."""
    value = _FNV_OFFSET
    for byte in data:
        value = ((value ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return value
