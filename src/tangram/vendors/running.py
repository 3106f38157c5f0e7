"""What a pod that has its node asks for: the resources that its kubelet counted, and no rule.

Admission judges what may start. A pod that runs holds its cards whatever admission thinks of it today: it may be
privileged, its annotations may hold words that no rule knows, it may be older than a rule. So nothing is refused here.
An amount that cannot be read counts as all of a card, because counting too little sells a card twice.
"""

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
        one_card=_shares_one_card(asking),
        host=_host(pod),
        priority=pod.priority,
    )


def _shares_one_card(asking: list[RunningReading]) -> bool:
    """Whether all containers share one card: of two vendors in one pod that cannot hold for both."""
    return len(asking) == 1 and asking[0].one_card


def _host(pod: Pod) -> HostAsk:
    host = read_host(pod)
    return host if isinstance(host, HostAsk) else HostAsk(counted=counted_amounts(pod))
