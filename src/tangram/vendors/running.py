"""What a pod that has its node asks for: the resources that its kubelet counted, and no rule.

Admission judges what may start. A pod that runs holds its cards whatever admission thinks of it today: it may be
privileged, its annotations may hold words that no rule knows, it may be older than a rule. So nothing is refused here.
An amount that cannot be read counts as all of a card, because counting too little sells a card twice.
"""

from tangram.model.cards import Vendor
from tangram.model.pods import Pod
from tangram.model.requests import ContainerAsk, HostAsk, Request
from tangram.vendors.host import counted_amounts, read_host
from tangram.vendors.protocol import RunningReading
from tangram.vendors.registry import rules_for_all
from tangram.vendors.renaming import running_with_usual_names
from tangram.vendors.settings import DEFAULT_SETTINGS, AdmissionSettings


def running_request(pod: Pod, settings: AdmissionSettings = DEFAULT_SETTINGS) -> Request:
    """The pod's request, which asks for no card where its kubelet counted none. Never raises.

    How the pod wanted to be placed is not part of it: it is placed.
    """
    pod = running_with_usual_names(pod, settings.renamed)
    readings = [rules.read_running(pod) for rules in rules_for_all(settings)]
    asking = [reading for reading in readings if any(reading.asks)]
    return Request(
        pod=pod.ref,
        containers=tuple(
            ContainerAsk(
                container.name, container.role, tuple(ask for reading in asking for ask in reading.asks[at])
            )
            for at, container in enumerate(pod.containers)
        ),
        qos=next((each.qos for each in asking if each.qos is not None), None),
        app_class=next((each.app_class for each in asking if each.app_class is not None), None),
        one_card=_sharing_one_card(asking),
        host=_host(pod),
        priority=pod.priority,
    )


def _sharing_one_card(asking: list[RunningReading]) -> Vendor | None:
    """Whose slices share one card, by the rule of admission: a single container has none to share it with."""
    for reading in asking:
        asks = [of_container[0] for of_container in reading.asks if of_container]
        if reading.one_card and (len(asking) == 1 or len(asks) > 1):
            return asks[0].vendor
    return None


def _host(pod: Pod) -> HostAsk:
    host = read_host(pod)
    return host if isinstance(host, HostAsk) else HostAsk(counted=counted_amounts(pod))
