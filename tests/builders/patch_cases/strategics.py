"""Strategic merge patches."""

from __future__ import annotations

from builders.patch_cases.objects import (
    POD_ADMISSION,
    SERVICE_ADDRESSES,
    Case,
    Object,
    config,
    container,
    create,
    deployment,
    in_template,
    made,
    new_node,
    pod,
    port,
    service,
    strategic,
)


def strategic_patches() -> list[Case]:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C", "value": "3"}]
    web = create(
        deployment(
            container("web", env=env, ports=[port(80, "http"), port(443, "https")], args=["a", "b"]),
            container("side"),
            volumes=[{"name": "scratch", "emptyDir": {}}, {"name": "more", "emptyDir": {"medium": "Memory"}}],
        )
    )
    finalizers = create(
        made("ConfigMap", metadata={"finalizers": ["example.com/a", "example.com/b", "example.com/c"]})
    )
    labelled = create(config(one="1"))
    other_env = {"name": "web", "env": [{"name": "B", "value": "x"}, {"name": "D", "value": "4"}]}

    def by_name(*names: str) -> list[Object]:
        return [{"name": name} for name in names]

    return [
        Case(
            "strategic-change-one-container",
            [web, strategic(in_template(containers=[{"name": "side", "image": "example.com/side:2"}]))],
        ),
        Case("strategic-merge-env-by-name", [web, strategic(in_template(containers=[other_env]))]),
        Case(
            "strategic-env-in-an-order",
            [
                web,
                strategic(in_template(containers=[{**other_env, "$setElementOrder/env": by_name("D", "B")}])),
            ],
        ),
        Case(
            "strategic-order-alone",
            [web, strategic(in_template(**{"$setElementOrder/containers": by_name("side", "web")}))],
        ),
        Case(
            "strategic-new-container-in-front",
            [
                web,
                strategic(
                    in_template(
                        **{
                            "$setElementOrder/containers": by_name("first", "web", "side"),
                            "containers": [container("first")],
                        }
                    )
                ),
            ],
        ),
        Case(
            "strategic-delete-a-container",
            [web, strategic(in_template(containers=[{"$patch": "delete", "name": "side"}]))],
        ),
        Case(
            "strategic-delete-and-add",
            [web, strategic(in_template(containers=[{"$patch": "delete", "name": "web"}, container("new")]))],
        ),
        Case(
            "strategic-replace-all-containers",
            [web, strategic(in_template(containers=[{"$patch": "replace"}, container("only")]))],
        ),
        Case(
            "strategic-delete-an-env",
            [
                web,
                strategic(
                    in_template(containers=[{"name": "web", "env": [{"$patch": "delete", "name": "A"}]}])
                ),
            ],
        ),
        Case(
            "strategic-env-from-elsewhere",
            [
                web,
                strategic(
                    in_template(
                        containers=[
                            {
                                "name": "web",
                                "env": [
                                    {
                                        "name": "A",
                                        "value": None,
                                        "valueFrom": {
                                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}
                                        },
                                    }
                                ],
                            }
                        ]
                    )
                ),
            ],
        ),
        Case(
            "strategic-merge-ports",
            [
                web,
                strategic(
                    in_template(containers=[{"name": "web", "ports": [port(8080, "more"), port(443, "tls")]}])
                ),
            ],
        ),
        Case(
            "strategic-args-are-replaced",
            [web, strategic(in_template(containers=[{"name": "web", "args": ["z"]}]))],
        ),
        Case(
            "strategic-null-deletes",
            [
                web,
                strategic(
                    {
                        "metadata": {"labels": {"tier": None}},
                        "spec": {"template": {"metadata": {"annotations": {"now": "1", "gone": None}}}},
                    }
                ),
            ],
        ),
        Case(
            "strategic-replace-a-map",
            [web, strategic({"metadata": {"labels": {"$patch": "replace", "fresh": "yes"}}})],
        ),
        Case("strategic-delete-a-map", [web, strategic({"metadata": {"labels": {"$patch": "delete"}}})]),
        Case(
            "strategic-directive-on-what-is-not-there",
            [web, strategic({"metadata": {"annotations": {"$patch": "delete"}}})],
        ),
        Case(
            "strategic-retain-keys-of-a-volume",
            [
                web,
                strategic(
                    in_template(
                        volumes=[
                            {
                                "$retainKeys": ["name", "configMap"],
                                "name": "scratch",
                                "configMap": {"name": "x", "defaultMode": 420},
                            }
                        ]
                    )
                ),
            ],
        ),
        Case(
            "strategic-retain-keys-of-the-strategy",
            [web, strategic({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}})],
        ),
        Case(
            "strategic-retain-keys-that-leave-one-out",
            [web, strategic({"spec": {"strategy": {"$retainKeys": ["rollingUpdate"], "type": "Recreate"}}})],
        ),
        Case(
            "strategic-retain-keys-that-are-no-list",
            [web, strategic({"spec": {"strategy": {"$retainKeys": "type", "type": "Recreate"}}})],
        ),
        Case(
            "strategic-add-a-finalizer",
            [finalizers, strategic({"metadata": {"finalizers": ["example.com/d", "example.com/a"]}})],
        ),
        Case(
            "strategic-delete-a-finalizer",
            [
                finalizers,
                strategic(
                    {
                        "metadata": {
                            "$deleteFromPrimitiveList/finalizers": ["example.com/b"],
                            "$setElementOrder/finalizers": ["example.com/c", "example.com/a"],
                        }
                    }
                ),
            ],
        ),
        Case(
            "strategic-order-of-finalizers",
            [
                finalizers,
                strategic(
                    {
                        "metadata": {
                            "$setElementOrder/finalizers": [
                                "example.com/c",
                                "example.com/d",
                                "example.com/a",
                            ],
                            "finalizers": ["example.com/d"],
                        }
                    }
                ),
            ],
        ),
        Case(
            "strategic-no-merge-key", [web, strategic(in_template(containers=[{"image": "example.com/x"}]))]
        ),
        Case(
            "strategic-unknown-directive", [web, strategic({"metadata": {"labels": {"$patch": "increase"}}})]
        ),
        Case(
            "strategic-unknown-directive-in-a-list",
            [web, strategic(in_template(containers=[{"$patch": "increase", "name": "web"}]))],
        ),
        Case(
            "strategic-merge-directive-in-a-list",
            [web, strategic(in_template(containers=[{"$patch": "merge", "name": "web"}]))],
        ),
        Case(
            "strategic-order-that-does-not-match",
            [
                web,
                strategic(
                    in_template(
                        **{
                            "$setElementOrder/containers": by_name("web"),
                            "containers": [{"name": "side", "image": "x"}],
                        }
                    )
                ),
            ],
        ),
        Case(
            "strategic-order-that-is-no-list",
            [web, strategic(in_template(**{"$setElementOrder/containers": "web"}))],
        ),
        Case("strategic-order-of-nothing", [web, strategic({"$setElementOrder": []})]),
        Case(
            "strategic-delete-from-nothing",
            [finalizers, strategic({"metadata": {"$deleteFromPrimitiveList": ["x"]}})],
        ),
        Case("strategic-mixed-list", [finalizers, strategic({"metadata": {"finalizers": [{"a": "b"}]}})]),
        Case("strategic-list-in-a-list", [finalizers, strategic({"metadata": {"finalizers": [["b"]]}})]),
        Case("strategic-not-an-object", [web, strategic([])]),
        Case(
            "strategic-of-a-config-map",
            [
                labelled,
                strategic({"data": {"one": None, "two": "2"}, "metadata": {"annotations": {"a/b": None}}}),
            ],
        ),
        Case(
            "strategic-service-ports",
            [
                create(service(), *SERVICE_ADDRESSES),
                strategic({"spec": {"ports": [{"port": 80, "targetPort": 9090}]}}),
            ],
        ),
        Case(
            "strategic-node-taints-and-labels",
            [
                new_node(),
                strategic(
                    {
                        "metadata": {"labels": {"zone": "two"}},
                        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": True},
                    }
                ),
                strategic({"spec": {"taints": None, "unschedulable": None}}, manager="other"),
            ],
        ),
        Case(
            "strategic-node-status",
            [
                new_node(),
                strategic(
                    {
                        "status": {
                            "conditions": [{"type": "Ready", "status": "True"}],
                            "capacity": {"cpu": "4"},
                            "allocatable": {"cpu": "4"},
                        }
                    },
                    subresource="status",
                    only_owners=True,
                ),
                strategic(
                    {
                        "status": {
                            "conditions": [
                                {"type": "Ready", "status": "False", "reason": "Why"},
                                {"type": "DiskPressure", "status": "False"},
                            ]
                        }
                    },
                    subresource="status",
                    only_owners=True,
                ),
            ],
        ),
        Case(
            "strategic-pod-metadata",
            [
                create(pod(), *POD_ADMISSION),
                strategic({"metadata": {"labels": {"more": "1"}, "annotations": {"a": "b"}}}),
            ],
        ),
        Case(
            "strategic-pod-status",
            [
                create(pod(), *POD_ADMISSION),
                strategic(
                    {
                        "status": {
                            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "X"}],
                            "nominatedNodeName": "n",
                        }
                    },
                    subresource="status",
                    only_owners=True,
                ),
            ],
        ),
    ]
