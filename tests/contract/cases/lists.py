"""Lists: selectors, pages, versions, and the forms a list may be asked for in."""

from __future__ import annotations

import base64
import json

from contract.case import case
from contract.definitions import defined
from contract.normal import names, pick, rows, verdict
from contract.things import labelled, node, pod, secret, thing, widget
from contract.world import METADATA, METADATA_LIST, TABLE, World


async def _five(world: World) -> str:
    for name, labels in (
        ("a", {"color": "red", "size": "1"}),
        ("b", {"color": "blue"}),
        ("c", {"color": "red", "size": "2"}),
        ("d", {}),
        ("e", {"size": "3"}),
    ):
        await world.have(world.at("secrets"), labelled(secret(name), **labels))
    return world.at("secrets")


@case
async def a_list_is_in_the_order_of_names(world: World) -> object:
    for name in ("b", "a.b", "a", "a-b", "c", "10", "9"):
        await world.have(world.at("secrets"), secret(name))
    return names(await world.get(world.at("secrets")))


@case
async def a_list_has_the_kind_of_a_list(world: World) -> object:
    await world.have(world.at("secrets"), secret())
    return await world.get(world.at("secrets"))


@case
async def labels_select_by_equality(world: World) -> object:
    path = await _five(world)
    return {
        selector: names(await world.get(path, labelSelector=selector))
        for selector in (
            "color=red",
            "color==red",
            "color!=red",
            "color=red,size=2",
            "",
            "color=",
            "nothing=x",
        )
    }


@case
async def labels_select_by_sets(world: World) -> object:
    path = await _five(world)
    return {
        selector: names(await world.get(path, labelSelector=selector))
        for selector in (
            "color in (red,blue)",
            "color notin (red)",
            "size",
            "!size",
            "color in (red), size",
            "size>1",
            "size<3",
        )
    }


@case
async def a_broken_label_selector_is_a_bad_request(world: World) -> object:
    return [
        verdict(await world.get(world.at("secrets"), labelSelector="a in b")),
        verdict(await world.get(world.at("secrets"), labelSelector="a=b=c")),
        verdict(await world.get(world.at("secrets"), labelSelector="-bad-=x")),
    ]


@case
async def fields_select_names_and_namespaces(world: World) -> object:
    path = await _five(world)
    return {
        selector: names(await world.get(path, fieldSelector=selector))
        for selector in (
            "metadata.name=b",
            "metadata.name!=b",
            f"metadata.namespace={world.namespace},metadata.name=c",
            "type=Opaque",
        )
    }


@case
async def a_field_that_cannot_select_is_a_bad_request(world: World) -> object:
    return [
        await world.get(world.at("secrets"), fieldSelector="spec.x=1"),
        await world.get(world.at("pods"), fieldSelector="spec.containers=1"),
        await world.get(world.at("leases", "coordination.k8s.io/v1"), fieldSelector="spec.holderIdentity=x"),
        await world.get(world.at("secrets"), fieldSelector="name"),
    ]


@case
async def fields_select_pods(world: World) -> object:
    await world.have(world.at("pods"), pod("a"))
    await world.have(world.at("pods"), pod("b", spec={"restartPolicy": "Never"}))
    await world.must(
        world.merge(world.at("pods/b/status"), {"status": {"phase": "Running", "podIP": "10.9.9.9"}})
    )
    return {
        selector: names(await world.get(world.at("pods"), fieldSelector=selector))
        for selector in (
            "status.phase=Running",
            "status.phase!=Running",
            "spec.restartPolicy=Never",
            "spec.nodeName=",
            "spec.nodeName!=",
            "spec.schedulerName=nobody",
            "spec.serviceAccountName=default",
            "status.podIP=10.9.9.9",
            "status.nominatedNodeName=",
            "spec.hostNetwork=false",
        )
    }


@case
async def fields_select_nodes_by_whether_they_take_pods(world: World) -> object:
    await world.have(world.top("nodes"), node(world, "one"))
    await world.have(world.top("nodes"), node(world, "two") | {"spec": {"unschedulable": True}})
    mine = f"case={world.tag}"
    return [
        names(
            await world.get(world.top("nodes"), labelSelector=mine, fieldSelector="spec.unschedulable=true")
        ),
        names(
            await world.get(world.top("nodes"), labelSelector=mine, fieldSelector="spec.unschedulable=false")
        ),
    ]


@case
async def fields_select_jobs_by_success(world: World) -> object:
    return [
        verdict(await world.get(world.at("jobs", "batch/v1"), fieldSelector="status.successful=0")),
        await world.get(world.at("deployments", "apps/v1"), fieldSelector="spec.replicas=0"),
    ]


@case
async def an_object_can_be_asked_for_as_a_list_of_one(world: World) -> object:
    await world.have(world.at("secrets"), secret())
    return names(await world.get(world.at("secrets"), fieldSelector="metadata.name=a", limit="500"))


@case
async def a_list_over_all_namespaces_tells_each(world: World) -> object:
    await world.have(world.at("secrets"), secret("a", mine=world.tag))
    answer = await world.get(world.top("secrets"), labelSelector=f"mine={world.tag}")
    return [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in answer["items"]]


@case
async def a_list_comes_in_pages(world: World) -> object:
    path = await _five(world)
    first = await world.get(path, limit="2")
    second = await world.get(path, limit="2", **{"continue": first["metadata"]["continue"]})
    third = await world.get(path, limit="2", **{"continue": second["metadata"]["continue"]})
    return [
        [names(each), {key: value for key, value in each["metadata"].items() if key != "resourceVersion"}]
        for each in (first, second, third)
    ] + [first.version == second.version == third.version]


@case
async def a_page_with_a_selector_does_not_count_the_rest(world: World) -> object:
    path = await _five(world)
    first = await world.get(path, limit="1", labelSelector="color=red")
    second = await world.get(
        path, limit="1", labelSelector="color=red", **{"continue": first["metadata"]["continue"]}
    )
    return [[names(each), sorted(each["metadata"])] for each in (first, second)]


@case
async def later_pages_show_the_list_as_it_was(world: World) -> object:
    path = await _five(world)
    first = await world.get(path, limit="2")
    await world.have(path, secret("bb"))
    await world.must(world.delete(f"{path}/d"))
    rest = await world.get(path, **{"continue": first["metadata"]["continue"]})
    return [names(first), names(rest)]


@case
async def a_limit_larger_than_the_list_has_no_next_page(world: World) -> object:
    path = await _five(world)
    answer = await world.get(path, limit="100")
    return [len(answer["items"]), sorted(answer["metadata"])]


@case
async def a_broken_token_is_a_bad_request(world: World) -> object:
    return verdict(await world.get(world.at("secrets"), limit="1", **{"continue": "nonsense!"}))


@case
async def a_token_with_another_version_is_a_bad_request(world: World) -> object:
    path = await _five(world)
    first = await world.get(path, limit="1")
    return await world.get(
        path, limit="1", resourceVersion="1", **{"continue": first["metadata"]["continue"]}
    )


@case
async def a_token_of_long_ago_is_gone(world: World) -> object:
    path = await defined(world)
    for name in ("a", "b"):
        await world.have(path, widget(world, name))
    token = {"v": "meta.k8s.io/v1", "rv": 1, "start": "a\u0000"}
    text = base64.urlsafe_b64encode(json.dumps(token, separators=(",", ":")).encode()).decode().rstrip("=")
    answer = await world.get(path, limit="1", **{"continue": text})
    return [answer.code, answer.body.get("reason")]


@case
async def a_limit_that_is_no_number_is_a_bad_request(world: World) -> object:
    return [
        verdict(await world.get(world.at("secrets"), limit="many")),
        verdict(await world.get(world.at("secrets"), limit="-1")),
    ]


# -- versions ---------------------------------------------------------------------------------------------------------


@case
async def a_list_not_older_than_a_version_may_be_newer(world: World) -> object:
    path = world.at("secrets")
    first = await world.have(path, secret("a"))
    await world.have(path, secret("b"))
    answer = await world.get(path, resourceVersion=first.version, resourceVersionMatch="NotOlderThan")
    return [names(answer), int(answer.version) >= int(first.version)]


@case
async def a_list_at_an_exact_version_is_that_of_then(world: World) -> object:
    path = world.at("secrets")
    first = await world.have(path, secret("a"))
    second = await world.have(path, secret("b"))
    await world.must(world.delete(f"{path}/a"))
    answers = [
        await world.get(path, resourceVersion=each.version, resourceVersionMatch="Exact")
        for each in (first, second)
    ]
    return [[names(each) for each in answers], answers[0].version == first.version]


@case
async def a_limited_list_at_a_version_is_exact(world: World) -> object:
    path = world.at("secrets")
    first = await world.have(path, secret("a"))
    await world.have(path, secret("b"))
    answer = await world.get(path, resourceVersion=first.version, limit="10")
    return [answer.code, "a" in names(answer)]


@case
async def a_list_from_any_version_answers(world: World) -> object:
    answer = await world.get(world.at("secrets"), resourceVersion="0")
    return [answer.code, answer["kind"], answer.version != "0"]


@case
async def a_list_at_the_very_first_version_is_gone(world: World) -> object:
    path = await defined(world)
    answer = await world.get(path, resourceVersion="1", resourceVersionMatch="Exact")
    return [answer.code, answer.body.get("reason")]


@case
async def a_list_of_the_future_is_too_early(world: World) -> object:
    answer = await world.get(
        world.at("secrets"), resourceVersion="999999999", resourceVersionMatch="NotOlderThan"
    )
    details = answer["details"]
    return [
        answer.code,
        answer["reason"],
        details.get("causes"),
        "retryAfterSeconds" in details,
        bool(answer.retry_after),
    ]


@case
async def an_object_of_the_future_is_too_early(world: World) -> object:
    await world.have(world.at("secrets"), secret())
    answer = await world.get(world.at("secrets/a"), resourceVersion="999999999")
    return [answer.code, answer["reason"]]


@case
async def an_exact_version_of_the_future_is_refused(world: World) -> object:
    answer = await world.get(world.at("secrets"), resourceVersion="999999999", resourceVersionMatch="Exact")
    return [answer.code, answer["reason"]]


@case
async def how_a_version_is_matched_needs_a_version(world: World) -> object:
    return [
        await world.get(world.at("secrets"), resourceVersionMatch="Exact"),
        await world.get(world.at("secrets"), resourceVersion="0", resourceVersionMatch="Exact"),
        await world.get(world.at("secrets"), resourceVersion="5", resourceVersionMatch="Odd"),
    ]


@case
async def a_version_that_is_no_number_is_refused(world: World) -> object:
    return await world.get(world.at("secrets"), resourceVersion="abc")


@case
async def versions_grow_over_all_kinds(world: World) -> object:
    first = await world.have(world.at("secrets"), secret())
    second = await world.have(world.at("configmaps"), thing("ConfigMap", "a"))
    third = await world.get(world.at("secrets"))
    return [int(first.version) < int(second.version) <= int(third.version)]


# -- forms ------------------------------------------------------------------------------------------------------------


@case
async def an_object_is_told_by_its_metadata_alone(world: World) -> object:
    await world.have(world.at("secrets"), secret("a", color="red"))
    return await world.ask("GET", world.at("secrets/a"), accept=METADATA)


@case
async def a_list_is_told_by_its_metadata_alone(world: World) -> object:
    await world.have(world.at("secrets"), secret("a", color="red"))
    return await world.ask("GET", world.at("secrets"), accept=METADATA_LIST)


@case
async def a_created_object_may_be_answered_by_its_metadata(world: World) -> object:
    return await world.ask("POST", world.at("secrets"), secret(), accept=METADATA)


@case
async def a_form_nobody_serves_is_not_acceptable(world: World) -> object:
    await world.have(world.at("secrets"), secret())
    return [
        await world.ask("GET", world.at("secrets/a"), accept="text/html"),
        await world.ask("GET", world.at("secrets/a"), accept="application/json;as=Odd;v=v1;g=meta.k8s.io"),
    ]


@case
async def a_form_nobody_serves_may_fall_back(world: World) -> object:
    await world.have(world.at("secrets"), secret())
    answers = [
        await world.ask("GET", world.at("secrets/a"), accept=accept)
        for accept in (
            "application/json;as=Odd;v=v1;g=meta.k8s.io,application/json",
            "*/*",
            "application/*",
            "text/html,*/*;q=0.1",
        )
    ]
    return [(each.code, each.content, each["kind"]) for each in answers]


@case
async def a_table_says_what_it_shows(world: World) -> object:
    await world.have(world.at("secrets"), secret("a", color="red"))
    answer = await world.ask("GET", world.at("secrets"), accept=TABLE)
    return {
        "code": answer.code,
        "kind": answer["kind"],
        "columns": [
            {key: value for key, value in each.items() if key != "description"}
            for each in answer["columnDefinitions"]
        ],
        "rows": rows(answer),
        "objects": [row["object"] for row in answer["rows"]],
    }


@case
async def the_columns_of_a_table_are_described(world: World) -> object:
    answer = await world.ask("GET", world.at("secrets"), accept=TABLE)
    return [bool(each["description"]) for each in answer["columnDefinitions"]]


@case
async def a_table_carries_whole_objects_on_request(world: World) -> object:
    await world.have(world.at("secrets"), secret())
    answers = [
        await world.ask("GET", world.at("secrets"), accept=TABLE, includeObject=what)
        for what in ("Object", "None", "Metadata")
    ]
    return [pick(answer, "rows.0.object") for answer in answers] + [
        await world.ask("GET", world.at("secrets"), accept=TABLE, includeObject="Odd")
    ]


@case
async def one_object_may_be_a_table(world: World) -> object:
    await world.have(world.at("configmaps"), thing("ConfigMap", "a", data={"x": "1", "y": "2"}))
    answer = await world.ask("GET", world.at("configmaps/a"), accept=TABLE)
    return [answer.code, answer["kind"], [row["cells"][:2] for row in answer["rows"]], answer["metadata"]]


@case
async def a_table_of_nothing_has_columns_only(world: World) -> object:
    answer = await world.ask("GET", world.at("pods"), accept=TABLE)
    return [answer.code, [each["name"] for each in answer["columnDefinitions"]], answer["rows"]]


@case
async def a_table_is_paged_too(world: World) -> object:
    path = await _five(world)
    answer = await world.ask("GET", path, accept=TABLE, limit="2")
    return [sorted(answer["metadata"]), [row["cells"][0] for row in answer["rows"]]]
