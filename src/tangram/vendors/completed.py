"""A pod as the API server will store it, once admission's changes to its containers are made."""

from collections.abc import Iterable

import msgspec

from tangram.model.pods import Container, Pod
from tangram.vendors.protocol import Mutation, RemoveResource, SetLimit


def completed(pod: Pod, mutations: Iterable[Mutation]) -> Pod:
    """The pod with the limits that it gets and without those that it loses; annotations stay as they are."""
    changes = [each for each in mutations if isinstance(each, SetLimit | RemoveResource)]
    if not changes:
        return pod
    return msgspec.structs.replace(
        pod,
        containers=tuple(
            _changed(container, [each for each in changes if each.container == container.name])
            for container in pod.containers
        ),
    )


def _changed(container: Container, changes: Iterable[SetLimit | RemoveResource]) -> Container:
    limits, requests = dict(container.limits), dict(container.requests)
    for change in changes:
        if isinstance(change, SetLimit):
            limits[change.resource] = requests[change.resource] = change.value
        else:
            limits.pop(change.resource, None)
            requests.pop(change.resource, None)
    return msgspec.structs.replace(container, limits=limits, requests=requests)
