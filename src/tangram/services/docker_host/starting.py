"""What is added to a `run` or a `create`: cards chosen, MXMACA found, the image looked into.

Everything that can go wrong goes wrong here, before the engine is asked to start anything; what comes out are words of
the engine's own command line. They stand before the person's own options, so where the last one counts it is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from tangram.drivers.snapshot import Snapshot
from tangram.model.cards import Vendor
from tangram.services.docker_host import additions, person
from tangram.services.docker_host.choosing import Chosen, choose
from tangram.services.docker_host.claims import turn
from tangram.services.docker_host.engines import (
    DOCKER,
    Engine,
    check_version,
    documents,
    refuse_other_machine,
)
from tangram.services.docker_host.errors import HostError
from tangram.services.docker_host.image_contents import Contents, Image, find_image, pull
from tangram.services.docker_host.maca import NONE, Folder, host_folders
from tangram.services.docker_host.reading import Start
from tangram.services.docker_host.using import Holder, users_of
from tangram.services.docker_host.wishes import Kind, Wish, read_gpus
from tangram.wire import jsontext, loose
from tangram.wire.errors import WireError
from tangram.wire.operator.names import DRIVER_LINK, MACA_LINK

_DEV: Final = "/dev"
_CANNOT_LOOK: Final = frozenset({"nerdctl"})
"""Engines that cannot copy out of a container that never ran."""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """Where a container is started."""

    engine: Engine
    look: Callable[[], Snapshot]
    """Reads the cards; raises `HostError` where there is no driver to ask."""
    say: Callable[[str], None]
    """Tells the person something that keeps nothing from starting."""
    environment: Mapping[str, str]
    before: tuple[str, ...] = ()
    root: Path = Path("/")
    device_root: str = _DEV
    cache: Path | None = None
    claims: Path | None = None
    groups: Callable[[Iterable[str]], tuple[int, ...]] = person.groups_of
    """The groups whose members may open some nodes."""
    rootless: bool = False
    """Whether a person without root asks."""
    dry_run: bool = False


def added_words(start: Start, host: Host) -> tuple[str, ...]:
    """The words that stand between the command and the person's own options. Raises `HostError`."""
    wish = None if start.gpus is None else read_gpus(start.gpus)
    check_version(host.engine)
    refuse_other_machine(host.engine, host.before, host.environment)
    if wish is None:
        return _maca(start, host, needed=False)
    chosen = _chosen(wish, host)
    for note in chosen.notes:
        host.say(note)
    additions.vendor_of_maca(chosen, asked=start.maca is not None or start.force)
    label = () if chosen.slices else additions.label_options(chosen.devices)
    if chosen.vendor is Vendor.MTHREADS:
        return (*_mthreads(chosen, start, host), *label)
    return (
        *_nodes(additions.nodes_of(chosen), start, host),
        *additions.slice_options(chosen),
        *label,
        *_maca(start, host, needed=True),
    )


def _chosen(wish: Wish, host: Host) -> Chosen:
    if wish.kind is not Kind.COUNT:
        return _choose(wish, host, {})
    with turn(host.claims) as mine:
        chosen = _choose(wish, host, mine.held())
        if not host.dry_run:
            mine.take(device.uuid for device in chosen.devices)
        return chosen


def _choose(wish: Wish, host: Host, claimed: Mapping[str, str]) -> Chosen:
    snapshot = host.look()
    places = _places([path for card in snapshot.cards for path in card.device.nodes.all], host)
    users = {
        str(uuid): tuple(each) for uuid, each in users_of(snapshot.cards, _holders(host), places).items()
    }
    for uuid, who in claimed.items():
        users[uuid] = (*users.get(uuid, ()), who)
    return choose(
        wish,
        snapshot,
        {card.device.uuid: users[card.device.uuid] for card in snapshot.cards if card.device.uuid in users},
    )


def _holders(host: Host) -> list[Holder]:
    """Containers that run. One that ends while it is looked at is no holder any more."""
    running = host.engine.ask("ps", "--quiet", "--no-trunc").out.split()
    if not running:
        return []
    found: list[Holder] = []
    for each in documents(host.engine.ask("container", "inspect", *running)):
        devices = loose.elements(loose.members(each.get("HostConfig")).get("Devices"))
        entries = loose.elements(loose.members(each.get("Config")).get("Env"))
        pairs = (loose.text(entry).partition("=") for entry in entries)
        labels = loose.members(loose.members(each.get("Config")).get("Labels"))
        found.append(
            Holder(
                loose.text(each.get("Name")).removeprefix("/") or loose.text(each.get("Id"))[:12],
                frozenset(loose.text(loose.members(device).get("PathOnHost")) for device in devices),
                {name: value for name, _, value in pairs},
                frozenset(loose.text(labels.get(additions.LABEL)).split(",")),
            )
        )
    return found


def _nodes(paths: tuple[str, ...], start: Start, host: Host) -> tuple[str, ...]:
    places = _places(paths, host)
    groups = [str(group) for group in host.groups(places.values())]
    if groups and host.rootless and host.engine.name == "podman":
        # There a number would be one of the container's own; podman keeps the person's groups, but only alone.
        groups = [] if start.values("group-add") else ["keep-groups"]
    return additions.node_options(paths, places, groups)


def _places(paths: list[str] | tuple[str, ...], host: Host) -> dict[str, str]:
    """Where nodes are on the host: at their own paths, but for simulated cards."""
    root = PurePosixPath(host.device_root)
    return {
        path: path if host.device_root == _DEV else str(root / PurePosixPath(path).relative_to(_DEV))
        for path in paths
    }


def _mthreads(chosen: Chosen, start: Start, host: Host) -> tuple[str, ...]:
    own = start.values("runtime")
    runtimes, default = _runtimes(host.engine)
    words = additions.mthreads_options(
        chosen.devices, runtimes=runtimes, default_runtime=default, own_runtime=own[-1] if own else None
    )
    if words is not None:
        return words
    host.say(
        f"runtime mthreads is not registered with {host.engine.name}: the cards are given as device nodes, and the "
        "image must hold the user-mode driver."
    )
    paths = tuple(dict.fromkeys(path for device in chosen.devices for path in device.nodes.all))
    tool = host.root / additions.MTHREADS_TOOL.lstrip("/")
    tools = [Folder(str(tool), additions.MTHREADS_TOOL)] if tool.is_file() else []
    return (
        *_nodes(paths, start, host),
        *(word for each in tools for word in ("--mount", additions.mount_value(each))),
    )


def _runtimes(engine: Engine) -> tuple[tuple[str, ...], str]:
    if engine.name != DOCKER:
        return (), ""
    try:
        told = loose.members(jsontext.parse(engine.ask("info", "--format", "{{json .}}").out, "docker info"))
    except WireError:
        return (), ""
    return tuple(loose.members(told.get("Runtimes"))), loose.text(told.get("DefaultRuntime"))


def _maca(start: Start, host: Host, *, needed: bool) -> tuple[str, ...]:
    """The host's MXMACA, as far as neither the person nor the image brings one."""
    if start.image is None or (start.maca is not None and start.maca.strip() == NONE):
        return ()
    folders = host_folders(start.maca, host.root)
    brought = person.mount_targets(start)
    wanted = [path for path in (MACA_LINK, DRIVER_LINK) if path not in brought]
    if not wanted or not (needed or start.asks_us):
        return ()
    platform = (start.values("platform") or [host.environment.get("DOCKER_DEFAULT_PLATFORM", "")])[-1]
    image = _image(start, host, platform)
    own = (
        frozenset[str]() if image is None or start.force else _own(image, start.image, platform, wanted, host)
    )
    given = tuple(folder for folder in folders if folder.path in wanted and folder.path not in own)
    if MACA_LINK in wanted and MACA_LINK not in own and not any(each.path == MACA_LINK for each in given):
        raise HostError(
            f"there is no MXMACA for the container: this host has none at {host.root / MACA_LINK.lstrip('/')}, and "
            f"image {start.image:.200} has none of its own; install it, name one with --maca=PATH, or write "
            "--maca=none."
        )
    if start.maca is not None and MACA_LINK in own:
        host.say(
            f"image {start.image:.200} has an MXMACA of its own, which is used: --maca-force would mount "
            f"{start.maca:.200} over it."
        )
    return additions.maca_options(given, {} if image is None else image.env, person.variables(start))


def _image(start: Start, host: Host, platform: str) -> Image | None:
    """The image, fetched first as `run` would fetch it."""
    name = start.image or ""
    policy = (start.values("pull") or ["missing"])[-1]
    image = find_image(host.engine, name, platform)
    if policy == "never" or (image is not None and policy != "always"):
        return image
    if host.dry_run:
        if image is None:
            host.say(
                f"image {name:.200} is not here and --dry-run fetches nothing: taken for one without MXMACA."
            )
        return image
    pull(host.engine, name, platform, quiet=bool(start.values("q", "quiet")))
    return find_image(host.engine, name, platform)


def _own(image: Image, name: str, platform: str, folders: list[str], host: Host) -> frozenset[str]:
    if host.engine.name not in _CANNOT_LOOK:
        return Contents(host.engine, host.cache).own_folders(image, name, platform, folders)
    if additions.MACA_PATH in image.env:
        return frozenset(folders)
    host.say(
        f"{host.engine.name} cannot show what is in image {name:.200}, which does not set MACA_PATH: the host's MXMACA "
        "is mounted; write --maca=none to keep the image's."
    )
    return frozenset()
