"""Everything that can be done to kinds that people define."""

from __future__ import annotations

from builders.patch_cases.objects import (
    Case,
    Step,
    apply,
    create,
    json,
    made,
    merge,
    op,
    thing,
)


def things() -> list[Case]:
    ports = [{"port": 80, "protocol": "TCP", "name": "a"}]
    full = thing(
        size=1,
        mode="slow",
        settings={"a": "1"},
        whole={"x": "1"},
        tags=["a", "b"],
        plain=["p"],
        ports=ports,
        free={"deep": {"er": [1, {"a": 2}]}, "n": 1},
        either=1,
    )
    start = create(full)
    plain = create(thing("Plain", size=1, mode="slow") | {"status": {"phase": "New"}})
    return [
        Case(
            "thing-merge",
            [
                start,
                merge(
                    {"spec": {"size": 2, "settings": {"b": "2"}, "free": {"deep": {"er": None, "x": "y"}}}}
                ),
            ],
        ),
        Case(
            "thing-json",
            [
                start,
                json(
                    op("add", "/spec/tags/-", "c"),
                    op("remove", "/spec/ports/0/name"),
                    op("replace", "/spec/either", "25%"),
                ),
            ],
        ),
        Case(
            "thing-status",
            [
                start,
                Step(how="merge", body={"status": {"phase": "Ready", "n": {"a": 1}}}, subresource="status"),
            ],
        ),
        Case(
            "thing-apply",
            [
                start,
                apply(
                    thing(settings={"c": "3"}, tags=["c"], ports=[{"port": 81}], free={"new": [1], "n": 1}),
                    only_owners=True,
                ),
                apply(thing(settings={"d": "4"})),
            ],
        ),
        Case(
            "thing-apply-conflicts",
            [
                start,
                apply(
                    thing(
                        size=2,
                        settings={"a": "2"},
                        whole={"y": "1"},
                        plain=["q"],
                        ports=[{"port": 80, "name": "b"}],
                        free={"deep": {"er": 1}, "n": 2},
                        either="x",
                    )
                ),
            ],
        ),
        Case("thing-apply-creates", [apply(thing(size=1, mode="slow", tags=["b", "a"]))]),
        Case("thing-apply-twice", [apply(thing(size=1, mode="slow")), apply(thing(size=1, mode="slow"))]),
        Case("thing-apply-unknown-field", [start, apply(thing(sise=2))]),
        Case("thing-apply-element-without-its-key", [start, apply(thing(marks=[{"name": "x"}]))]),
        Case(
            "thing-apply-elements-by-key",
            [
                start,
                apply(thing(marks=[{"id": "x", "name": "1"}, {"id": "y"}])),
                apply(thing(marks=[{"id": "z"}, {"id": "x", "name": "2"}]), "second", force=True),
                apply(thing(marks=[{"id": "y"}])),
            ],
        ),
        Case("thing-apply-number-in-a-set", [start, apply(thing(tags=[{"a": 1}]))]),
        Case(
            "thing-apply-free-turns-into-a-map",
            [start, apply(thing(free={"n": {"now": "a map"}}), force=True)],
        ),
        Case(
            "thing-apply-an-empty-list",
            [
                apply(thing(size=1, mode="slow", ports=[], tags=[], settings={}, plain=[])),
                apply(thing(size=1, mode="slow")),
            ],
        ),
        Case(
            "thing-apply-status",
            [
                start,
                apply(made("Thing", status={"phase": "Ready"}), subresource="status"),
                apply(
                    made("Thing", status={"phase": "Gone"}, spec={"size": 9}), "second", subresource="status"
                ),
            ],
        ),
        Case(
            "plain-status-is-a-field-like-others",
            [plain, merge({"status": {"phase": "Ready"}}), apply(made("Plain", status={"phase": "Gone"}))],
        ),
    ]
