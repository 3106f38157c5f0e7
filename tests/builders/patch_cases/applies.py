"""Server-side apply."""

from __future__ import annotations

from builders.patch_cases.objects import (
    LAST_APPLIED,
    SERVICE_ADDRESSES,
    Case,
    Json,
    Object,
    Step,
    apply,
    config,
    container,
    create,
    deployment,
    in_template,
    json,
    made,
    merge,
    new_node,
    op,
    port,
    service,
    strategic,
)


def applies() -> list[Case]:
    replicas = made("Deployment", spec={"replicas": 3})

    def env(*pairs: tuple[str, str], **more: Json) -> Object:
        said = [{"name": name, "value": value} for name, value in pairs]
        return made("Deployment", **in_template(containers=[{"name": "web", "env": said} | more]))

    def data(**held: str) -> Object:
        return made("ConfigMap", data=held)

    web = create(deployment(container("web", ports=[port(80, "http")])))
    client_side = config(one="1", two="2")
    client_side["metadata"]["annotations"] = {
        LAST_APPLIED: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{},"data":{"one":"1","two":"2"}}\n'
    }
    foreign = {"name": "web", "args": ["x"], "ports": [{"containerPort": 80, "name": "www"}]}
    return [
        Case("apply-creates", [apply(data(a="1", b="2") | {"metadata": {"labels": {"x": "y"}}})]),
        Case("apply-creates-a-deployment", [apply(deployment(), only_owners=True)]),
        Case("apply-same-again", [apply(data(a="1")), apply(data(a="1"))]),
        Case("apply-change-of-ones-own", [apply(data(a="1")), apply(data(a="2"))]),
        Case("apply-give-up-a-field", [apply(data(a="1", b="2")), apply(data(a="1"))]),
        Case("apply-give-up-everything", [apply(data(a="1", b="2")), apply(made("ConfigMap"))]),
        Case("apply-by-two-apart", [apply(data(a="1")), apply(data(b="2"), "second")]),
        Case("apply-same-value-is-shared", [apply(data(a="1")), apply(data(a="1"), "second")]),
        Case(
            "apply-give-up-what-is-shared",
            [
                apply(data(a="1")),
                apply(data(a="1"), "second"),
                apply(made("ConfigMap", metadata={"labels": {"l": "1"}})),
            ],
        ),
        Case("apply-conflict", [web, apply(replicas)]),
        Case(
            "apply-conflict-forced",
            [web, apply(replicas, force=True), apply(made("Deployment"), only_owners=True)],
        ),
        Case(
            "apply-conflicts-with-one",
            [
                web,
                apply(
                    made(
                        "Deployment",
                        metadata={"labels": {"app": "x"}},
                        spec={
                            "replicas": 3,
                            "selector": {"matchLabels": {"app": "web"}},
                            "template": {"spec": {"containers": [foreign]}},
                        },
                    )
                ),
            ],
        ),
        Case(
            "apply-conflicts-with-two",
            [
                web,
                merge({"spec": {"replicas": 2}}),
                apply(replicas, "second", force=True),
                apply(made("Deployment", metadata={"labels": {"app": "x"}}, spec={"replicas": 9})),
            ],
        ),
        Case(
            "apply-conflict-through-a-subresource",
            [
                new_node(),
                strategic(
                    {"status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}},
                    subresource="status",
                    only_owners=True,
                ),
                apply(
                    made("Node", status={"capacity": {"cpu": "8"}, "allocatable": {"cpu": "4"}}),
                    subresource="status",
                ),
            ],
        ),
        Case(
            "apply-status",
            [
                new_node(),
                apply(
                    made("Node", status={"conditions": [{"type": "A", "status": "True"}]}),
                    subresource="status",
                    only_owners=True,
                ),
                apply(
                    made("Node", status={"conditions": [{"type": "B", "status": "True"}]}),
                    "second",
                    subresource="status",
                    only_owners=True,
                ),
                apply(made("Node", status={}), subresource="status", only_owners=True),
            ],
        ),
        Case(
            "apply-status-through-the-object",
            [
                new_node(),
                apply(
                    made(
                        "Node",
                        spec={"unschedulable": True},
                        status={"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"}},
                    ),
                    only_owners=True,
                ),
            ],
        ),
        Case(
            "apply-spec-through-status",
            [
                new_node(),
                apply(
                    made(
                        "Node",
                        spec={"unschedulable": True},
                        status={"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"}},
                    ),
                    subresource="status",
                    only_owners=True,
                ),
            ],
        ),
        Case(
            "apply-list-elements-by-key",
            [
                web,
                apply(env(("A", "1"), ("B", "2"))),
                apply(env(("C", "3"), ("B", "x")), "second", force=True),
                apply(env(("A", "1"))),
            ],
        ),
        Case(
            "apply-key-with-a-default",
            [
                web,
                apply(
                    made(
                        "Deployment",
                        spec={
                            "template": {
                                "spec": {
                                    "containers": [
                                        {"name": "web", "ports": [{"containerPort": 80, "name": "http"}]}
                                    ]
                                }
                            }
                        },
                    )
                ),
            ],
        ),
        Case("apply-atomic-list", [web, apply(env(args=["a"])), apply(env(args=["b"]), "second")]),
        Case(
            "apply-atomic-map",
            [
                create(service(), *SERVICE_ADDRESSES),
                apply(made("Service", spec={"selector": {"app": "web", "more": "1"}})),
            ],
        ),
        Case(
            "apply-service-ports",
            [
                create(service(), *SERVICE_ADDRESSES),
                apply(
                    made("Service", spec={"ports": [{"port": 8080, "name": "more", "targetPort": 1}]}),
                    only_owners=True,
                ),
                apply(made("Service", spec={}), only_owners=True),
            ],
        ),
        Case(
            "apply-set",
            [
                create(made("ConfigMap", metadata={"finalizers": ["example.com/a"]})),
                apply(made("ConfigMap", metadata={"finalizers": ["example.com/b", "example.com/a"]})),
                apply(made("ConfigMap", metadata={"finalizers": ["example.com/c"]})),
            ],
        ),
        Case(
            "apply-empty-map",
            [create(config(one="1")), apply(made("ConfigMap", metadata={"annotations": {}}, data={}))],
        ),
        Case(
            "apply-null",
            [
                create(config(one="1")),
                apply(
                    made(
                        "ConfigMap", metadata={"creationTimestamp": None}, data={"one": "1"}, binaryData=None
                    )
                ),
            ],
        ),
        Case(
            "apply-null-in-a-template",
            [
                web,
                apply(
                    made(
                        "Deployment",
                        spec={
                            "template": {"metadata": {"creationTimestamp": None, "labels": {"more": "1"}}},
                            "strategy": {},
                        },
                        status={},
                    )
                ),
            ],
        ),
        Case("apply-unknown-field", [web, apply(made("Deployment", spec={"replicass": 3}))]),
        Case(
            "apply-unknown-field-in-an-element",
            [
                web,
                apply(
                    made(
                        "Deployment",
                        spec={"template": {"spec": {"containers": [{"name": "web", "imag": "x"}]}}},
                    )
                ),
            ],
        ),
        Case("apply-wrong-type", [web, apply(made("Deployment", spec={"replicas": "three"}))]),
        Case(
            "apply-two-wrong-types",
            [web, apply(made("Deployment", metadata={"labels": {"a": 7}}, spec={"paused": "yes"}))],
        ),
        Case("apply-list-for-a-map", [web, apply(made("Deployment", spec=["a"]))]),
        Case(
            "apply-text-for-a-list",
            [web, apply(made("Deployment", spec={"template": {"spec": {"containers": "web"}}}))],
        ),
        Case(
            "apply-one-key-twice",
            [
                web,
                apply(
                    made(
                        "Deployment",
                        spec={"template": {"spec": {"containers": [{"name": "web"}, {"name": "web"}]}}},
                    )
                ),
            ],
        ),
        Case(
            "apply-null-element",
            [web, apply(made("Deployment", spec={"template": {"spec": {"containers": [None]}}}))],
        ),
        Case(
            "apply-with-owners",
            [create(config(one="1")), apply(made("ConfigMap", metadata={"managedFields": []}))],
        ),
        Case("apply-another-kind", [create(config(one="1")), apply(made("Pod"))]),
        Case(
            "apply-by-kubectl-over-client-side",
            [
                Step(how="create", body=client_side, manager="kubectl-client-side-apply"),
                apply(data(one="x", two="2"), "kubectl"),
                apply(data(one="x"), "kubectl"),
            ],
        ),
        Case(
            "apply-by-kubectl-over-somebodys-change",
            [
                Step(how="create", body=client_side, manager="kubectl-client-side-apply"),
                merge({"data": {"two": "changed"}}),
                apply(data(one="x", two="3"), "kubectl"),
            ],
        ),
        Case(
            "apply-by-another-over-client-side",
            [
                Step(how="create", body=client_side, manager="kubectl-client-side-apply"),
                apply(data(one="x", two="2"), "somebody"),
            ],
        ),
        Case(
            "apply-to-what-nobody-owns",
            [
                create(config(one="1", two="2")),
                json(op("replace", "/metadata/managedFields", [{}])),
                apply(data(one="1", three="3")),
            ],
        ),
        Case(
            "apply-after-an-update-took-over",
            [apply(data(a="1", b="2")), merge({"data": {"a": "x"}}), apply(data(b="2"))],
        ),
        Case(
            "apply-then-somebody-deletes",
            [apply(data(a="1", b="2")), merge({"data": {"a": None}}), apply(data(a="1", b="2"))],
        ),
        Case(
            "apply-after-the-upgrade-of-owners",
            [
                Step(how="create", body=client_side, manager="kubectl-client-side-apply"),
                json(
                    op("replace", "/metadata/managedFields/0/manager", "kubectl"),
                    op("replace", "/metadata/managedFields/0/operation", "Apply"),
                ),
                apply(data(one="1"), "kubectl"),
            ],
        ),
    ]
