"""Who is starting: from the ids in a call of the kubelet to the one pod and container they belong to.

Two records of the kubelet are asked. Its notebook (the checkpoint) names pods by UID and knows ordinary init
containers; PodResources names pods by name only and hides those. The notebook decides and PodResources must not
contradict it, so a pod made again under its name is never taken for its predecessor. Nothing here guesses: what is not
known yet is `Late`, and what cannot be known is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tangram.model.pods import Pod, Role
from tangram.model.refusals import Refusal
from tangram.services.gpu_device.codes import StartCode
from tangram.services.gpu_device.delivery import claim_in
from tangram.services.gpu_device.records import BoundPod, Late, Starting
from tangram.units.ids import PodUid
from tangram.vendors.amounts import names_any
from tangram.vendors.wording import sentence
from tangram.wire.errors import WireError, shown
from tangram.wire.kubelet.checkpoint import Checkpoint, CheckpointedAllocation
from tangram.wire.kubelet.holdings import HeldDevices, holding_exactly

_WAIT = "the kubelet asks again by itself; if it goes on, restart the kubelet"
_Names = Mapping[tuple[str, str], BoundPod]


def identify(
    resource: str,
    ids: Sequence[str],
    *,
    notes: Checkpoint | WireError,
    held: Sequence[HeldDevices] | None,
    pods: Mapping[PodUid, BoundPod],
    named: _Names,
) -> Starting | Late | Refusal:
    """The pod and containers that hold exactly these ids. Never raises.

    `held` is None while PodResources is silent. `pods` go by the UID that the kubelet knows, `named` by namespace and
    name.
    """
    if not ids:
        return Refusal(
            StartCode.START_WITHOUT_IDS,
            sentence(
                f"the kubelet announces a start that holds no {resource}",
                "a start is told apart by its ids alone",
                _WAIT,
            ),
        )
    if isinstance(notes, WireError):
        return _by_name(resource, ids, notes, held, named)
    touching = [
        entry for entry in notes.allocations if entry.resource == resource and set(entry.ids) & set(ids)
    ]
    exact = [entry for entry in touching if set(entry.ids) == set(ids)]
    if not exact:
        read = f"the kubelet's notes say of nobody that it holds {_listed(ids)} of {resource}"
        told = sentence(read, "a container is noted there before it starts", _WAIT)
        return Late(Refusal(StartCode.START_UNNOTED, told), only_name(resource, ids, held))
    owner = _owner(resource, ids, touching, held, pods)
    if isinstance(owner, Refusal):
        return owner
    bound = pods.get(owner)
    if bound is None:
        read = f"the kubelet starts a pod with UID {shown(owner)}, which the API server has not told of yet"
        told = sentence(read, "a pod's allocation is read from the API server", _WAIT)
        return Late(Refusal(StartCode.POD_UNKNOWN, told), only_name(resource, ids, held))
    return _starting(resource, ids, bound, [entry for entry in exact if entry.pod_uid == owner], held)


def _owner(
    resource: str,
    ids: Sequence[str],
    touching: Iterable[CheckpointedAllocation],
    held: Sequence[HeldDevices] | None,
    pods: Mapping[PodUid, BoundPod],
) -> PodUid | Refusal:
    """The only pod noted with any of the ids, or of several the only one that lives and that PodResources names."""
    owners = list(dict.fromkeys(entry.pod_uid for entry in touching))
    if len(owners) == 1:
        return owners[0]
    living = [bound for uid in owners if (bound := pods.get(uid)) is not None and not bound.pod.ended]
    shown_as = {_name(one) for one in holding_exactly(held or (), resource, ids)}
    if len(living) == 1 and shown_as == {_ref(living[0].pod)}:
        return living[0].kubelet_uid
    return Refusal(
        StartCode.HOLDERS_SEVERAL,
        sentence(
            f"the kubelet's notes give {_listed(ids)} of {resource} to pods {', '.join(map(shown, owners))}",
            "an id belongs to one pod, and nobody else says which",
            _WAIT,
        ),
    )


def _starting(
    resource: str,
    ids: Sequence[str],
    bound: BoundPod,
    entries: Sequence[CheckpointedAllocation],
    held: Sequence[HeldDevices] | None,
) -> Starting | Late | Refusal:
    claims = {entry.container: claim_in(entry.response()) for entry in entries}
    stranger = _stranger(bound.pod, claims)
    if stranger is not None:
        return stranger
    containers = [container for container in bound.pod.containers if container.name in claims]
    if held is not None:
        conflict = _conflict(resource, ids, bound.pod, held)
        if conflict is not None:
            return conflict
        listed = {one.container for one in holding_exactly(held, resource, ids)}
        # PodResources never shows ordinary init containers, and old kubelets do not show sidecars in it either.
        must = {each.name for each in containers if each.role is Role.APP}
        may = {each.name for each in containers if each.role is not Role.INIT}
        if not must <= listed <= may:
            return Late(
                Refusal(
                    StartCode.START_UNLISTED,
                    sentence(
                        f"PodResources and the kubelet's notes name different containers of pod {bound.pod.ref} for "
                        f"{_listed(ids)} of {resource}",
                        "both name every container but ordinary init containers",
                        _WAIT,
                    ),
                ),
                str(bound.pod.ref),
            )
    return Starting(
        bound=bound,
        resource=resource,
        ids=tuple(ids),
        containers=tuple(each.name for each in containers),
        claims={container: claim for container, claim in claims.items() if claim is not None},
    )


def _by_name(
    resource: str, ids: Sequence[str], trouble: WireError, held: Sequence[HeldDevices] | None, named: _Names
) -> Starting | Late | Refusal:
    """Without the notebook only a case in which no init container and no predecessor can be meant."""

    def unclear(why: str) -> Refusal:
        return Refusal(
            StartCode.NOTES_UNREADABLE,
            sentence(
                f"{trouble.sentence}, and {why}",
                "a start is then known only if PodResources names one container that it can be",
                "use a kubelet whose notes this release of Tangram can read",
            ),
        )

    if held is None:
        return Late(unclear("PodResources does not answer"))
    holders = holding_exactly(held, resource, ids)
    if len(holders) != 1:
        return unclear(f"PodResources names {len(holders)} containers with {_listed(ids)} of {resource}")
    (holder,) = holders
    bound = named.get(_name(holder))
    if bound is None or bound.pod.ended or bound.pod.terminating:
        # A pod on its way out may already have a successor of the same name.
        return Late(unclear("the API server has not told of its pod yet"), "/".join(_name(holder)))
    if any(each.role is Role.INIT and names_any(each, (resource,)) for each in bound.pod.containers):
        return unclear(f"pod {bound.pod.ref} has an init container with {resource}, which PodResources hides")
    refusal = _stranger(bound.pod, (holder.container,)) or _conflict(resource, ids, bound.pod, held)
    if refusal is not None:
        return refusal
    return Starting(bound=bound, resource=resource, ids=tuple(ids), containers=(holder.container,))


def _stranger(pod: Pod, containers: Iterable[str]) -> Refusal | None:
    known = {container.name for container in pod.containers}
    unknown = [name for name in containers if name not in known]
    if not unknown:
        return None
    return Refusal(
        StartCode.CONTAINER_UNKNOWN,
        sentence(
            f"the kubelet starts container {shown(unknown[0])} of pod {pod.ref}, which has only "
            f"{', '.join(sorted(known))}",
            "a container that starts is one of its pod's",
            "delete the pod and let it be made again",
        ),
    )


def _conflict(resource: str, ids: Sequence[str], pod: Pod, held: Iterable[HeldDevices]) -> Refusal | None:
    others = {
        _name(one)
        for one in held
        if one.resource == resource and set(one.ids) & set(ids) and _name(one) != _ref(pod)
    }
    if not others:
        return None
    return Refusal(
        StartCode.HOLDERS_DISAGREE,
        sentence(
            f"the kubelet starts pod {pod.ref} with {_listed(ids)} of {resource}, and PodResources gives them to "
            f"{', '.join(sorted(map('/'.join, others)))}",
            "an id belongs to one pod",
            _WAIT,
        ),
    )


def only_name(resource: str, ids: Sequence[str], held: Sequence[HeldDevices] | None) -> str:
    """`namespace/name` of the one pod that PodResources names for exactly these ids; empty where it names none."""
    names = {_name(one) for one in holding_exactly(held or (), resource, ids)}
    return "/".join(names.pop()) if len(names) == 1 else ""


def _name(one: HeldDevices) -> tuple[str, str]:
    return str(one.namespace), str(one.pod)


def _ref(pod: Pod) -> tuple[str, str]:
    return str(pod.ref.namespace), str(pod.ref.name)


def _listed(ids: Sequence[str]) -> str:
    first = shown(ids[0])
    return first if len(ids) == 1 else f"{first} and {len(ids) - 1} more"
