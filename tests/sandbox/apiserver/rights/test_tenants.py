"""Two tenants on one server: each sees what is theirs, and is told in one sentence what is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from tangram.kube.api import Api
from tangram.kube.errors import ApiError
from tangram.kube.objects import Object
from tangram.sandbox import accounts
from tangram.sandbox.apiserver.journal import FileJournal
from tangram.sandbox.apiserver.server import Running, serving_api

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1"


async def _tenant(api: Api, name: str, role: str = "view") -> str:
    """A namespace with a ConfigMap and an account that has a role there; the account's token."""
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    await api.create(f"/api/v1/namespaces/{name}/configmaps", {"metadata": {"name": f"of-{name}"}})
    place = f"/api/v1/namespaces/{name}/serviceaccounts"
    await api.create(place, {"metadata": {"name": "viewer"}})
    await api.create(f"{RBAC}/namespaces/{name}/rolebindings", _binding("viewer", role, name))
    return str((await api.create(f"{place}/viewer/token", {"spec": {}}))["status"]["token"])


def _binding(name: str, role: str, namespace: str) -> Object:
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": namespace}],
    }


class Tenants:
    def __init__(self, running: Running, admin: Api, a: Api, b: Api) -> None:
        self.running, self.admin, self.a, self.b = running, admin, a, b


@pytest_asyncio.fixture
async def tenants() -> AsyncIterator[Tenants]:
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(serving_api())
        admin = await stack.enter_async_context(Api(running.connection()))
        a, b = [
            await stack.enter_async_context(Api(running.connection(await _tenant(admin, name))))
            for name in ("a", "b")
        ]
        yield Tenants(running, admin, a, b)


async def _names(api: Api, namespace: str) -> list[str]:
    things = await api.list_all(f"/api/v1/namespaces/{namespace}/configmaps")
    return [each["metadata"]["name"] for each in things]


async def _refusal(api: Api, path: str) -> str:
    with pytest.raises(ApiError) as refused:
        await api.get(path)
    assert refused.value.status == 403
    return refused.value.message


async def test_each_tenant_sees_only_what_is_theirs(tenants: Tenants) -> None:
    assert await _names(tenants.a, "a") == ["of-a"]
    assert await _names(tenants.b, "b") == ["of-b"]
    whose = 'User "system:serviceaccount:a:viewer" cannot list resource "configmaps" in API group ""'
    other = await _refusal(tenants.a, "/api/v1/namespaces/b/configmaps")
    assert other == f'configmaps is forbidden: {whose} in the namespace "b"'
    every = await _refusal(tenants.a, "/api/v1/configmaps")
    assert every == f"configmaps is forbidden: {whose} at the cluster scope"
    assert 'cannot list resource "secrets"' in await _refusal(tenants.a, "/api/v1/namespaces/a/secrets")


async def test_a_watch_of_others_is_refused_before_it_tells_anything(tenants: Tenants) -> None:
    with pytest.raises(ApiError, match='cannot watch resource "configmaps"') as refused:
        await anext(aiter(tenants.a.watch("/api/v1/namespaces/b/configmaps", {})))
    assert refused.value.status == 403


async def test_a_right_is_given_and_taken_at_once(tenants: Tenants) -> None:
    path = f"{RBAC}/namespaces/b/rolebindings"
    await tenants.admin.create(path, _binding("guest", "view", "a"))
    assert await _names(tenants.a, "b") == ["of-b"]
    await tenants.admin.delete(f"{path}/guest")
    await _refusal(tenants.a, "/api/v1/namespaces/b/configmaps")


async def test_a_right_changes_with_its_role(tenants: Tenants) -> None:
    rule = {"verbs": ["list"], "apiGroups": [""], "resources": ["nodes"]}
    await tenants.admin.create(f"{RBAC}/clusterroles", {"metadata": {"name": "looks"}, "rules": [rule]})
    await tenants.admin.create(f"{RBAC}/clusterrolebindings", _binding("looks", "looks", "a"))
    assert await tenants.a.list_all("/api/v1/nodes") == []
    await tenants.admin.merge(f"{RBAC}/clusterroles/looks", {"rules": [rule | {"resources": ["pods"]}]})
    await _refusal(tenants.a, "/api/v1/nodes")
    assert await tenants.a.list_all("/api/v1/pods") == []


async def test_others_are_asked_about_by_who_may_ask(tenants: Tenants) -> None:
    asked: Object = {
        "spec": {
            "user": "system:serviceaccount:a:viewer",
            "resourceAttributes": {"namespace": "a", "verb": "list", "resource": "pods"},
        }
    }
    path = f"{REVIEWS}/subjectaccessreviews"
    assert (await tenants.admin.create(path, asked))["status"] == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "viewer/a" of ClusterRole "view" to ServiceAccount "viewer/a"',
    }
    asked["spec"]["resourceAttributes"]["namespace"] = "b"
    assert (await tenants.admin.create(path, asked))["status"] == {"allowed": False}
    with pytest.raises(ApiError, match='cannot create resource "subjectaccessreviews"'):
        await tenants.a.create(path, asked)
    await tenants.admin.create(f"{RBAC}/clusterrolebindings", _binding("asks", "system:auth-delegator", "a"))
    assert (await tenants.a.create(path, asked))["status"] == {"allowed": False}


async def test_an_account_that_is_given_everything_may_do_everything(tenants: Tenants) -> None:
    await tenants.admin.create(f"{RBAC}/clusterrolebindings", _binding("all", "cluster-admin", "a"))
    assert await _names(tenants.a, "b") == ["of-b"]
    await tenants.a.create(f"{RBAC}/clusterrolebindings", _binding("more", "cluster-admin", "b"))
    assert await _names(tenants.b, "a") == ["of-a"]


async def test_a_token_ends_with_its_account(tenants: Tenants) -> None:
    await tenants.admin.delete("/api/v1/namespaces/a/serviceaccounts/viewer")
    with pytest.raises(ApiError) as refused:
        await _names(tenants.a, "a")
    assert refused.value.status == 401
    assert await _names(tenants.b, "b") == ["of-b"]


async def test_rights_that_were_kept_count_again(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path)
    async with serving_api(journal=journal) as running, Api(running.connection()) as admin:
        await _tenant(admin, "a")
    journal.close()
    again = FileJournal(tmp_path)
    async with serving_api(journal=again) as running, Api(running.connection()) as admin:
        path = "/api/v1/namespaces/a/serviceaccounts/viewer/token"
        token = (await admin.create(path, {"spec": {}}))["status"]["token"]
        async with Api(running.connection(token)) as viewer:
            assert await _names(viewer, "a") == ["of-a"]
            await _refusal(viewer, "/api/v1/namespaces/default/configmaps")
    again.close()


async def test_accounts_that_an_earlier_sandbox_did_not_have_get_their_rights() -> None:
    async with serving_api() as running, Api(running.connection()) as admin:
        await accounts.make_accounts(admin)
        path = f"{RBAC}/clusterrolebindings/tangram-sandbox"
        await admin.merge(path, {"subjects": []})
        await accounts.make_accounts(admin)
        async with Api(await accounts.connection_as(admin, accounts.SCHEDULER)) as scheduler:
            assert await asyncio.wait_for(scheduler.list_all("/api/v1/nodes"), 10) == []
