"""Who places pods that ask for cards: which scheduler, on which nodes, and where two of them do.

A pod says by whom it is placed, and nothing else is believed here: a scheduler that runs and is named by no pod places
nothing. Two that fill the same node are not wrong in themselves. What matters is whether each can read what the other
gave away, and whether anybody on the node would notice the same card given twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from tangram.drivers.doctor.findings import Findings, fail, ok, skip, warn
from tangram.services.scheduler.checkup.configuration_checks import every_configuration, placing_cards
from tangram.services.scheduler.checkup.naming import HAMI, counted, name_of, some_of
from tangram.services.scheduler.checkup.node_checks import managed_nodes
from tangram.services.scheduler.checkup.parts import Part
from tangram.services.scheduler.checkup.pods_seen import DEFAULT_SCHEDULER, CardPod
from tangram.services.scheduler.checkup.seeing import Scene
from tangram.services.scheduler.settings import HAMI_NAME, KOORDINATOR_NAME, TANGRAM_NAME
from tangram.units.durations import age_text

CHECK: Final = "placers"
LOOKED_AT_WITHIN_S: Final = 60.0
"""A scheduler that runs says something about a pod sooner than that."""


class Placer(StrEnum):
    TANGRAM = "Tangram"
    KOORDINATOR = "Koordinator"
    HAMI = "HAMi"
    METAX = "MetaX's scheduler"
    MTHREADS = "Moore Threads' scheduler"
    KUBERNETES = "kube-scheduler alone"
    OTHER = "another scheduler"


_USUAL_NAMES: Final[Mapping[str, Placer]] = {
    TANGRAM_NAME: Placer.TANGRAM,
    KOORDINATOR_NAME: Placer.KOORDINATOR,
    HAMI_NAME: Placer.HAMI,
    "gpu-scheduler": Placer.METAX,
    "metax-gpu-scheduler": Placer.METAX,
    "mt-gpu-scheduler": Placer.MTHREADS,
    DEFAULT_SCHEDULER: Placer.KUBERNETES,
}
_WRITE_NOTHING: Final = (Placer.KUBERNETES, Placer.METAX, Placer.OTHER)
_KOORDINATORS_MAP = "koord-scheduler-config"


def placers(scene: Scene) -> Findings:
    """Each that pods name, with what it has placed; and pods that name nobody who answers."""
    if scene.pods.unknown:
        yield skip(
            CHECK,
            f"the pods are not known ({scene.pods.unknown})",
            "ask with more rights, or with a longer --timeout",
        )
        return
    if not scene.pods.asking:
        yield ok(CHECK, "no pod asks for cards")
        return
    by_name: dict[str, list[CardPod]] = {}
    for pod in scene.pods.asking:
        by_name.setdefault(pod.scheduler, []).append(pod)
    known = scheduler_names(scene)
    for name, pods in sorted(by_name.items()):
        nodes = sorted({pod.node for pod in pods if pod.node})
        placed, waiting = sum(bool(pod.node) for pod in pods), sum(not pod.node for pod in pods)
        where = f" on {some_of(nodes)}" if nodes else ""
        still = f", and {counted(waiting, 'pod')} {'waits' if waiting == 1 else 'wait'}" if waiting else ""
        yield ok(
            CHECK,
            f"{known.get(name, Placer.OTHER)} ({name}) has placed {counted(placed, 'pod')}{where}{still}",
        )
        yield from _unserved(scene, name, pods)


def contested_names(scene: Scene) -> Findings:
    """Names that a scheduler of somebody else's answers to, and ours as well."""
    for name, part in ((KOORDINATOR_NAME, Part.KOORD_SCHEDULER), (HAMI_NAME, Part.HAMI_SCHEDULER)):
        running = scene.pods.running(part)
        served = [
            place
            for place, configuration, _ in placing_cards(scene)
            if name in configuration.percentages and HAMI not in place
        ]
        if running and served:
            yield fail(
                CHECK,
                f"{served[0]} serves schedulerName {name} for Tangram while {part} runs ({running[0].name}): both take "
                "the same pods, and each binds some of them with cards that the other has given away",
                f"take {name} out of its profiles and of Tangram's --also-serve, or uninstall {part}",
            )


def shared_nodes(scene: Scene) -> Findings:
    """Nodes that more than one of them fills."""
    check = "shared-nodes"
    if scene.pods.unknown or scene.nodes.unknown:
        return
    known = scheduler_names(scene)
    filling: dict[str, set[Placer]] = {}
    for pod in scene.pods.asking:
        if pod.node:
            filling.setdefault(pod.node, set()).add(known.get(pod.scheduler, Placer.OTHER))
    agents = managed_nodes(scene)
    described = {name_of(device) for device in scene.devices.items}
    groups: dict[tuple[str, bool, bool], list[str]] = {}
    for node, several in sorted(filling.items()):
        if len(several) > 1:
            blind = Placer.KOORDINATOR in several and not scene.devices.unknown and node not in described
            groups.setdefault((" and ".join(sorted(several)), node in agents, blind), []).append(node)
    for (several, agent, blind), nodes in groups.items():
        read = f"{several} fill {some_of(nodes)}"
        if not agent:
            yield fail(
                check,
                f"{read}, where a vendor's plugin serves: nothing there notices a card that both have given away",
                "let one of them place pods on a node, by node selectors or taints, or run tangram gpu-device there",
            )
        elif blind:
            yield fail(
                check,
                f"{read}, which no Device describes: koord-scheduler sees no cards there, and sends pods without one",
                "see what device-kind and devices say, or keep pods of koord-scheduler off these nodes",
            )
        elif any(unwritten in several for unwritten in _WRITE_NOTHING):
            yield warn(
                check,
                f"{read}, and not all of them write down which card a pod was given: of two pods that meet on a card "
                "Tangram's agent refuses the later",
                "let Tangram's scheduler place all pods with cards there",
            )
        else:
            yield warn(
                check,
                f"{read}: each reads from the pods what the other gave away, and of two that gave the same card at "
                "once Tangram's agent refuses the later",
                "nothing must be done; with one of them per node no pod has to be made a second time",
            )
    if not groups and filling:
        yield ok(check, "no node is filled by two schedulers")


def peers(scene: Scene) -> Findings:
    """Programs of other makers that run here, whoever is placed by them."""
    check = "peers"
    if scene.pods.unknown:
        return
    told: list[str] = []
    for part in Part:
        pods = scene.pods.running(part)
        if pods:
            nodes = sorted({each.node for each in pods if each.node})
            told.append(f"{part} ({some_of(nodes)})" if nodes else f"{part} (not placed yet)")
    yield ok(
        check,
        f"beside Tangram run {'; '.join(told)}"
        if told
        else "no part of Koordinator, of HAMi or of a vendor's scheduling runs here",
    )


def scheduler_names(scene: Scene) -> Mapping[str, Placer]:
    """Whose a scheduler name is: by its configuration where one is found, else by what it is usually called."""
    known = dict(_USUAL_NAMES)
    if not scene.pods.running(Part.HAMI_SCHEDULER):
        # Tangram serves the name too, for the pods of those who come from HAMi.
        known[HAMI_NAME] = Placer.TANGRAM
    for place, configuration, _ in every_configuration(scene):
        if _KOORDINATORS_MAP in place:
            known |= dict.fromkeys(configuration.percentages, Placer.KOORDINATOR)
    for place, configuration, _ in placing_cards(scene):
        placer = Placer.HAMI if HAMI in place else Placer.TANGRAM
        known |= dict.fromkeys(configuration.percentages, placer)
    return known


def _unserved(scene: Scene, name: str, pods: list[CardPod]) -> Findings:
    waits = [
        pod
        for pod in pods
        if not pod.node
        and not pod.looked_at
        and pod.made is not None
        and scene.now - pod.made > LOOKED_AT_WITHIN_S
    ]
    if waits:
        longest = min(waits, key=lambda pod: pod.made or 0)
        since = age_text(scene.now - (longest.made or 0))
        yield fail(
            CHECK,
            f"{counted(len(waits), 'pod')} with schedulerName {name} ({some_of([pod.full_name for pod in waits])}) "
            f"waited up to {since} and no scheduler has looked at any of them",
            "start Tangram's scheduler, and the kube-scheduler beside it"
            if name == TANGRAM_NAME
            else f"run a scheduler that serves {name}, or make the pods again with schedulerName: {TANGRAM_NAME}",
        )
