"""A grant as a CDI spec: the file that gives a container its devices also says whose they are.

So there is no second record that could disagree with the first, and after a crash the files alone tell which container
holds which slices. One file per grant, one device per file; the record is an annotation that runtimes pass over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tangram.model.grants import Grant
from tangram.wire import jsontext, loose
from tangram.wire.cdi import (
    CdiDevice,
    CdiDeviceNode,
    CdiMount,
    CdiSpec,
    qualified_name,
    spec_file_name,
    spec_text,
)
from tangram.wire.errors import WireError, shown

KIND: Final = "tangram.dev/gpu"
GRANT: Final = "tangram.dev/grant"
MOUNT_OPTIONS: Final = ("ro", "nosuid", "nodev", "rbind", "rprivate")

_FIRST, _LAST = spec_file_name(KIND, "\x01").split("\x01")


def claim_name(claim: str) -> str:
    """The name by which a container asks for the grant."""
    return qualified_name(KIND, claim)


def claim_of(name: str) -> str | None:
    """The claim behind a CDI name, or None when the name is not one of ours."""
    kind, equals, claim = name.partition("=")
    return claim if equals and kind == KIND and claim else None


def grant_file_name(claim: str) -> str:
    """The name of the file that a claim's grant is in."""
    return spec_file_name(KIND, claim)


def claim_in_file_name(name: str) -> str | None:
    """The claim a file is about, or None for files of others."""
    return (
        name.removeprefix(_FIRST).removesuffix(_LAST)
        if name.startswith(_FIRST) and name.endswith(_LAST)
        else None
    )


def grant_text(grant: Grant, env: Mapping[str, str], nodes: Sequence[CdiDeviceNode]) -> str:
    """The file's content. Raises `WireError` for what a runtime would refuse."""
    device = CdiDevice(
        name=grant.claim,
        env=env,
        device_nodes=tuple(nodes),
        mounts=tuple(
            CdiMount(host_path=each.host, container_path=each.path, options=MOUNT_OPTIONS)
            for each in grant.mounts or ()
        ),
        annotations={GRANT: jsontext.compact(grant, GRANT)},
    )
    return spec_text(CdiSpec(kind=KIND, devices=(device,)))


def read_grant(content: str) -> Grant:
    """The grant in a file. Raises `WireError` for a file that is not one of ours, or not whole."""
    spec = loose.members(jsontext.parse(content, "a CDI spec"))
    devices = loose.elements(spec.get("devices"))
    if spec.get("kind") != KIND or len(devices) != 1:
        raise WireError(
            "grant-foreign",
            f"a CDI spec of {shown(spec.get('kind'))} with {len(devices)} devices is no grant",
        )
    remarks = loose.members(loose.members(devices[0]).get("annotations"))
    try:
        return msgspec.json.decode(loose.text(remarks.get(GRANT)), type=Grant)
    except (msgspec.DecodeError, msgspec.ValidationError, ValueError) as error:
        raise WireError(
            "grant-malformed", f"a CDI spec of {KIND} does not say whose it is: {error}"
        ) from error
