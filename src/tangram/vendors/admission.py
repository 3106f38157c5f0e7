"""From a pod as a person wrote it to a request the engine can place, or to every reason why not.

Every vendor reads its own containers; what concerns the pod as a whole is read here. A pod that names one of our
resources ends with asks or with refusals. It never ends with neither: a request that was not understood and is
dropped becomes a pod that runs without its card.
"""

from collections.abc import Collection, Iterable, Mapping

import msgspec

from tangram.model.cards import Vendor
from tangram.model.pods import NO_HINTS, Container, Pod, Role
from tangram.model.refusals import Caution, Refusal
from tangram.model.requests import ContainerAsk, Request
from tangram.vendors.amounts import names_any
from tangram.vendors.beside import faults_beside
from tangram.vendors.codes import Code
from tangram.vendors.combining import combined_cards, combined_one_card
from tangram.vendors.completed import completed
from tangram.vendors.crowded import crowded
from tangram.vendors.host import read_host
from tangram.vendors.names import KOORDINATOR_RESOURCES
from tangram.vendors.policies import read_policies
from tangram.vendors.protocol import Mutation, PodReading, Reading, SetAnnotation, VendorRules
from tangram.vendors.registry import names_of_others, rules_for_all
from tangram.vendors.renaming import (
    abandoned_names,
    mutations_with_own_names,
    pod_with_usual_names,
    told_with_own_names,
)
from tangram.vendors.settings import DEFAULT_SETTINGS, AdmissionSettings
from tangram.vendors.vendor_choice import vendor_faults
from tangram.vendors.wording import sentence

Readings = Mapping[Vendor, tuple[Reading, ...]]
"""Per vendor, its reading of each of the pod's containers."""


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a pod.

    `request` is `None` both for a pod that is none of our business and for one that is refused; `ours` tells the two
    apart, so that a refused pod is never mistaken for one that wants no card.
    """

    ours: bool
    """The pod names a resource of ours, readable or not."""
    request: Request | None = None
    refusals: tuple[Refusal, ...] = ()
    cautions: tuple[Caution, ...] = ()
    mutations: tuple[Mutation, ...] = ()


def admit(pod: Pod, settings: AdmissionSettings = DEFAULT_SETTINGS) -> Admission:
    """Read a whole pod. All its faults come in one answer; any of them means that nothing else of it counts.

    Of a pod that has its node already, perhaps from another scheduler, only what it asks for is read and no longer
    how it was to be placed: what it holds must be counted whatever that said.
    """
    if pod.node_name is not None and pod.hints != NO_HINTS:
        pod = msgspec.structs.replace(pod, hints=NO_HINTS)
    renamed = settings.renamed
    if not renamed:
        return _admit(pod, settings)
    read = _admit(pod_with_usual_names(pod, renamed), settings)
    faults = abandoned_names(pod, renamed)
    refusals = (*told_with_own_names(read.refusals, renamed), *faults)
    if refusals:
        return Admission(ours=read.ours or bool(faults), refusals=refusals)
    return msgspec.structs.replace(
        read,
        cautions=told_with_own_names(read.cautions, renamed),
        mutations=mutations_with_own_names(read.mutations, renamed),
    )


def _admit(pod: Pod, settings: AdmissionSettings) -> Admission:
    vendors = rules_for_all(settings)
    bound = pod.node_name is not None
    if not any(_is_ours(container, vendors, settings.vendors) for container in pod.containers):
        return Admission(ours=False, refusals=(*pod.problems, *_no_containers(pod)))
    too_many = crowded(len(pod.containers))
    if too_many:
        return Admission(ours=True, refusals=too_many)
    readings: Readings = {
        rules.vendor: tuple(_read(rules, pod, container) for container in pod.containers) for rules in vendors
    }
    pod_readings = {
        rules.vendor: rules.read_pod(pod, readings[rules.vendor])
        for rules in vendors
        if any(names_any(container, rules.resource_names) for container in pod.containers)
    }
    refusals = (
        *pod.problems,
        *_no_containers(pod),
        *_privileged(pod),
        *(fault for each in pod.containers for fault in vendor_faults(each, vendors, bound=bound)),
        *(() if bound else faults_beside(pod, vendors)),
        *(fault for reading in _in_order(readings, pod_readings) for fault in reading.refusals),
        *pod.hints.refusals,
    )
    mutations = tuple(
        each
        for reading in _in_order(readings, pod_readings)
        for each in reading.mutations
        if not _is_done(pod, each)
    )
    # A bound pod stays as it is; of any other its node will count what admission makes of it.
    as_stored = pod if bound else completed(pod, mutations)
    request = _request(as_stored, readings, pod_readings)
    if isinstance(request, tuple) or refusals:
        every = refusals + (request if isinstance(request, tuple) else ())
        # Both vendors of a container find the same fault in Koordinator's words.
        return Admission(ours=True, refusals=tuple(dict.fromkeys(every)))
    return Admission(
        ours=True,
        request=request,
        cautions=tuple(each for reading in _in_order(readings, pod_readings) for each in reading.cautions),
        mutations=mutations,
    )


def _is_ours(container: Container, vendors: Iterable[VendorRules], served: Collection[Vendor]) -> bool:
    """Whether the container names a resource that somebody here must answer for."""
    if any(names_any(container, rules.resource_names) for rules in vendors):
        return True
    # Koordinator's words speak of the cards of whichever vendor stands beside them.
    return names_any(container, KOORDINATOR_RESOURCES) and not names_any(container, names_of_others(served))


def _read(rules: VendorRules, pod: Pod, container: Container) -> Reading:
    return rules.read_container(pod, container) if names_any(container, rules.resource_names) else Reading()


def _in_order(
    readings: Readings, pod_readings: Mapping[Vendor, PodReading]
) -> tuple[Reading | PodReading, ...]:
    """Container by container, then what concerns the pod."""
    by_container = zip(*readings.values(), strict=True)
    return (*(reading for of_container in by_container for reading in of_container), *pod_readings.values())


def _request(
    pod: Pod, readings: Readings, pod_readings: Mapping[Vendor, PodReading]
) -> Request | tuple[Refusal, ...]:
    policies = read_policies(pod)
    host = read_host(pod)
    cards = combined_cards(pod_readings)
    if policies.refusals or isinstance(host, tuple) or isinstance(cards, Refusal):
        of_host = host if isinstance(host, tuple) else ()
        of_cards = (cards,) if isinstance(cards, Refusal) else ()
        return (*policies.refusals, *of_cards, *of_host)
    by_container = zip(pod.containers, *readings.values(), strict=True)
    return Request(
        pod=pod.ref,
        containers=tuple(
            ContainerAsk(
                container.name, container.role, tuple(ask for reading in of_container for ask in reading.asks)
            )
            for container, *of_container in by_container
        ),
        node_policy=policies.node_policy,
        card_order=policies.card_order,
        weights=policies.weights,
        qos=next((each.qos for each in pod_readings.values() if each.qos is not None), None),
        app_class=next(
            (each.app_class for each in pod_readings.values() if each.app_class is not None), None
        ),
        cards=cards,
        zone_aware=next(
            (each.zone_aware for each in pod_readings.values() if each.zone_aware is not None), None
        ),
        numa_first=policies.numa_first,
        one_card=combined_one_card(pod_readings, readings),
        required_scope=policies.required_scope,
        host=host,
        placing=pod.placing,
        priority=pod.priority,
    )


def _is_done(pod: Pod, mutation: Mutation) -> bool:
    """Whether the pod already carries the annotation: a second webhook, or a second call, changes nothing."""
    return isinstance(mutation, SetAnnotation) and pod.annotations.get(mutation.key) == mutation.value


def _no_containers(pod: Pod) -> tuple[Refusal, ...]:
    if any(container.role is Role.APP for container in pod.containers):
        return ()
    return (
        Refusal(
            Code.NO_CONTAINERS,
            sentence(
                f"pod {pod.ref} lists none under spec.containers",
                "a pod has at least one container that is no init container",
                "add the container that is to run",
                peer="pod has no containers",
            ),
        ),
    )


def _privileged(pod: Pod) -> tuple[Refusal, ...]:
    return tuple(
        Refusal(
            Code.PRIVILEGED,
            sentence(
                f"container {container.name} is privileged in a pod that asks for cards",
                "a privileged container sees every card of its node, whatever the pod was given",
                "remove privileged: true, or the request for cards",
            ),
            container.name,
        )
        for container in pod.containers
        if container.privileged
    )
