"""The allocate hint: the one annotation in which a Koordinator user says how close the cards must be.

Of a hint for GPUs only the required scope changes what we do; selectors look at device labels that nothing fills.
"""

from __future__ import annotations

from collections.abc import Mapping

from tangram.model.topology import TopologyScope
from tangram.vendors.wording import either, sentence
from tangram.wire import jsontext, loose
from tangram.wire.errors import WireError, shown
from tangram.wire.koordinator import names

_SCOPES = {
    "Device": TopologyScope.LINK,
    "PCIe": TopologyScope.PCIE,
    "NUMANode": TopologyScope.NUMA,
    "Node": TopologyScope.NODE,
}


def required_scope(annotations: Mapping[str, str]) -> TopologyScope | None:
    """Within what the pod's cards must lie, or None when the pod does not say.

    Raises `WireError` for a hint that cannot be read: ignoring it would place the cards anywhere at all.
    """
    written = annotations.get(names.ALLOCATE_HINT, "")
    if not written.strip():
        return None
    try:
        hints = jsontext.parse(written, names.ALLOCATE_HINT)
    except WireError as error:
        raise _malformed(written) from error
    if hints is not None and not loose.is_object(hints):
        raise _malformed(written)
    scope = loose.members(loose.members(hints).get(names.GPU)).get("requiredTopologyScope")
    if scope is None or scope == "":
        return None
    known = _SCOPES.get(loose.text(scope))
    if known is None:
        raise WireError(
            "hint-scope-unknown",
            sentence(
                f"annotation {names.ALLOCATE_HINT} asks for requiredTopologyScope {shown(scope)}",
                f"the scopes are {either(_SCOPES)}",
                "write one of them or leave it out",
            ),
        )
    return known


def _malformed(written: str) -> WireError:
    return WireError(
        "hint-malformed",
        sentence(
            f"annotation {names.ALLOCATE_HINT} is {shown(written)}",
            "it is a JSON object from device type to hint",
            'write {"gpu":{"requiredTopologyScope":"PCIe"}}',
        ),
    )
