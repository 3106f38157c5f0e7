"""Programs of other makers that place pods, report cards or announce them, told by the pods they run in.

Charts and manifests name and label things as they like: the pods of koord-device-daemon even carry koordlet's label.
What does not change is the program itself, so a part is known by the command of a container, by its image or by its
name, and by a label only where these say nothing. Only what has pods is said to run: a Deployment of none places none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from tangram.services.scheduler.checkup.naming import OURS
from tangram.wire import loose


class Part(StrEnum):
    KOORD_SCHEDULER = "koord-scheduler"
    KOORD_MANAGER = "koord-manager"
    KOORDLET = "koordlet"
    DEVICE_DAEMON = "koord-device-daemon"
    HAMI_SCHEDULER = "HAMi's scheduler"
    METAX_SCHEDULER = "MetaX's gpu-scheduler"
    METAX_AWARE = "MetaX's gpu-aware"
    METAX_PLUGIN = "MetaX's gpu-device"
    MTHREADS_SCHEDULER = "Moore Threads' scheduler"
    MTHREADS_PLUGIN = "Moore Threads' device plugin"


PLUGINS: Final = frozenset({Part.METAX_PLUGIN, Part.MTHREADS_PLUGIN})
"""What announces cards to a kubelet, as our agent does."""

_PROGRAMS: Final[Mapping[str, Part]] = {
    **{part.value: part for part in (Part.KOORD_SCHEDULER, Part.KOORD_MANAGER, Part.KOORDLET)},
    Part.DEVICE_DAEMON.value: Part.DEVICE_DAEMON,
    "vgpu-scheduler-extender": Part.HAMI_SCHEDULER,
    "hami-scheduler": Part.HAMI_SCHEDULER,
    "gpu-scheduler": Part.METAX_SCHEDULER,
    "metax-gpu-scheduler": Part.METAX_SCHEDULER,
    "gpu-aware": Part.METAX_AWARE,
    "metax-gpu-aware": Part.METAX_AWARE,
    "gpu-device": Part.METAX_PLUGIN,
    "metax-gpu-device": Part.METAX_PLUGIN,
    "mt-gpu-scheduler": Part.MTHREADS_SCHEDULER,
    "mt-gpu-device-plugin": Part.MTHREADS_PLUGIN,
    "mt-universal-gpu-device-controller": Part.MTHREADS_PLUGIN,
}
_KOORDINATORS_LABEL: Final = "koord-app"
_AGENT: Final = "gpu-device"
_CONFIG_NAMESPACE: Final = "--config-namespace"
_YES: Final = frozenset({"true", "t", "1"})
ALL_ALPHA: Final = "AllAlpha"


class PartPod(msgspec.Struct, frozen=True):
    """A pod in which such a program runs."""

    part: Part
    name: str
    node: str
    gates: dict[str, bool] = {}

    def has(self, gate: str) -> bool:
        """Whether an alpha gate, off unless somebody says otherwise, is on."""
        return self.gates.get(gate, self.gates.get(ALL_ALPHA, False))


def parts_in(
    name: str, node: str, spec: Mapping[str, object], labels: Mapping[str, object]
) -> Iterator[PartPod]:
    """The programs of others in a pod, each once; where none is known, what Koordinator's label says."""
    found: dict[Part, dict[str, bool]] = {}
    for each in loose.elements(spec.get("containers")):
        container = loose.members(each)
        words = words_of(container)
        names = [
            _program(words[0]) if words else "",
            _program(loose.text(container.get("image"))),
            loose.text(container.get("name")),
        ]
        # Services of ours have names in common with those they stand in for.
        if any(OURS in named for named in (*names, *words[:1])):
            continue
        part = next((_PROGRAMS[named] for named in names if named in _PROGRAMS), None)
        if part is not None:
            found.setdefault(part, feature_gates(words))
    labelled = _PROGRAMS.get(loose.text(labels.get(_KOORDINATORS_LABEL)))
    if not found and labelled is not None:
        found[labelled] = {}
    for part, gates in found.items():
        yield PartPod(part, name, node, gates)


def config_places_in(spec: Mapping[str, object]) -> Iterator[str]:
    """Where a node agent of ours that runs in the pod looks for the device ConfigMap."""
    for each in loose.elements(spec.get("containers")):
        words = words_of(loose.members(each))
        if _AGENT not in words[:2] or _program(words[0]) not in (OURS, _AGENT):
            continue
        for place, word in enumerate(words):
            option, _, value = word.partition("=")
            written = value or (words[place + 1] if place + 1 < len(words) else "")
            if option == _CONFIG_NAMESPACE and written:
                yield written


def words_of(container: Mapping[str, object]) -> list[str]:
    """A container's command line."""
    return [
        loose.text(word) for field in ("command", "args") for word in loose.elements(container.get(field))
    ]


def feature_gates(words: Sequence[str]) -> dict[str, bool]:
    """What a command line says about gates, in either spelling of the option."""
    gates: dict[str, bool] = {}
    for place, word in enumerate(words):
        option, _, value = word.partition("=")
        if option.lstrip("-") == "feature-gates" and option.startswith("-"):
            written = value or (words[place + 1] if place + 1 < len(words) else "")
            pairs = (part.strip().partition("=") for part in written.split(","))
            gates |= {gate: state.lower() in _YES for gate, _, state in pairs if gate}
    return gates


def _program(path: str) -> str:
    """The last part of a path or of an image, without tag and digest."""
    return path.partition("@")[0].rsplit("/", 1)[-1].partition(":")[0]
