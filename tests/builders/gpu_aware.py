"""What kube-scheduler sends gpu-aware: pods, whole nodes, and the call around them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tangram.engine.usage import Hold
from tangram.model.nodes import Node
from tangram.units.ids import CardUuid
from tangram.wire.metax_listing import ListedCard, encode_listing
from tangram.wire.metax_topology import LOSSES, SCORES
from tangram.wire.publication import publication

Object = dict[str, Any]
GPU = "metax-tech.com/gpu"
HELD = Hold(1, 100, 1)


def asking_pod(count: int | str | None = None, name: str = "job") -> Object:
    container: Object = {"name": "main", "image": "x"}
    if count is not None:
        container["resources"] = {"limits": {GPU: str(count)}, "requests": {GPU: str(count)}}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"containers": [container]},
    }


def offering_node(
    name: str,
    cards: int = 8,
    *,
    scores: Mapping[int, int] | None = None,
    losses: Mapping[int, int] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """A Node object that counts its cards, with figures where given."""
    written = dict(annotations or {})
    for key, figures in ((SCORES, scores), (LOSSES, losses)):
        if figures is not None:
            written[key] = json.dumps({str(size): figure for size, figure in figures.items()})
    amounts = {"cpu": "64", GPU: str(cards)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": written, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {"capacity": amounts, "allocatable": amounts, "images": [{"names": ["a"], "sizeBytes": 1}]},
    }


def announced_node(node: Node, busy: Sequence[int] = (), *, without: Sequence[str] = ()) -> Object:
    """A Node object as our agent writes it, some cards held; `without` some of its annotations."""
    held: dict[CardUuid, Hold] = {node.cards[at].uuid: HELD for at in busy}
    written = publication(node.cards, node.topology, held).annotations
    kept = {key: value for key, value in written.items() if value is not None and key not in without}
    return offering_node(node.name, len(node.cards), annotations=kept)


def listed_by_a_plugin(node: Node, busy: Sequence[int]) -> str:
    """The list of a plugin that has whole cards on it too, as ours has not."""
    return encode_listing(
        [
            ListedCard(
                uuid=card.uuid,
                model="native",
                total_dev_count=1,
                available_dev_count=int(at not in busy),
                numa=0,
            )
            for at, card in enumerate(node.cards)
        ]
    )


def whole_call(pod: Object, nodes: Sequence[Object]) -> bytes:
    """As kube-scheduler writes it with nodeCacheCapable: false."""
    body: Object = {"Pod": pod, "Nodes": {"metadata": {}, "items": list(nodes)}, "NodeNames": None}
    return json.dumps(body).encode()


def names_call(pod: Object, names: Sequence[str]) -> bytes:
    """As kube-scheduler writes it with nodeCacheCapable: true."""
    return json.dumps({"Pod": pod, "Nodes": None, "NodeNames": list(names)}).encode()
