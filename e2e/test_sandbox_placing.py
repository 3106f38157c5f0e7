"""The same nodes and pods, given to a real kube-scheduler and to the sandbox's stand-in, must look the same."""

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from e2e.placing_extender_cases import EXTENDERS
from e2e.placing_kit import Pair, lease, paired
from e2e.placing_preemption_cases import PREEMPTION
from e2e.placing_rule_cases import RULES
from e2e.placing_words import Case
from testbed.cluster import Cluster
from testbed.options import Options

CASES = {**RULES, **EXTENDERS, **PREEMPTION}
pytestmark = pytest.mark.xdist_group("placing")


@pytest_asyncio.fixture(scope="module")
async def pair() -> AsyncIterator[Pair]:
    async with Cluster.open(Options(nodes=0, controllers=False)) as cluster, paired(cluster) as ready:
        yield ready


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])
async def test_whatever_can_be_seen_of_a_pod_is_the_same_with_both_schedulers(pair: Pair, case: Case) -> None:
    real, ours = await pair.both(case)
    assert ours == real


async def test_the_stand_in_holds_and_renews_its_lease_under_a_name_that_begins_with_its_identity(
    pair: Pair,
) -> None:
    first = await lease(pair.cluster)
    name, _, rest = first["holderIdentity"].partition("_")
    assert name == "here"
    assert uuid.UUID(rest)
    assert (first["leaseDurationSeconds"], first["leaseTransitions"]) == (15, 0)
    async with asyncio.timeout(10):
        while (now := await lease(pair.cluster))["renewTime"] == first["renewTime"]:
            await asyncio.sleep(0.2)
    assert now["acquireTime"] == first["acquireTime"]
