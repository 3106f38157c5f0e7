"""The ConfigMap of card modes: that it is where agents look, that it can be read, and that whom it names is there.

An agent that cannot read it goes on with what it read last, so a slip shows only on its next start or on a node that
is new. Here it shows at once, for every node that is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tangram.daemon.yaml_text import UnreadableYaml, parse_document
from tangram.drivers.doctor.findings import Findings, fail, ok, skip, warn
from tangram.services.scheduler.checkup.naming import Object, name_of, some_of
from tangram.services.scheduler.checkup.seeing import SYSTEM, Scene
from tangram.units.ids import NodeName
from tangram.wire import loose
from tangram.wire.device_config import CONFIG_MAPS, KEYS, NODES_KEY, VERSION_KEY, read_device_config
from tangram.wire.errors import WireError

CHECK: Final = "device-config"
_WITHOUT_NAMESPACE: Final = "default"
_ANY_NODE: Final = NodeName("*")
"""No node is called so, and so what is read for it is the cluster's part."""


def device_configs(scene: Scene) -> Findings:
    """Every ConfigMap of such a name that says something about modes."""
    if scene.device_configs.unknown:
        yield skip(
            CHECK, f"ConfigMaps may not be listed ({scene.device_configs.unknown})", "ask with more rights"
        )
        return
    every = [each for each in scene.device_configs.items if _texts(each)]
    places = scene.pods.config_places
    found = [each for each in every if not places or _namespace(each) in places]
    yield from _unread([each for each in every if each not in found], sorted(places))
    if len(found) > 1:
        yield warn(
            CHECK,
            f"modes of cards are written in {some_of([name_of(each) for each in found])}: an agent follows one "
            f"namespace (--config-namespace), and there {CONFIG_MAPS[0]} before {CONFIG_MAPS[1]}",
            "keep the one that the agents follow, and delete the others",
        )
    doubts = list(_perhaps_unread(found)) if not places and len(found) == 1 else []
    yield from doubts
    faults = [finding for each in found for finding in _faults(each, scene)]
    yield from faults
    if len(found) == 1 and not faults and not doubts:
        yield ok(CHECK, f"ConfigMap {name_of(found[0])} can be read for every node")


def _unread(found: Iterable[Object], places: list[str]) -> Findings:
    """Those in namespaces in which no agent looks: most often applied without a namespace."""
    for each in found:
        yield warn(
            CHECK,
            f"ConfigMap {name_of(each)} is not read by Tangram's agents: they look in namespace "
            f"{some_of(places)} (--config-namespace)",
            f"write metadata.namespace: {places[0]} into it, apply it again and delete this one; or set the charts' "
            f"gpuDevice.configNamespace={_namespace(each)}",
        )


def _perhaps_unread(found: Iterable[Object]) -> Findings:
    """Where no agent's pod tells in which namespace it looks, the one that kubectl takes by itself is suspicious."""
    for each in found:
        if _namespace(each) == _WITHOUT_NAMESPACE:
            yield warn(
                CHECK,
                f"ConfigMap {name_of(each)} is in the namespace of what is applied without one, and no pod of an agent "
                "shows in which namespace agents look (--config-namespace)",
                f"apply it to the namespace of the charts' gpuDevice.configNamespace, {SYSTEM} if that was not set, "
                "and delete this one",
            )


def _namespace(thing: Object) -> str:
    return loose.text(loose.members(thing.get("metadata")).get("namespace"))


def _texts(config_map: Object) -> dict[str, str]:
    """Its keys that say something about modes; HAMi has a ConfigMap of the same name with none of them."""
    data = loose.text_map(config_map.get("data"))
    return {key: data[key] for key in KEYS if key in data}


def _faults(config_map: Object, scene: Scene) -> Findings:
    name = name_of(config_map)
    try:
        data = _parsed(_texts(config_map))
        read_device_config({key: data[key] for key in data if key != NODES_KEY}, _ANY_NODE)
    except (WireError, UnreadableYaml) as error:
        sentence = error.sentence if isinstance(error, WireError) else str(error)
        yield fail(
            CHECK,
            f"ConfigMap {name}: {sentence}",
            "correct it; until then agents go on with what they read before",
        )
        return
    for sentence in _node_faults(data):
        yield fail(
            CHECK,
            f"ConfigMap {name}: {sentence}",
            "correct it; until then the agent of that node goes on with what it read before",
        )
    strangers = sorted(_named(data) - {name_of(node) for node in scene.nodes.items})
    if strangers and not scene.nodes.unknown:
        yield warn(
            CHECK,
            f"ConfigMap {name} names {some_of(strangers)} under {NODES_KEY}, and there is no such node",
            "write nodeName as kubectl get nodes shows it, or take the entry out",
        )


def _parsed(texts: Mapping[str, str]) -> dict[str, object]:
    """Raises `UnreadableYaml`, with the key in its message."""
    data: dict[str, object] = {}
    for key, text in texts.items():
        try:
            data[key] = text.strip() if key == VERSION_KEY else parse_document(text)
        except UnreadableYaml as error:
            raise UnreadableYaml(f"{key}, {error}") from None
    return data


def _node_faults(data: Mapping[str, object]) -> Iterator[str]:
    rows = data.get(NODES_KEY)
    if rows is not None and not loose.is_list(rows):
        yield _refusal(data, _ANY_NODE)
        return
    names = Counter(
        loose.scalar_text(loose.members(row).get("nodeName")) or "" for row in loose.elements(rows)
    )
    for position, row in enumerate(loose.elements(rows)):
        name = loose.scalar_text(loose.members(row).get("nodeName")) or ""
        sentence = _refusal({**data, NODES_KEY: [row]}, NodeName(name))
        if sentence:
            yield sentence.replace(f"{NODES_KEY}[0]", f"{NODES_KEY}[{position}]")
    for name, times in names.items():
        if name and times > 1:
            yield f"{NODES_KEY} names node {name} {times} times; leave one entry"


def _refusal(data: Mapping[str, object], node: NodeName) -> str:
    try:
        read_device_config(data, node)
    except WireError as error:
        return error.sentence
    return ""


def _named(data: Mapping[str, object]) -> set[str]:
    rows = [loose.members(row) for row in loose.elements(data.get(NODES_KEY))]
    return {name for row in rows if (name := loose.scalar_text(row.get("nodeName")))}
