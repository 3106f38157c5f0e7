"""What a sandbox cannot do is said in a sentence that kubectl prints, and not by silence."""

from __future__ import annotations

import pytest

from tangram.kube.api import Api
from tangram.kube.errors import ApiError
from tangram.sandbox.apiserver.server import serving_api


@pytest.mark.parametrize("part", ["exec", "attach", "portforward", "proxy"])
async def test_who_wants_to_enter_a_container_is_told_what_to_do_instead(part: str) -> None:
    async with serving_api() as running, Api(running.connection()) as api:
        with pytest.raises(ApiError, match="kubectl logs") as refused:
            await api.create(f"/api/v1/namespaces/default/pods/any/{part}", {})
    assert refused.value.status == 501
