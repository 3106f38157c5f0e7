"""What an API server can do, asked of it instead of assumed: clusters are years apart."""

from __future__ import annotations

import re

from tangram.kube.api import Api, Object
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.wire import loose

_NUMBER = re.compile(r"[0-9]{1,6}")


async def server_version(api: Api) -> tuple[int, int]:
    """Major and minor. Raises as `version_in` does, besides what `Api.call` raises."""
    return version_in(await api.get("/version"))


def version_in(answer: Object) -> tuple[int, int]:
    """Major and minor in an answer of /version. Raises `ApiUnreachable` where it names none."""
    told = [loose.scalar_text(answer.get(field)) or "" for field in ("major", "minor")]
    # Vendors write their own builds as "36+".
    numbers = [int(found[0]) for text in told if (found := _NUMBER.match(text)) is not None]
    if len(numbers) != 2:
        raise ApiUnreachable(f"GET /version: no version in it (major {told[0]!r}, minor {told[1]!r})")
    return numbers[0], numbers[1]


async def has_resource(api: Api, group_version: str, resource: str) -> bool:
    """Whether the server serves it, such as `leases` of `coordination.k8s.io/v1` or `pods/resize` of `v1`."""
    try:
        answer = await api.get(f"/{'apis' if '/' in group_version else 'api'}/{group_version}")
    except ApiError as error:
        if error.status == NOT_FOUND:
            return False
        raise
    served = (loose.members(entry).get("name") for entry in loose.elements(answer.get("resources")))
    return resource in served
