"""What a container gets, as options of the engine: device nodes, groups, mounts, variables.

Only what is needed and public. Nothing is said twice: what the person's own options bring (a mount at `/opt/maca`, a
runtime, a variable) stays as it is. Groups go by number, because a name would be looked up inside the image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tangram.model.cards import Vendor
from tangram.model.devices import Device
from tangram.model.grants import GrantedSlice
from tangram.services.docker_host.choosing import Chosen
from tangram.services.docker_host.errors import HostError
from tangram.services.docker_host.maca import Folder
from tangram.wire import metax_container, mthreads_container
from tangram.wire.errors import WireError
from tangram.wire.operator.names import DRIVER_LINK, MACA_LINK

LABEL: Final = "dev.tangram.cards"
MTHREADS_RUNTIME: Final = "mthreads"
MTHREADS_TOOL: Final = "/usr/bin/mthreads-gmi"
MACA_PATH: Final = "MACA_PATH"
LIBRARIES: Final = "LD_LIBRARY_PATH"


def nodes_of(chosen: Chosen) -> tuple[str, ...]:
    """The device nodes of MetaX cards or slices, each once; a slice needs no more than its card's render node."""
    if chosen.slices:
        paths = [path for device in chosen.devices for path in (device.nodes.control, device.nodes.render)]
    else:
        paths = [path for device in chosen.devices for path in device.nodes.all]
    for device in chosen.devices:
        if not device.nodes.render or not device.nodes.control:
            raise HostError(
                f"card {device.index} ({device.uuid}) has no device nodes to give to a container: its driver is not "
                "loaded or does not tell them; `tangram doctor` says why."
            )
    return tuple(dict.fromkeys(path for path in paths if path))


def node_options(nodes: Sequence[str], on_host: Mapping[str, str], groups: Sequence[str]) -> tuple[str, ...]:
    """Device nodes, and the groups that may open them where not everybody may."""
    devices = [
        word
        for path in nodes
        for word in ("--device", path if on_host.get(path, path) == path else f"{on_host[path]}:{path}")
    ]
    return (*devices, *(word for group in groups for word in ("--group-add", group)))


def label_options(devices: Sequence[Device]) -> tuple[str, ...]:
    """Which cards a container has, for the next start: not every engine tells the device nodes of a container."""
    return ("--label", f"{LABEL}={','.join(device.uuid for device in devices)}")


def slice_options(chosen: Chosen) -> tuple[str, ...]:
    """The variable that tells a container its slices; nothing where there are none."""
    if not chosen.slices:
        return ()
    parents = {device.uuid: device.bdf for device in chosen.devices}
    parts = [
        (
            parents[part.card],
            GrantedSlice(
                card=part.card, id=part.id, name=part.name or part.uuid, memory=part.memory, cores=part.cores
            ),
        )
        for part in chosen.slices
    ]
    try:
        return _variables(metax_container.slice_environment(parts))
    except WireError as error:
        raise HostError(f"{error.sentence.rstrip('.')}: name another slice.") from None


def maca_options(folders: Sequence[Folder], image_env: Mapping[str, str], taken: set[str]) -> tuple[str, ...]:
    """The host's folders, read-only, and where their libraries are. `taken` are variables the person sets."""
    mounts = [word for folder in folders for word in ("--mount", mount_value(folder))]
    env: dict[str, str] = {}
    if any(folder.path == MACA_LINK for folder in folders):
        env = {MACA_PATH: MACA_LINK, LIBRARIES: _libraries(image_env.get(LIBRARIES, ""))}
    return (*mounts, *_variables({name: value for name, value in env.items() if name not in taken}))


def mount_value(folder: Folder) -> str:
    """The value of `--mount`, whose parts are a line of CSV."""
    parts = ("type=bind", f"source={folder.host}", f"target={folder.path}", "readonly")
    return ",".join(_field(part) for part in parts)


def mthreads_options(
    devices: Sequence[Device], *, runtimes: Sequence[str], default_runtime: str, own_runtime: str | None
) -> tuple[str, ...] | None:
    """Moore Threads cards by variables, where the vendor's runtime reads them; None where it will not run."""
    env = _variables(
        mthreads_container.whole_environment([mthreads_container.card_number(device) for device in devices])
    )
    runtime = own_runtime if own_runtime is not None else default_runtime
    if runtime.startswith(MTHREADS_RUNTIME):
        return env
    if own_runtime is None and MTHREADS_RUNTIME in runtimes:
        return ("--runtime", MTHREADS_RUNTIME, *env)
    return None


def vendor_of_maca(chosen: Chosen, *, asked: bool) -> None:
    """MXMACA is MetaX's. Raises `HostError` where it was asked for with another vendor's cards."""
    if asked and chosen.vendor is not Vendor.METAX:
        raise HostError(
            "--maca and --maca-force are about MetaX's MXMACA, which Moore Threads cards do not use: leave them out."
        )


def _libraries(present: str) -> str:
    wanted = (f"{MACA_LINK}/lib", f"{DRIVER_LINK}/lib")
    parts = [part for part in present.split(":") if part]
    return ":".join((*parts, *(each for each in wanted if each not in parts)))


def _variables(env: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(word for name, value in env.items() for word in ("--env", f"{name}={value}"))


def _field(text: str) -> str:
    quoted = text.replace('"', '""')
    return f'"{quoted}"' if any(sign in text for sign in ',"\n\r') or text != text.strip() else text
