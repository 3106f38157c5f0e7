"""The dashboard as the chart installs it: who gets in, what each sees and may change, and with which rights it lives.

Two nodes, n1 with one card in slices and n2 with three whole ones, so that what one person does to the card of n1 is
what everybody else notices.
"""

import json
import re
from collections.abc import AsyncIterator, Generator
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from e2e.agent_kit import TANGRAM
from e2e.agent_view_kit import GPU, SGPU
from e2e.audit_kit import Audit, auditing_accounts, questions
from e2e.dashboard_release_kit import (
    DASHBOARD,
    SERVICE,
    Visitor,
    administrator,
    certificate,
    forwarded,
    make_home,
    tenant,
    visiting,
)
from e2e.dashboard_workloads_kit import KINDS, card_pod, pods_made_by, workload
from e2e.helm_kit import DRIVER, LEFT_BEHIND, NAMESPACE, Helm, Shipped, load, serve_cards, ship
from e2e.release_kit import everything
from e2e.rights_kit import BINDINGS, ROLES, Right, allowed, beyond, judged, own_rights
from e2e.rights_story_kit import share
from e2e.scheduler_kit import events_of, made
from e2e.scheduling_kit import poll_until
from e2e.test_preflight import asked
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import is_gone, is_running
from testbed.names import NAMED, names
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("helm")

CARDS = {
    "n1": "tangram: cards/v1\ncards: [{product: C500, count: 1}]\n",
    "n2": "tangram: cards/v1\ncards: [{product: C500, count: 3}]\n",
}
VALUES: dict[str, object] = {
    "gpuDevice": {
        "driver": DRIVER,
        "deviceConfig": {
            "version": "v1",
            "cluster-config": {"mode": "native"},
            "nodes-config": [{"nodeName": "n1", "mode": "sgpu"}],
        },
    },
    "gpuLabel": {"driver": DRIVER},
    "dashboard": {"enabled": True, "actions": True},
}
OURS, THEIRS = "team-a", "team-b"
HOMES = (OURS, THEIRS)
FOR_ALL = ("/", "/cluster.json", "/pods", "/explain", "/usage", "/usage.csv")
OF_NODES = ("/fragmentation", "/health")


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shipped]:
    with pytest.MonkeyPatch.context() as patch:
        yield ship(tmp_path_factory.mktemp("dashboard"), patch)


@pytest_asyncio.fixture(scope="module")
async def cluster(shipped: Shipped, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    policy = tmp_path_factory.mktemp("audit") / "policy.json"
    # Kubernetes' own groups of pods are looked at by the doctor where they are served.
    flags = (*auditing_accounts(policy, NAMESPACE), "--runtime-config=scheduling.k8s.io/v1alpha2=true")
    options = Options(
        nodes=2,
        services=True,
        kubelet=NAMED,
        api_server_flags=flags,
        feature_gates={"GenericWorkload": True},
    )
    async with Cluster.open(options) as running, names(running):
        await load(running, shipped)
        for node in running.nodes:
            await serve_cards(running, node, CARDS[node.name])
        for home in HOMES:
            await make_home(running, home)
        yield running


async def test_a_release_with_a_dashboard_shows_each_what_they_may_see_and_do(
    cluster: Cluster, shipped: Shipped, tmp_path: Path
) -> None:
    helm = Helm(cluster)
    admin, other = await administrator(cluster), await tenant(cluster, OURS)
    before = await everything(cluster)
    installed = await helm.install(shipped.chart("tangram"), VALUES)
    await cards_are_offered(cluster)
    for home, name in ((OURS, "mine"), (THEIRS, "theirs")):
        await cluster.api.create(card_pod(name, home, share(25)))
        await cluster.until_pod(name, is_running, namespace=home, within=90)

    assert f"kubectl -n {NAMESPACE} port-forward deploy/{DASHBOARD} 8088" in installed.output
    said = await asked(cluster, "verify", status=0)
    assert {finding["outcome"] for finding in said["findings"]} == {"ok"}
    async with forwarded(cluster) as url:
        async with visiting(cluster, url) as visitor:
            await an_administrator_sees_everything(cluster, visitor, admin)
            await the_doctors_findings_are_those_of_the_command(cluster, visitor)
            await a_card_is_taken_out_and_given_back(cluster, visitor)
            await a_deployment_that_waits_is_offered_one_that_runs(cluster, visitor, tmp_path)
        async with visiting(cluster, url) as visitor:
            await a_tenant_sees_a_namespace(visitor, other)
            await a_tenant_changes_nothing(cluster, visitor)

    # With a certificate, for those who come by themselves.
    authority, secret = certificate(tmp_path, "company-tls")
    async with made(cluster, secret):
        values = {**VALUES, "dashboard": {"enabled": True, "tlsSecretName": "company-tls"}}
        await helm.upgrade(shipped.chart("tangram"), values)
        for room in (node.name for node in cluster.nodes):
            async with visiting(
                cluster, f"https://{SERVICE}", room=room, authority=authority.certificate
            ) as visitor:
                # helm waits for the pods; kube-proxy writes each node's rules for them a moment later.
                await poll_until(visitor.is_answered, what=f"the Service from {room}")
                assert (await visitor.sign_in(admin)).status == 200
                (cookie,) = [one for one in visitor.session.cookie_jar if "session" in one.key]
                assert cookie["secure"]
                # Actions were taken away with the other values.
                assert (await visitor.get("/nodes/n1")).forms("/cards/cordon") == []

    for home in HOMES:
        await cluster.kubectl("delete", "deployments,pods", "--all", "-n", home, "--grace-period=1")
    await helm.uninstall()

    async def gone() -> bool:
        return await everything(cluster) - before == LEFT_BEHIND

    await poll_until(gone, what=f"the end of {await everything(cluster) - before}")


async def cards_are_offered(cluster: Cluster) -> None:
    for node, resource in (("n1", SGPU), ("n2", GPU)):
        await cluster.until_node(
            node, lambda seen, name=resource: int(seen["status"]["allocatable"].get(name, 0)) > 0
        )


async def uuids(cluster: Cluster) -> dict[str, list[str]]:
    """The cards of every node, as its agent told."""
    done = await cluster.command([TANGRAM, "status", "-o", "json"])
    assert done.status in (0, 1), done.errors
    return {one["node"]: [card["uuid"] for card in one["cards"]] for one in json.loads(done.output)["nodes"]}


async def an_administrator_sees_everything(cluster: Cluster, visitor: Visitor, token: str) -> None:
    wrong = await visitor.sign_in("not-a-token")
    assert wrong.status == 403
    signed = await visitor.sign_in(token)
    assert (signed.status, signed.path) == (200, "/")
    every = [*FOR_ALL, *OF_NODES, "/nodes/n1", "/nodes/n2", "/pods/team-a/mine", "/pods/team-b/theirs"]
    pages = {path: await visitor.get(path) for path in every}
    assert {path: page.status for path, page in pages.items()} == dict.fromkeys(every, 200)
    known = await uuids(cluster)
    assert {node: len(cards) for node, cards in known.items()} == {"n1": 1, "n2": 3}
    for node, cards in known.items():
        assert node in pages["/"].text
        assert all(card in pages[f"/nodes/{node}"].text for card in cards)
    for pod in ("team-a/mine", "team-b/theirs"):
        assert pod in pages["/nodes/n1"].text
        assert f"/pods/{pod}" in pages["/pods"].text


async def the_doctors_findings_are_those_of_the_command(cluster: Cluster, visitor: Visitor) -> None:
    """Which reads with the administrator's rights: nothing is unknown to the dashboard that is known there."""
    done = await cluster.command([TANGRAM, "doctor", "--cluster", "-o", "json"])
    findings = json.loads(done.output)["findings"]
    assert findings
    page = (await visitor.get("/health")).text
    for finding in findings:
        assert f"<code>{finding['check']}</code>" in page, finding
    assert page.count('<th scope="row"><code>') == len(findings)
    assert "forbidden" not in page


async def a_card_is_taken_out_and_given_back(cluster: Cluster, visitor: Visitor) -> None:
    ((card,),) = [cards for node, cards in (await uuids(cluster)).items() if node == "n1"]
    done = await visitor.cordon("n1", card, "cordon")
    assert done.status == 200, done.text

    async def told() -> bool:
        return any(one["reason"] == "CardCordoned" for one in await events_of(cluster, "n1"))

    # After the change was answered: no event keeps a person waiting.
    await poll_until(told, what="an event about the card")
    (event,) = [one for one in await events_of(cluster, "n1") if one["reason"] == "CardCordoned"]
    assert event["message"] == (
        f"card {card} was taken out of placement by system:serviceaccount:default:administrator in the dashboard"
    )
    await cluster.api.create(card_pod("late", OURS, share(10)))
    waits = await cluster.until_pod("late", _is_refused, namespace=OURS)
    why = json.dumps(waits["status"]["conditions"])
    assert "cordoned" in why, why
    # Its page says the same, and the button is the other one now.
    assert "cordoned" in (await visitor.get(f"/pods/{OURS}/late")).text

    async def told() -> bool:
        there = await visitor.get("/nodes/n1")
        return bool([one for one in there.forms("/cards/cordon") if one.fields["action"] == "uncordon"])

    await poll_until(told, what="the card's being shown as cordoned")
    done = await visitor.cordon("n1", card, "uncordon")
    assert done.status == 200, done.text
    await cluster.until_pod("late", is_running, namespace=OURS, within=90)


def _is_refused(seen: Object) -> bool:
    return any(one.get("reason") == "Unschedulable" for one in seen.get("status", {}).get("conditions", []))


async def a_deployment_that_waits_is_offered_one_that_runs(
    cluster: Cluster, visitor: Visitor, folder: Path
) -> None:
    applied = await cluster.kubectl(
        "apply", "-f", "-", stdin=json.dumps(workload("Deployment", OURS, share(90)))
    )
    assert applied.status == 0, applied.errors
    (name,) = await pods_made_by(cluster, "Deployment", OURS)
    await cluster.until_pod(name, _is_refused, namespace=OURS)

    async def offered() -> bool:
        return bool((await visitor.get(f"/pods/{OURS}/{name}")).offered)

    await poll_until(offered, what="a changed manifest")
    page = await visitor.get(f"/pods/{OURS}/{name}")
    assert '<code class="command">kubectl apply -f changed.yaml</code>' in page.text
    (text, *_more) = page.offered
    assert yaml.safe_load(text)["kind"] == "Deployment"
    file = folder / "changed.yaml"
    file.write_text(text, "utf-8")
    applied = await cluster.kubectl("apply", "-f", str(file))
    assert applied.status == 0, applied.errors
    await cluster.until_pod(name, is_gone, namespace=OURS)

    async def runs() -> bool:
        now = await pods_made_by(cluster, "Deployment", OURS)
        return len(now) == 1 and is_running(await cluster.api.get(path_of("Pod", now[0], namespace=OURS)))

    await poll_until(runs, within=90, what="the changed Deployment's running")


async def a_tenant_sees_a_namespace(visitor: Visitor, token: str) -> None:
    signed = await visitor.sign_in(token)
    assert signed.status == 200
    pages = {path: await visitor.get(path) for path in (*FOR_ALL, "/nodes/n1", f"/pods/{OURS}/mine")}
    assert {path: page.status for path, page in pages.items()} == dict.fromkeys(pages, 200)
    assert f"/pods/{OURS}/mine" in pages["/pods"].text
    everything_shown = "".join(page.text for page in pages.values())
    assert THEIRS not in everything_shown
    assert "theirs" not in everything_shown
    # What may not be seen is what is not there.
    hidden, absent = await visitor.get(f"/pods/{THEIRS}/theirs"), await visitor.get(f"/pods/{THEIRS}/nobody")
    assert hidden.status == absent.status == 404
    assert (await visitor.get("/nodes/n2")).status == 404
    for path in OF_NODES:
        page = await visitor.get(path)
        assert page.status == 403
        assert not re.search(r"\bn[12]\b", page.text)


async def a_tenant_changes_nothing(cluster: Cluster, visitor: Visitor) -> None:
    there = await visitor.get("/nodes/n1")
    assert there.forms("/cards/cordon") == []
    form_token = there.forms("/preferences")[0].fields["form_token"]
    ((card,),) = [cards for node, cards in (await uuids(cluster)).items() if node == "n1"]
    wish = {"form_token": form_token, "node": "n1", "card": card, "action": "cordon", "confirm": "yes"}
    refused = await visitor.send(there.forms("/preferences")[0]._replace(action="/cards/cordon", fields=wish))
    assert refused.status == 403
    node = await cluster.api.get(path_of("Node", "n1"))
    assert not [key for key in node["metadata"]["annotations"] if "cordon" in key]


# ---- rights


async def test_the_dashboards_account_has_the_rights_that_it_uses_and_no_other(
    cluster: Cluster, shipped: Shipped
) -> None:
    helm = Helm(cluster)
    since = len(list(Audit(cluster).entries()))
    await helm.install(shipped.chart("tangram"), VALUES)
    manifest = await helm.run("get", "manifest", helm.release, "-n", helm.namespace)
    objects = [one for one in yaml.safe_load_all(manifest.output) if one and one["kind"] in ROLES | BINDINGS]
    own = {right for right in own_rights(objects) if right.account == DASHBOARD}
    assert own
    await cards_are_offered(cluster)
    admin = await administrator(cluster)

    async with forwarded(cluster) as url, visiting(cluster, url, bearer=admin) as visitor:
        await everybodys_manifests_are_asked_for(cluster, visitor)
        assert (await visitor.get("/health")).status == 200
        await cards_are_cordoned_again_and_again(cluster, visitor)
    await nothing_lies_beyond(cluster, own)

    asked_for = [one for one in questions(cluster, since=since) if one.account == DASHBOARD]
    assert [one for one in asked_for if one.refused] == []
    found = judged(own, set(), asked_for)
    assert found.borrowed == []
    assert found.unused == []
    assert found.too_wide == []
    for home in HOMES:
        await cluster.kubectl("delete", ",".join(KINDS), "--all", "-n", home)
    await helm.uninstall()


async def everybodys_manifests_are_asked_for(cluster: Cluster, visitor: Visitor) -> None:
    """Of every kind that makes pods, in two namespaces: each asks for more than the one card in slices has left."""
    for home in HOMES:
        await cluster.api.create(card_pod("filling", home, share(25)))
        await cluster.until_pod("filling", is_running, namespace=home, within=90)
    for home in HOMES:
        for kind in KINDS:
            applied = await cluster.kubectl(
                "apply", "-f", "-", stdin=json.dumps(workload(kind, home, share(90)))
            )
            assert applied.status == 0, applied.errors
        started = await cluster.kubectl("create", "job", "started", "--from=cronjob/cronjob", "-n", home)
        assert started.status == 0, started.errors
    for home in HOMES:
        for kind in KINDS:

            async def offered(kind: str = kind, home: str = home) -> bool:
                pages = [
                    await visitor.get(f"/pods/{home}/{name}")
                    for name in await pods_made_by(cluster, kind, home)
                ]
                kinds = {yaml.safe_load(text)["kind"] for page in pages for text in page.offered}
                return kinds == {kind}

            await poll_until(offered, what=f"the offer of another {kind} in {home}")


async def cards_are_cordoned_again_and_again(cluster: Cluster, visitor: Visitor) -> None:
    """Without a session, and so by the dashboard's own account: on two nodes, and the same event twice."""
    known = await uuids(cluster)
    for node in ("n1", "n2"):
        for action, marked in (("cordon", True), ("uncordon", False)) * 2:
            card = known[node][0]

            async def shown(node: str = node, card: str = card, action: str = action) -> bool:
                forms = (await visitor.get(f"/nodes/{node}")).forms("/cards/cordon")
                return any(form.fields.items() >= {"card": card, "action": action}.items() for form in forms)

            await poll_until(shown, what=f"a button to {action} {card}")
            assert (await visitor.cordon(node, card, action)).status == 200
            annotations = (await cluster.api.get(path_of("Node", node)))["metadata"]["annotations"]
            assert any("cordon" in key and card in value for key, value in annotations.items()) is marked

        async def counted(node: str = node) -> bool:
            events = [one for one in await events_of(cluster, node) if one["reason"] == "CardUncordoned"]
            return any(one.get("count", 0) > 1 for one in events)

        await poll_until(counted, what=f"an event of {node} told twice")


async def nothing_lies_beyond(cluster: Cluster, rights: set[Right]) -> None:
    outside = {each for right in rights for each in beyond(right)}
    assert [str(right) for right in outside if await allowed(cluster, NAMESPACE, right)] == []
