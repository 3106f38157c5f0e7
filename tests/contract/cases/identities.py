"""Who is who: tokens, reviews, and what the server says to somebody it does not know."""

from __future__ import annotations

from contract.case import case
from contract.normal import pick, verdict
from contract.things import pod, thing
from contract.world import Answer, Json, Object, World

AUTHENTICATION = "authentication.k8s.io/v1"
AUTHORIZATION = "authorization.k8s.io/v1"
NONSENSE = "nonsense"


def _request(**spec: Json) -> Object:
    return {"apiVersion": AUTHENTICATION, "kind": "TokenRequest", "spec": spec}


def _own() -> Object:
    return {"apiVersion": AUTHENTICATION, "kind": "SelfSubjectReview"}


async def _account(world: World, name: str = "robot") -> str:
    await world.have(world.at("serviceaccounts"), thing("ServiceAccount", name))
    return world.at(f"serviceaccounts/{name}/token")


async def _token(world: World, **spec: Json) -> str:
    path = await _account(world)
    return (await world.have(path, _request(**spec)))["status"]["token"]


async def _who(world: World, token: str) -> Answer:
    return await world.ask("POST", world.top("selfsubjectreviews", AUTHENTICATION), _own(), token=token)


def _user(answer: Answer) -> object:
    """Without the number of the one token, which is chance."""
    user: Object = answer["status"].get("userInfo") or answer["status"].get("user") or {}
    extra = {
        key: value
        for key, value in user.get("extra", {}).items()
        if key != "authentication.kubernetes.io/credential-id"
    }
    return user | {"extra": extra}


@case
async def an_account_is_given_a_token(world: World) -> object:
    path = await _account(world)
    answer = await world.post(path, _request(expirationSeconds=3600))
    return [
        pick(answer, "kind", "apiVersion", "metadata", "spec"),
        sorted(answer["status"]),
        answer["status"]["token"].count("."),
    ]


@case
async def a_token_lasts_an_hour_unless_said(world: World) -> object:
    path = await _account(world)
    return [
        (await world.post(path, _request()))["spec"]["expirationSeconds"],
        await world.post(path, _request(expirationSeconds=60)),
    ]


@case
async def an_unknown_account_gets_no_token(world: World) -> object:
    return await world.post(world.at("serviceaccounts/robot/token"), _request())


@case
async def a_token_says_who_its_account_is(world: World) -> object:
    return _user(await _who(world, await _token(world)))


@case
async def a_token_may_be_bound_to_a_node(world: World) -> object:
    name = world.named("node")
    node = await world.have(world.top("nodes"), thing("Node", name))
    bound = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node.uid}
    return _user(await _who(world, await _token(world, boundObjectRef=bound)))


@case
async def a_token_may_be_bound_to_a_pod(world: World) -> object:
    path = await _account(world)
    made = await world.have(world.at("pods"), pod(spec={"serviceAccountName": "robot"}))
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": made.uid}
    token = (await world.have(path, _request(boundObjectRef=bound)))["status"]["token"]
    return _user(await _who(world, token))


@case
async def a_token_bound_to_nothing_is_not_given(world: World) -> object:
    path = await _account(world)
    return [
        await world.post(
            path, _request(boundObjectRef={"apiVersion": "v1", "kind": "Node", "name": world.named("x")})
        ),
        await world.post(
            path, _request(boundObjectRef={"apiVersion": "v1", "kind": "ConfigMap", "name": "x"})
        ),
        verdict(
            await world.post(path, _request(boundObjectRef={"apiVersion": "v1", "kind": "Pod", "name": "x"}))
        ),
    ]


@case
async def a_token_is_reviewed(world: World) -> object:
    token = await _token(world)
    review = {"apiVersion": AUTHENTICATION, "kind": "TokenReview", "spec": {"token": token}}
    answer = await world.post(world.top("tokenreviews", AUTHENTICATION), review)
    return [answer.code, answer["status"]["authenticated"], _user(answer), answer["status"].get("audiences")]


@case
async def a_token_that_is_none_is_reviewed_so(world: World) -> object:
    review = {"apiVersion": AUTHENTICATION, "kind": "TokenReview", "spec": {"token": "nonsense"}}
    answer = await world.post(world.top("tokenreviews", AUTHENTICATION), review)
    return [answer.code, answer["status"].get("authenticated"), answer["status"].get("user")]


@case
async def a_review_without_a_token_is_refused(world: World) -> object:
    review: Object = {"apiVersion": AUTHENTICATION, "kind": "TokenReview", "spec": {}}
    return await world.post(world.top("tokenreviews", AUTHENTICATION), review)


@case
async def a_token_for_another_audience_is_not_taken(world: World) -> object:
    token = await _token(world, audiences=["elsewhere"])
    answer = await _who(world, token)
    review = {
        "apiVersion": AUTHENTICATION,
        "kind": "TokenReview",
        "spec": {"token": token, "audiences": ["elsewhere"]},
    }
    reviewed = await world.post(world.top("tokenreviews", AUTHENTICATION), review)
    return [answer.code, reviewed["status"]["authenticated"], reviewed["status"]["audiences"]]


@case
async def a_stranger_is_not_authorized(world: World) -> object:
    return [
        await world.ask("GET", world.at("pods"), token=NONSENSE),
        (await world.ask("GET", "/version", token=NONSENSE)).code,
    ]


@case
async def anyone_may_ask_for_version_and_health(world: World) -> object:
    return [
        (await world.ask("GET", path, token="")).code
        for path in ("/version", "/healthz", "/livez", "/readyz")
    ]


@case
async def an_anonymous_request_for_objects_is_refused(world: World) -> object:
    return await world.ask("GET", world.at("pods"), token="")


@case
async def the_administrator_is_known_by_name_and_group(world: World) -> object:
    answer = await world.post(world.top("selfsubjectreviews", AUTHENTICATION), _own())
    return [
        answer.code,
        answer["status"]["userInfo"]["username"],
        sorted(answer["status"]["userInfo"]["groups"]),
    ]


@case
async def the_administrator_may_do_everything(world: World) -> object:
    spec = {"resourceAttributes": {"namespace": world.namespace, "verb": "delete", "resource": "pods"}}
    review = {"apiVersion": AUTHORIZATION, "kind": "SelfSubjectAccessReview", "spec": spec}
    return pick(
        await world.post(world.top("selfsubjectaccessreviews", AUTHORIZATION), review),
        "kind",
        "spec",
        "status.allowed",
    )


@case
async def a_members_rights_are_reviewed(world: World) -> object:
    spec = {
        "user": "someone",
        "groups": ["system:masters"],
        "resourceAttributes": {"namespace": world.namespace, "verb": "get", "resource": "pods"},
    }
    review = {"apiVersion": AUTHORIZATION, "kind": "SubjectAccessReview", "spec": spec}
    return pick(await world.post(world.top("subjectaccessreviews", AUTHORIZATION), review), "status.allowed")


@case
async def a_strangers_rights_are_reviewed(world: World) -> object:
    spec = {
        "user": "someone",
        "resourceAttributes": {"namespace": world.namespace, "verb": "get", "resource": "pods"},
    }
    review = {"apiVersion": AUTHORIZATION, "kind": "SubjectAccessReview", "spec": spec}
    return pick(await world.post(world.top("subjectaccessreviews", AUTHORIZATION), review), "status.allowed")


@case
async def an_account_without_rights_is_forbidden(world: World) -> object:
    token = await _token(world)
    return await world.ask("GET", world.at("pods"), token=token)


@case
async def a_review_of_rights_is_checked(world: World) -> object:
    review: Object = {"apiVersion": AUTHORIZATION, "kind": "SubjectAccessReview", "spec": {"user": "x"}}
    return verdict(await world.post(world.top("subjectaccessreviews", AUTHORIZATION), review))


@case
async def reviews_are_not_kept(world: World) -> object:
    return [
        await world.get(world.top("tokenreviews", AUTHENTICATION)),
        await world.get(world.top("selfsubjectaccessreviews/x", AUTHORIZATION)),
    ]


@case
async def an_administrator_may_act_as_somebody_else(world: World) -> object:
    headers = {"Impersonate-User": "someone", "Impersonate-Group": "some-group"}
    answer = await world.ask("POST", world.top("selfsubjectreviews", AUTHENTICATION), _own(), headers=headers)
    return [answer.code, answer["status"]["userInfo"]]
