"""Pods of the operator's own parts, and what keeps them from working, in the kubelet's words.

A DaemonSet tells how many of its pods are ready and nothing else. Why one is not ready stands in its pod: an image that
cannot be pulled, a container that ends again and again, a Secret that is missing. These are told with the name of the
node, because that is where somebody has to look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from tangram.services.operator.parts import payloads
from tangram.services.operator.parts.pods import COMPONENT, selector
from tangram.wire import loose

_PULLING: Final = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
)
_BACK_OFF: Final = "ImagePullBackOff"
_STARTING: Final = frozenset({"ContainerCreating", "PodInitializing", ""})
_LONGEST: Final = 300
_OWN: Final = {key: value for key, value in selector("").items() if key != COMPONENT}


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a container."""

    sentence: str
    image: str = ""
    """Set where it is about pulling."""
    again: bool = False
    """It only says that pulling is tried again later; what went wrong was said before."""


class PartPod(msgspec.Struct, frozen=True, kw_only=True):
    part: str
    name: str
    uid: str
    node: str
    ready: bool
    troubles: tuple[Trouble, ...] = ()


def part_pod(pod: Mapping[str, Any]) -> PartPod | None:
    """What a pod of ours is to its part; None for a pod of somebody else's. Never raises."""
    metadata = loose.members(pod.get("metadata"))
    labels = loose.text_map(metadata.get("labels"))
    if any(labels.get(key) != value for key, value in _OWN.items()) or metadata.get("deletionTimestamp"):
        return None
    status = loose.members(pod.get("status"))
    name, part = loose.text(metadata.get("name")), payloads.part_of(labels.get(COMPONENT, ""))
    node = loose.text(loose.members(pod.get("spec")).get("nodeName"))
    return PartPod(
        part=part,
        name=name,
        uid=loose.text(metadata.get("uid")),
        node=node,
        ready=_is_ready(status),
        troubles=tuple(_troubles(part, node or "no node yet", status)),
    )


class PullWords:
    """Why an image could not be pulled, for the times between two attempts in which the kubelet only says 'later'.

    Without it the sentence would change every few minutes though nothing has changed.
    """

    def __init__(self) -> None:
        self._said: dict[tuple[str, str], str] = {}

    def told(self, pods: Iterable[PartPod]) -> dict[str, tuple[str, ...]]:
        """The sentences about every pod, by its uid."""
        found: dict[str, tuple[str, ...]] = {}
        kept: dict[tuple[str, str], str] = {}
        for pod in pods:
            sentences: list[str] = []
            for trouble in pod.troubles:
                key = (pod.uid, trouble.image)
                earlier = self._said.get(key) if trouble.again else None
                sentence = earlier or trouble.sentence
                if trouble.image:
                    kept[key] = sentence
                sentences.append(sentence)
            if sentences:
                found[pod.uid] = tuple(sentences)
        self._said = kept
        return found


def _is_ready(status: Mapping[str, object]) -> bool:
    conditions = map(loose.members, loose.elements(status.get("conditions")))
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _troubles(part: str, node: str, status: Mapping[str, object]) -> Iterator[Trouble]:
    for each in map(loose.members, loose.elements(status.get("conditions"))):
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            why = _words(each.get("message"), "the scheduler gives no reason")
            yield Trouble(sentence=f"a pod of {part} finds no node: {why}")
    for field in ("initContainerStatuses", "containerStatuses"):
        for container in map(loose.members, loose.elements(status.get(field))):
            found = _of_container(part, node, container)
            if found is not None:
                yield found


def _of_container(part: str, node: str, container: Mapping[str, object]) -> Trouble | None:
    waiting = loose.members(loose.members(container.get("state")).get("waiting"))
    reason = loose.text(waiting.get("reason"))
    image = loose.text(container.get("image"))
    if reason in _STARTING:
        return None
    words = _words(waiting.get("message"), reason)
    if reason in _PULLING:
        what = "payload image" if part == payloads.NAME else "image"
        # Newer kubelets repeat what went wrong while they wait.
        again = reason == _BACK_OFF and "ErrImagePull" not in words
        return Trouble(
            sentence=f"{what} {image} cannot be pulled on {node}: {words}", image=image, again=again
        )
    name = loose.text(container.get("name"))
    ended = loose.members(loose.members(container.get("lastState")).get("terminated"))
    if ended:
        status = loose.integer(ended.get("exitCode"))
        last = _words(ended.get("message"), f"exit status {status}")
        return Trouble(sentence=f"container {name} of {part} on {node} ends again and again: {last}")
    return Trouble(sentence=f"container {name} of {part} on {node} cannot be started: {words}")


def _words(value: object, otherwise: str) -> str:
    text = " ".join(loose.text(value).split())
    return (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...") or otherwise
