"""Each account of the chart has the rights that its programs use, and no other: read from the API server's audit log.

One story that makes every part do everything it ever asks the API server for. What it asked is then compared with the
roles of the chart, both ways. What is listed at a start or made once needs no chapter of its own: the installation is
one.
"""

from collections.abc import AsyncIterator, Generator, Iterable

import pytest
import pytest_asyncio
import yaml

from e2e.audit_kit import Audit, auditing_accounts, questions
from e2e.helm_kit import DRIVER, NAMESPACE, Helm, Shipped, load, serve_cards, ship
from e2e.koordinator_kit import install_definition
from e2e.rights_kit import BINDINGS, ROLES, Right, allowed, beyond, built_in_rights, judged, own_rights
from e2e.rights_story_kit import (
    NOT_OURS,
    a_bind_is_looked_into,
    a_mode_waits_for_pods,
    a_verdict_is_repeated,
    a_wrong_configuration_is_told_twice,
    another_takes_over,
    cards_are_given,
    closed_plugins_are_served,
    make_homes,
    remove_pods,
    room_is_made,
    somebody_scrapes,
    the_authority_is_written_again,
    uninstalled_around_a_pod_that_stays,
    what_was_taken_off_comes_back,
)
from e2e.scheduler_kit import made
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("helm")

CARDS = {
    "n1": "tangram: cards/v1\ncards: [{product: C500, count: 1}]\n",
    "n2": "tangram: cards/v1\ncards: [{product: C500, count: 3}]\n",
}
SLICED = {
    "version": "v1",
    "cluster-config": {"mode": "native"},
    "nodes-config": [{"nodeName": "n1", "mode": "sgpu"}],
}
VALUES: dict[str, object] = {
    "deployExtenderGPUAware": True,
    "gpuDevice": {"driver": DRIVER, "deviceConfig": SLICED},
    "gpuLabel": {"driver": DRIVER},
}


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shipped]:
    with pytest.MonkeyPatch.context() as patch:
        yield ship(tmp_path_factory.mktemp("rights"), patch)


@pytest_asyncio.fixture(scope="module")
async def cluster(shipped: Shipped, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    policy = tmp_path_factory.mktemp("audit") / "policy.json"
    audited = auditing_accounts(policy, NAMESPACE)
    async with Cluster.open(
        Options(nodes=2, kwok_nodes=1, services=True, api_server_flags=audited)
    ) as running:
        await load(running, shipped)
        for node in running.nodes:
            await serve_cards(running, node, CARDS[node.name])
        # Of the two, the one that gpu-aware belongs on.
        label = {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}
        await running.api.patch(path_of("Node", "n1"), label)
        await running.api.patch(path_of("Node", "kwok-00001"), {"metadata": {"labels": NOT_OURS}})
        await install_definition(running)
        yield running


async def test_every_account_has_the_rights_that_its_programs_use_and_no_other(
    cluster: Cluster, shipped: Shipped
) -> None:
    helm = Helm(cluster)
    await helm.install(shipped.chart("tangram"), VALUES)
    objects = [
        one
        for part in ("manifest", "hooks")
        for one in yaml.safe_load_all(
            (await helm.run("get", part, helm.release, "-n", helm.namespace)).output
        )
        if one and one["kind"] in ROLES | BINDINGS
    ]
    own, built_in = own_rights(objects), await built_in_rights(cluster, objects)
    await make_homes(cluster)

    await cards_are_given(cluster)
    await room_is_made(cluster)
    await a_verdict_is_repeated(cluster)
    await closed_plugins_are_served(cluster)
    await a_bind_is_looked_into(cluster)
    await somebody_scrapes(cluster)
    await the_authority_is_written_again(cluster)
    await a_wrong_configuration_is_told_twice(cluster)
    await what_was_taken_off_comes_back(cluster)
    await another_takes_over(cluster)
    await a_mode_waits_for_pods(cluster)
    live = {right for right in own if right.account != "tangram-cleanup"}
    await nothing_lies_beyond(cluster, live)
    await remove_pods(cluster)
    assert refused(cluster, live) == []
    await uninstalled_around_a_pod_that_stays(helm)
    async with made(cluster, *(one for one in objects if one["metadata"]["name"] == "tangram-cleanup")):
        await nothing_lies_beyond(cluster, own - live)

    asked = questions(cluster)
    assert {question.account for question in asked} == {right.account for right in own}
    # Those of the release end after their rights have.
    assert refused(cluster, own - live) == []
    found = judged(own, built_in, (question for question in asked if not question.refused))
    assert found.borrowed == []
    assert found.unused == []
    assert found.too_wide == []


def refused(cluster: Cluster, rights: Iterable[Right]) -> list[Object]:
    """What the accounts with these rights were not allowed, whether it is about an object or not."""
    users = {f"system:serviceaccount:{NAMESPACE}:{right.account}" for right in rights}
    return [
        entry
        for entry in Audit(cluster).entries()
        if entry["user"]["username"] in users
        and entry["annotations"]["authorization.k8s.io/decision"] != "allow"
    ]


async def nothing_lies_beyond(cluster: Cluster, rights: Iterable[Right]) -> None:
    known = list(rights)
    assert [str(right) for right in known if not await allowed(cluster, NAMESPACE, right)] == []
    outside = {each for right in known for each in beyond(right)}
    assert [str(right) for right in outside if await allowed(cluster, NAMESPACE, right)] == []
