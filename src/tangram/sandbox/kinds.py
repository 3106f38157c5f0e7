"""The kinds of object that an installation of Tangram brings, made where the cluster lacks them.

One that is there already is left as it is: with kept data it is ours of the last time, and on another cluster it might
be Koordinator's.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from tangram.kube.api import Api
from tangram.kube.errors import CONFLICT, ApiError
from tangram.kube.probing import has_resource
from tangram.sandbox.failures import NotStarted
from tangram.wire.koordinator.definition import GROUP, PLURAL, VERSION, device_definition

DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVED_S: Final = 30.0


async def install_kinds(api: Api) -> None:
    """Make Koordinator's `Device` known. Raises `ApiError`, `ApiUnreachable` and `NotStarted`."""
    try:
        await api.create(DEFINITIONS, device_definition())
    except ApiError as error:
        if error.status != CONFLICT:
            raise
    ends = time.monotonic() + SERVED_S
    while not await has_resource(api, f"{GROUP}/{VERSION}", PLURAL):
        if time.monotonic() > ends:
            raise NotStarted(f"the API server did not serve {PLURAL}.{GROUP} within {SERVED_S:g} s")
        await asyncio.sleep(0.05)
