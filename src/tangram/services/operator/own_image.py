"""Which image this very process runs, asked of its own pod: every part runs the same.

A version of the agents that the operator does not know cannot come about this way, and whoever mirrors images has one
reference to change, in one place.
"""

from __future__ import annotations

from tangram.daemon.errors import SettingError
from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.wire import loose


async def own_image(api: Api, namespace: str, pod: str) -> str:
    """The image of the pod's first container. Raises `SettingError`."""
    advice = "name it with --image REGISTRY/tangram:VERSION"
    if not pod:
        raise SettingError(
            f"no image is named: --image is not given and POD_NAME is not set, so this pod cannot be asked; {advice}"
        )
    try:
        found = await api.list_all(
            f"/api/v1/namespaces/{namespace}/pods", {"fieldSelector": f"metadata.name={pod}"}
        )
    except (ApiError, ApiUnreachable) as error:
        raise SettingError(f"the image of this pod cannot be asked for ({error}); {advice}") from error
    for thing in found:
        for container in loose.elements(loose.members(thing.get("spec")).get("containers")):
            image = loose.text(loose.members(container).get("image"))
            if image:
                return image
    raise SettingError(f"namespace {namespace} has no pod {pod} with an image; {advice}")
