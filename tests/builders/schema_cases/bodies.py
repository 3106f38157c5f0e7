"""Bodies of built-in kinds: unreadable, with fields nobody knows, with values of another type."""

import json
from typing import Any

from msgspec import Struct

from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.apiserver.kinds import Kind

YAML = "application/yaml"


class Body(Struct):
    kind: str
    text: bytes
    content: str = "application/json"

    def of_kind(self) -> Kind:
        return next(each for each in BUILT_IN if each.kind == self.kind)


def pod(metadata: dict[str, Any] | None = None, **spec: Any) -> Body:  # noqa: ANN401 - any value may be a wrong one
    container = {"name": "c", "image": "i"}
    return _of("Pod", metadata={"name": "x"} | (metadata or {}), spec={"containers": [container], **spec})


def contained(**more: Any) -> Body:  # noqa: ANN401 - the same
    return pod(containers=[{"name": "c", "image": "i", **more}])


def _of(kind: str, version: str = "v1", **fields: Any) -> Body:  # noqa: ANN401 - the same
    named: dict[str, Any] = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}}
    return Body(kind, json.dumps(named | fields).encode())


BODIES: dict[str, Body] = {
    "unknown field": pod(foo=1, contaienrs=[{}]),
    "unknown field in a list": contained(imagee=1),
    "unknown field in metadata": pod({"foo": 2}),
    "unknown field at the top": _of("ConfigMap", bar={}),
    "field twice": Body(
        "Pod", b'{"metadata":{"name":"x","name":"y"},"spec":{"containers":[{"name":"c","image":"i"}]}}'
    ),
    "field thrice in a list": Body(
        "Pod",
        b'{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i","image":"j","image":"k"}]}}',
    ),
    "half a JSON": Body("Pod", b'{"apiVersion":"v1",'),
    "more than a JSON": Body("Pod", b'{"apiVersion":"v1"} trailing'),
    "no JSON": Body("Pod", b"hello"),
    "a list": Body("Pod", b"[]"),
    "a number": Body("Pod", b"3"),
    "a text": Body("Pod", b'"x"'),
    "a comma too many": Body("Pod", b'{"apiVersion":"v1",}'),
    "a comma too few": Body("Pod", b'{"apiVersion":"v1" "kind":"Pod"}'),
    "a comma too few in a list": Body("Pod", b'{"spec":[1 2]}'),
    "no colon": Body("Pod", b'{"apiVersion" "v1"}'),
    "not a number": Body("Pod", b'{"spec":NaN}'),
    "a line break in a text": Body("Pod", b'{"apiVersion":"v\n1"}'),
    "an unknown escape": Body("Pod", b'{"apiVersion":"\\q"}'),
    "nothing": Body("Pod", b""),
    "kind a number": Body("Pod", b'{"apiVersion": "v1", "kind": 3, "metadata": {"name": "x"}}'),
    "name a number": pod(containers=[{"name": 3}]),
    "list an object": pod(containers={"name": "c"}),
    "list a text": pod(containers="x"),
    "element a text": pod(containers=["x"]),
    "struct a text": _of("Pod", spec="x"),
    "metadata a list": _of("Pod", metadata=[]),
    "label a number": pod({"labels": {"a": 1}}),
    "labels a list": pod({"labels": ["a"]}),
    "int64 a text": pod(terminationGracePeriodSeconds="3"),
    "int64 a fraction": pod(terminationGracePeriodSeconds=3.5),
    "int64 too large": pod(terminationGracePeriodSeconds=2**70),
    "int32 too large": pod(priority=2**40),
    "bool a text": pod(hostNetwork="true"),
    "quantity a bool": contained(resources={"limits": {"cpu": True}}),
    "quantity a word": contained(resources={"limits": {"cpu": "abc"}}),
    "quantity a list": contained(resources={"limits": {"cpu": [1]}}),
    "number or text a bool": contained(livenessProbe={"httpGet": {"port": True}}),
    "number or text an object": contained(livenessProbe={"httpGet": {"port": {}}}),
    "time a word": pod({"creationTimestamp": "yesterday"}),
    "time a number": pod({"creationTimestamp": 3}),
    "text in a list a number": contained(args=[1]),
    "text deep in a list a number": contained(env=[{"name": "a", "value": 1}]),
    "two wrong": pod(containers=[{"name": 1, "image": 2}], nodeName=3),
    "value of a map a number": _of("ConfigMap", data={"a": 1}),
    "bytes that are none": _of("ConfigMap", binaryData={"a": "!!"}),
    "bytes a number": _of("Secret", data={"a": 3}),
    "of another group": _of("Deployment", "apps/v1", spec={"replicas": "3"}),
    "deep in another group": _of(
        "Deployment", "apps/v1", spec={"template": {"spec": {"containers": [{"name": 3}]}}}
    ),
    "a schema's type a number": _of("PodDisruptionBudget", "policy/v1", spec={"minAvailable": True}),
    "YAML, a key twice": Body(
        "Pod",
        b"metadata: {name: x}\nspec:\n  containers:\n  - name: c\n    image: a\n    image: b\n  foo: 1\n",
        YAML,
    ),
    "YAML, two keys twice": Body(
        "ConfigMap", b"metadata:\n  name: x\n  name: y\ndata:\n  a: b\n  a: c\n  d: e\n", YAML
    ),
    "YAML, half indented": Body("Pod", b"apiVersion: v1\nkind: Pod\n  metadata: {name: x}\n", YAML),
    "YAML, a list": Body("Pod", b"- a\n", YAML),
    "YAML, a word that is a number": Body("ConfigMap", b"metadata: {name: x}\ndata: {a: 0644}\n", YAML),
    "YAML, a word that is true": Body("ConfigMap", b"metadata: {name: x}\ndata: {a: yes}\n", YAML),
    "YAML, the letter for yes": Body("ConfigMap", b"metadata: {name: x}\ndata: {a: y}\n", YAML),
    "YAML, a date is a text": Body("ConfigMap", b"metadata: {name: x}\ndata: {a: 2024-01-31}\nb: 1\n", YAML),
    "YAML, a time of day is a text": Body(
        "ConfigMap", b"metadata: {name: x}\ndata: {a: 12:30}\nb: 1\n", YAML
    ),
    "YAML, a version is a text": Body("ConfigMap", b"metadata: {name: x}\ndata: {a: 1.2.3}\nb: 1\n", YAML),
    "YAML, a tenth": Body("ConfigMap", b"metadata: {name: x}\ndata: {a: .1}\n", YAML),
    "YAML, an anchor": Body(
        "ConfigMap", b"metadata: &m {name: x, foo: 1}\ndata: &d {a: b}\nbinaryData: {<<: *d, c: 3}\n", YAML
    ),
}
