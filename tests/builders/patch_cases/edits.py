"""JSON patches, merge patches and updates."""

from __future__ import annotations

from builders.patch_cases.objects import (
    Case,
    Object,
    Step,
    config,
    container,
    create,
    deployment,
    in_template,
    json,
    made,
    merge,
    op,
)


def json_patches() -> list[Case]:
    start = create(config(one="1", two="2"))
    finalizers = create(made("ConfigMap", metadata={"finalizers": ["example.com/a", "example.com/b"]}))
    two = create(deployment(container("web"), container("side")))
    image = "/spec/template/spec/containers"
    return [
        Case(
            "json-add-and-remove-a-key",
            [start, json(op("add", "/data/three", "3"), op("remove", "/data/one"))],
        ),
        Case("json-replace-sets-a-missing-key", [start, json(op("replace", "/data/new", "n"))]),
        Case(
            "json-test-then-replace",
            [start, json(op("test", "/data/one", "1"), op("replace", "/data/one", "x"))],
        ),
        Case("json-test-fails", [start, json(op("test", "/data/one", "2"), op("replace", "/data/one", "x"))]),
        Case(
            "json-test-of-what-is-missing-is-null",
            [start, json(op("test", "/data/x", None), op("add", "/data/x", "y"))],
        ),
        Case("json-remove-what-is-missing", [start, json(op("remove", "/data/none"))]),
        Case("json-add-below-what-is-missing", [start, json(op("add", "/binaryData/x", "eA=="))]),
        Case("json-move", [start, json(op("move", "/data/moved", start="/data/one"))]),
        Case("json-move-what-is-missing", [start, json(op("move", "/data/moved", start="/data/none"))]),
        Case("json-copy", [start, json(op("copy", "/data/copied", start="/data/one"))]),
        Case("json-escaped-slash", [start, json(op("replace", "/metadata/annotations/a~1b", "2"))]),
        Case("json-unknown-operation", [start, json(op("increase", "/data/one", 1))]),
        Case("json-no-path", [start, json({"op": "remove"})]),
        Case("json-not-a-list", [start, Step(how="json", body={"data": {}})]),
        Case("json-element-that-is-no-operation", [start, json("remove")]),
        Case("json-path-that-is-no-text", [start, json({"op": "remove", "path": 7})]),
        Case(
            "json-append-to-a-list", [finalizers, json(op("add", "/metadata/finalizers/-", "example.com/c"))]
        ),
        Case(
            "json-insert-into-a-list",
            [finalizers, json(op("add", "/metadata/finalizers/0", "example.com/c"))],
        ),
        Case(
            "json-remove-the-last-by-a-negative-index",
            [finalizers, json(op("remove", "/metadata/finalizers/-1"))],
        ),
        Case("json-index-behind-the-end", [finalizers, json(op("remove", "/metadata/finalizers/2"))]),
        Case(
            "json-replace-in-an-element", [two, json(op("replace", f"{image}/1/image", "example.com/side:2"))]
        ),
        Case("json-remove-an-element", [two, json(op("remove", f"{image}/0"))]),
        Case(
            "json-forget-the-owners",
            [start, json(op("replace", "/metadata/managedFields", [{}])), merge({"data": {"one": "x"}})],
        ),
        Case(
            "json-forget-the-owners-with-no-entries",
            [start, json(op("replace", "/metadata/managedFields", []))],
        ),
        Case(
            "json-rename-an-owner",
            [
                start,
                json(
                    op("replace", "/metadata/managedFields/0/manager", "kubectl"),
                    op("replace", "/metadata/managedFields/0/operation", "Apply"),
                ),
            ],
        ),
        Case(
            "json-owners-that-nobody-can-read",
            [start, json(op("replace", "/metadata/managedFields/0/fieldsType", "FieldsV9"))],
        ),
    ]


def merge_patches() -> list[Case]:
    start = create(config(one="1", two="2"))
    web = create(deployment(container("web", args=["a", "b"]), container("side")))
    return [
        Case(
            "merge-set-and-delete",
            [start, merge({"data": {"one": None, "three": "3"}, "metadata": {"labels": {"app": None}}})],
        ),
        Case("merge-of-what-is-not-there", [start, merge({"binaryData": {"x": "eA==", "y": None}})]),
        Case("merge-that-changes-nothing", [start, merge({"data": {"one": "1"}})]),
        Case("merge-replaces-lists", [web, merge(in_template(containers=[container("web", args=["c"])]))]),
        Case("merge-not-an-object", [start, merge(["data"])]),
        Case("merge-of-a-number", [start, merge(7)]),
        Case(
            "merge-one-field-by-two-managers",
            [
                web,
                merge({"spec": {"replicas": 2}}),
                Step(how="merge", manager="other", body={"spec": {"replicas": 3}}),
            ],
        ),
        Case(
            "merge-twice-by-one-manager",
            [web, merge({"spec": {"replicas": 2}}), merge({"spec": {"paused": True}})],
        ),
    ]


def updates() -> list[Case]:
    def entry(number: int) -> Object:
        return {
            "manager": f"writer-{number}",
            "operation": "Update",
            "apiVersion": "v1",
            "time": f"2001-02-03T04:05:{number:02}Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {f"f:key-{number}": {}}},
        }

    many = config(**{f"key-{number}": "1" for number in range(12)})
    crowd = json(op("replace", "/metadata/managedFields", [entry(number) for number in range(10)]))

    def update(body: Object, manager: str = "editor") -> Step:
        return Step(how="update", body=body, manager=manager)

    return [
        Case(
            "update-labels-and-data",
            [
                create(config(one="1", two="2")),
                update({"metadata": {"labels": {"new": "1"}}, "data": {"one": None, "two": "x"}}),
            ],
        ),
        Case(
            "update-that-sends-no-owners",
            [create(config(one="1")), update({"metadata": {"managedFields": None}, "data": {"one": "2"}})],
        ),
        Case(
            "update-takes-the-last-field-of-another",
            [create(made("ConfigMap", data={"one": "1"})), update({"data": None})],
        ),
        Case(
            "update-with-many-writers",
            [
                create(many),
                crowd,
                update({"data": {"key-11": "2"}}),
                update({"data": {"key-10": "2"}}, "other"),
            ],
        ),
        Case(
            "update-a-deployment",
            [
                create(deployment()),
                update(
                    {
                        "spec": {
                            "replicas": 2,
                            "template": {
                                "spec": {
                                    "containers": [
                                        container("web", image="example.com/web:2"),
                                        container("more"),
                                    ]
                                }
                            },
                        }
                    }
                ),
            ],
        ),
    ]
