"""What stays after a clean-up, and why, in sentences. Only what is really there is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from tangram.services.installation.cleaning_agents import AgentPod, Holder
from tangram.services.installation.cleaning_marks import Marks
from tangram.services.installation.cleaning_report import Left
from tangram.services.installation.standing import VENDORS
from tangram.services.installation.wording import by_value, counted
from tangram.wire.agent_state import AGENT
from tangram.wire.inventory import INVENTORY
from tangram.wire.koordinator import definition
from tangram.wire.node_facts import read_facts

_SYSTEM_NAMESPACES: Final = frozenset({"kube-system", "default", "kube-public", "kube-node-lease"})
_FILES: Final = "/run/tangram, /var/run/cdi/tangram.dev-gpu_*, a file for koordlet, logs in /var/log/metax"


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered of a node once it has been judged: nodes are large, and there may be thousands."""

    marks: Marks
    resources: tuple[str, ...]
    """Names of cards that its kubelet still counts, and that nobody offers any more."""
    had_agent: bool
    """Whether an agent of ours was here until now."""

    @property
    def served(self) -> bool:
        """Whether pods may hold cards that an agent of ours gave them."""
        return self.had_agent or bool(self.resources)


def trace_of(node: Mapping[str, object], marks: Marks, *, attended: bool) -> Trace:
    """What is remembered of it. One that another agent of ours attends to has nothing that stays behind."""
    facts = read_facts(node)
    had_agent = not attended and (AGENT in facts.annotations or INVENTORY in facts.annotations)
    names = () if attended else sorted(VENDORS & set(facts.capacity))
    idle = (name for name in names if had_agent or not facts.counted(name).usable)
    return Trace(marks=marks, resources=tuple(idle), had_agent=had_agent)


class Remains(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the sentences are made from."""

    traces: Sequence[Trace]
    holders: Sequence[Holder]
    others: Sequence[AgentPod]
    kept_objects: Mapping[str, str]
    device_kind: bool
    namespace: str
    whole_cluster: bool


def what_stays(remains: Remains) -> list[Left]:
    """In the order in which somebody who uninstalls would ask."""
    parts = (_holding, _resources, _files, _other_installations, _of_others, _forgotten, _cordons, _cluster)
    return [left for part in parts for left in part(remains)]


def _holding(remains: Remains) -> Iterator[Left]:
    nodes = {trace.marks.node for trace in remains.traces if trace.served}
    names = sorted(each.pod for each in remains.holders if each.node in nodes)
    if names:
        yield Left(
            what=f"{counted(len(names), 'pod')} with cards",
            why="they run on and keep their cards, annotations, CDI files and slices; a container of theirs that "
            "restarts waits until gpu-device is back",
            names=names,
        )


def _resources(remains: Remains) -> Iterator[Left]:
    pairs = ((name, trace.marks.node) for trace in remains.traces for name in trace.resources)
    groups = by_value(pairs)
    if groups:
        names = sorted({node for nodes in groups.values() for node in nodes})
        yield Left(
            what=", ".join(sorted(groups)),
            why=f"kubelets keep such a name in the status of {counted(len(names), 'node')}: Allocatable is 0 at once, "
            "Capacity after five minutes",
            names=names,
        )


def _files(remains: Remains) -> Iterator[Left]:
    names = sorted(trace.marks.node for trace in remains.traces if trace.had_agent)
    if names:
        yield Left(
            what=f"files on {counted(len(names), 'node')} ({_FILES})",
            why="pods that run need theirs; all but the logs are gone with the next boot",
            names=names,
        )


def _other_installations(remains: Remains) -> Iterator[Left]:
    groups: dict[str, list[AgentPod]] = {}
    for pod in remains.others:
        groups.setdefault(f"{pod.chart or 'Tangram'} in {pod.namespace}", []).append(pod)
    for where, pods in sorted(groups.items()):
        nodes = sorted({pod.node for pod in pods if pod.node})
        roles = " and ".join(sorted({role for pod in pods for role in pod.roles}))
        yield Left(
            what=f"what {where} keeps up on {counted(len(nodes), 'node')}",
            why=f"its {roles} runs there",
            names=nodes,
        )


def _of_others(remains: Remains) -> Iterator[Left]:
    pairs = (
        (who, f"{trace.marks.node} {key}") for trace in remains.traces for key, who in trace.marks.others
    )
    for who, names in by_value(pairs).items():
        yield Left(
            what=f"{counted(len(names), 'label or annotation', 'labels and annotations')} about cards",
            why=f"{who} wrote them last",
            names=names,
        )
    for spoken, who in remains.kept_objects.items():
        yield Left(what=spoken, why=f"{who} wrote it as well")


def _forgotten(remains: Remains) -> Iterator[Left]:
    names = [f"{trace.marks.node} {key}" for trace in remains.traces for key in trace.marks.forgotten]
    if names:
        yield Left(
            what=f"{counted(len(names), 'label or annotation', 'labels and annotations')} about cards",
            why="the API server keeps no more who wrote them; docs/uninstall.md says how to remove them",
            names=names,
        )


def _cordons(remains: Remains) -> Iterator[Left]:
    names = [trace.marks.node for trace in remains.traces if trace.marks.cordoned]
    if names:
        yield Left(
            what=f"cordons of cards on {counted(len(names), 'node')} (hami.io/device-cordon)",
            why="people decide on these: tangram uncordon, or kubectl annotate node NODE hami.io/device-cordon-",
            names=names,
        )


def _cluster(remains: Remains) -> Iterator[Left]:
    if remains.whole_cluster and remains.namespace not in _SYSTEM_NAMESPACES:
        yield Left(
            what=f"namespace {remains.namespace}",
            why="others may be in it: kubectl delete namespace if none are",
        )
    if remains.whole_cluster and remains.device_kind:
        yield Left(
            what=f"the kind {definition.NAME}",
            why="without it every Device would go, and Koordinator may use it",
        )


def nodes_among(traces: Iterable[Trace]) -> list[Marks]:
    """Those from which something has to go."""
    return [trace.marks for trace in traces if trace.marks]
