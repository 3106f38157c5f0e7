"""kube-scheduler's configuration, where it can be found: in ConfigMaps of the namespaces where schedulers live."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tangram.daemon.yaml_text import UnreadableYaml, parse_document
from tangram.drivers.doctor.findings import Findings, fail, ok, skip, warn
from tangram.services.scheduler.checkup.naming import name_of, some_of
from tangram.services.scheduler.checkup.node_checks import announced
from tangram.services.scheduler.checkup.seeing import Scene
from tangram.vendors.names import KOORDINATOR_RESOURCES
from tangram.vendors.registry import names_of_others
from tangram.wire import loose
from tangram.wire.errors import WireError
from tangram.wire.extender_config import (
    ALL_NODES,
    KIND,
    MANAGED,
    NEVER_ADVERTISED,
    Configuration,
    Extender,
    read_configuration,
)
from tangram.wire.scheduler_config import read_scheduler_config

CHECK = "kube-scheduler"
OWN_KEY = "scheduler.yaml"
_RARELY_ANNOUNCED = NEVER_ADVERTISED | KOORDINATOR_RESOURCES


class Found(NamedTuple):
    """A kube-scheduler's configuration, and the ConfigMap and key it is in."""

    place: str
    configuration: Configuration
    left_out: frozenset[str] = frozenset()
    """Resources of vendors that the scheduler's own file beside it switches off."""


def configurations(scene: Scene) -> Findings:
    """Everything in them that would place cards wrongly or slowly."""
    if scene.config_maps.unknown:
        yield skip(
            CHECK, f"ConfigMaps may not be listed ({scene.config_maps.unknown})", "ask with more rights"
        )
        return
    placing = list(placing_cards(scene))
    if not placing:
        yield skip(
            CHECK,
            "no ConfigMap where schedulers live holds a kube-scheduler configuration with an extender for cards",
            "if it is a file on a control-plane node, compare it with tangram scheduler --print-kube-scheduler-config",
        )
        return
    if len(placing) > 1:
        places = some_of([each.place for each in placing])
        yield fail(
            CHECK,
            f"{len(placing)} kube-scheduler configurations place cards through extenders ({places}), and none of their "
            "schedulers knows what another has promised",
            "keep one of them, and remove the ConfigMap of the other",
        )
    faults = [finding for each in placing for finding in _faults(each, scene)]
    yield from faults
    if not faults and len(placing) == 1:
        yield ok(
            CHECK,
            f"the configuration in {placing[0].place} asks the extender about every node and every card",
        )


def placing_cards(scene: Scene) -> Iterator[Found]:
    """Those whose extenders decide about pods that ask for cards."""
    for each in every_configuration(scene):
        if any(extender.binds for extender in _meeting(each.configuration)):
            yield each


def every_configuration(scene: Scene) -> Iterator[Found]:
    """All that can be read, in the order of the ConfigMaps."""
    for config_map in scene.config_maps.items:
        texts = loose.text_map(config_map.get("data"))
        for key, text in texts.items():
            if KIND not in text:
                continue
            try:
                read = read_configuration(parse_document(text))
            except UnreadableYaml:
                continue
            if read is not None:
                left_out = _switched_off(texts.get(OWN_KEY, ""))
                yield Found(f"ConfigMap {name_of(config_map)}, key {key}", read, left_out)


def _switched_off(own: str) -> frozenset[str]:
    """What the scheduler's own file says; nothing where there is none, or one that the scheduler refuses too."""
    try:
        return names_of_others(read_scheduler_config(parse_document(own)).vendors)
    except (UnreadableYaml, WireError):
        return frozenset()


def _meeting(configuration: Configuration) -> list[Extender]:
    return [extender for extender in configuration.extenders if extender.meets_cards]


def _faults(found: Found, scene: Scene) -> Findings:
    place, configuration, left_out = found
    sampled = [name for name, part in configuration.percentages.items() if part != ALL_NODES]
    if sampled:
        yield fail(
            CHECK,
            f"{place}: profile {some_of(sampled)} looks at a sample of the nodes, so the best one may never be offered",
            f"write percentageOfNodesToScore: {ALL_NODES} in the profile",
        )
    meeting = _meeting(configuration)
    ours = next(extender for extender in meeting if extender.binds)
    if meeting[-1] is not ours:
        yield warn(
            CHECK,
            f"{place}: extender {meeting[-1].url} filters after {ours.url}, and may strike out the one node it chose",
            f"put {ours.url} last under extenders",
        )
    yield from _extender_faults(place, ours, announced(scene), left_out)


def _extender_faults(
    place: str, ours: Extender, nodes: dict[str, list[str]], left_out: frozenset[str]
) -> Findings:
    if ours.ignorable:
        yield fail(
            CHECK,
            f"{place}: extender {ours.url} has ignorable: true, so pods are placed without it while it is away, and "
            "start without a card",
            "write ignorable: false",
        )
    if not ours.cached:
        yield fail(
            CHECK,
            f"{place}: extender {ours.url} has no nodeCacheCapable: true, so whole nodes are sent with every pod",
            "write nodeCacheCapable: true",
        )
    needed = [name for name in MANAGED if name not in left_out]
    missing = [name for name in needed if ours.managed and name not in ours.managed]
    if missing:
        yield warn(
            CHECK,
            f"{place}: extender {ours.url} is not asked about pods that name only {some_of(missing)}",
            "add them under managedResources",
        )
    # Of Koordinator's words the extender itself counts what a node states.
    uncounted = sorted((ours.ignored & nodes.keys()) - KOORDINATOR_RESOURCES)
    if uncounted:
        yield fail(
            CHECK,
            f"{place}: ignoredByScheduler is set for {some_of(uncounted)}, and node {nodes[uncounted[0]][0]} announces "
            f"{uncounted[0]}, so kube-scheduler does not count what pods hold there",
            f"write ignoredByScheduler: false for {', '.join(uncounted)}",
        )
    unmet = sorted((ours.managed & _RARELY_ANNOUNCED) - ours.ignored - nodes.keys())
    if unmet:
        yield fail(
            CHECK,
            f"{place}: kube-scheduler counts {some_of(unmet)}, which no node announces, so no pod that names such a "
            "resource ever fits",
            f"write ignoredByScheduler: true for {', '.join(unmet)}",
        )
