"""The kind ClusterOperator brought up to date by whoever leads.

helm makes a definition when a chart is installed and never again, so a newer operator would find its new fields dropped
by the API server. Whoever leads writes the definition of its own release, if it may; if not, it says so and goes on,
because the fields that it knows from before still work.
"""

from __future__ import annotations

import logging
from typing import Final

from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.services.operator.parts.pods import MANAGER
from tangram.wire.operator.definition import NAME, operator_definition

DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

_log = logging.getLogger("tangram.operator")


async def keep_own_kind(api: Api) -> None:
    """Apply the definition once. Never raises."""
    try:
        await api.apply(f"{DEFINITIONS}/{NAME}", operator_definition(), MANAGER)
    except (ApiError, ApiUnreachable) as error:
        _log.warning("the definition of %s could not be brought up to date: %s", NAME, error)
