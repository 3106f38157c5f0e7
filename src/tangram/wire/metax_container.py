"""What a MetaX container is given besides device nodes.

How the vendor's user-mode stack learns of its slice is described by one public source only, unverified: the slices are
listed in `METAX_SGPUS`, each as `sgpu=<bus address>#<number>;compute=<percent>;vram=<MiB>;alias=<name>`. How several
are joined nobody says; a comma is assumed. Should either prove wrong, this module is what changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.model.grants import GrantedSlice
from tangram.units.memory import floor_mib
from tangram.wire.errors import WireError, shown

SLICES: Final = "METAX_SGPUS"

_SEPARATORS = frozenset(";,#=")


def slice_environment(given: Sequence[tuple[str, GrantedSlice]]) -> dict[str, str]:
    """The variables for slices, each with the bus address of its card. Raises `WireError` for unusable names."""
    return {SLICES: ",".join(_entry(bdf, part) for bdf, part in given)}


def _entry(bdf: str, part: GrantedSlice) -> str:
    for text in (bdf, part.name):
        if not text or _SEPARATORS.intersection(text):
            raise WireError(
                "slice-unwritable", f"{SLICES} cannot name {shown(text)}: its parts are split at ; , # ="
            )
    return f"sgpu={bdf}#{part.id};compute={part.cores};vram={floor_mib(part.memory)};alias={part.name}"
