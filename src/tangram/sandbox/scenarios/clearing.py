"""What a story left behind, taken away again: the next one, or the same once more, finds the cluster empty."""

from __future__ import annotations

from collections.abc import Iterable

from tangram.kube.api import Api
from tangram.kube.errors import NOT_FOUND, ApiError
from tangram.sandbox.scenarios.patience import until


async def clear(namespaces: Iterable[str], api: Api) -> None:
    """Delete namespaces and all that is in them. Raises `ScenarioFailed` where something does not go."""
    for namespace in namespaces:
        path = f"/api/v1/namespaces/{namespace}"
        if not await gone(api, path):
            await _clear(api, namespace, path)


async def _clear(api: Api, namespace: str, path: str) -> None:
    # A real namespace that is deleted with pods in it looks at them again only after many seconds, so they go first.
    for collection in (f"/apis/batch/v1/namespaces/{namespace}/jobs", f"{path}/pods"):
        await api.delete(collection, {"propagationPolicy": "Background"})
    await until(f"the pods of namespace {namespace} are gone", lambda: _empty(api, f"{path}/pods"))
    await api.delete(path)
    await until(f"namespace {namespace} is gone", lambda: gone(api, path))


async def _empty(api: Api, collection: str) -> bool | None:
    return not await api.list_all(collection) or None


async def gone(api: Api, path: str) -> bool | None:
    """True for what is not there any more, None for what is."""
    try:
        await api.get(path)
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        return True
    return None
