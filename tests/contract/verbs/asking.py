"""What kubectl asks of the server itself: versions, resources, explanations, rights."""

from __future__ import annotations

from typing import Final

from contract.kubectl import Session, do
from contract.things import config
from tangram.sandbox.apiserver.builtin import BUILT_IN

_KINDS: Final = "|".join(sorted({kind.plural for kind in BUILT_IN if "list" in kind.verbs}))
_GROUPS: Final = "|".join(sorted({kind.api_version.replace(".", r"\.") for kind in BUILT_IN}))

FIELDS: Final = r"^(KIND|VERSION|GROUP|FIELD)|^ +\w+\t<"
"""Of an explanation, which fields there are and of which type; the prose about them is another matter."""

SESSIONS: Final = (
    Session(
        "the_server_says_what_it_serves",
        (
            do("api-resources", keep=rf"^({_KINDS}) .*\b({_GROUPS}) ", ordered=False),
            do("api-resources --api-group=apps -o name", ordered=False),
            do(
                "api-resources --namespaced=false --api-group= -o name",
                keep="namespaces|nodes|persistentvolumes",
            ),
            do("api-resources --verbs=list,watch --api-group=batch -o wide"),
            do("api-versions", keep=rf"^({_GROUPS})$"),
            do("version", keep="Server"),
            do("cluster-info", keep="control plane"),
            do("get --raw /healthz"),
            do("get --raw /version", keep="gitVersion|major|minor"),
            do("get --raw /api/v1/namespaces/{ns}/pods", keep="kind"),
            do("get --raw /nowhere"),
        ),
    ),
    Session(
        "fields_are_explained",
        (
            do("explain pod", keep=FIELDS),
            do("explain pod.spec.containers.resources", keep=FIELDS),
            do("explain deployment.spec.strategy", keep=FIELDS),
            do("explain configmap.data"),
            do("explain pod.spec.nothing"),
            do("explain nothing"),
            do("explain deployment.spec.strategy --recursive", keep=FIELDS),
            do("explain customresourcedefinition.spec.names", keep=FIELDS),
        ),
    ),
    Session(
        "rights_are_asked_for",
        (
            do("auth can-i get pods"),
            do("auth can-i '*' '*'"),
            do("auth whoami", keep="ATTR|Username|Groups"),
            do("auth can-i delete nodes --as=somebody --as-group=system:masters"),
        ),
    ),
    Session(
        "kinds_are_defined_and_used",
        (
            do(
                "apply -f -",
                {
                    "apiVersion": "apiextensions.k8s.io/v1",
                    "kind": "CustomResourceDefinition",
                    "metadata": {"name": "widgets.{tag}.example.com"},
                    "spec": {
                        "group": "{tag}.example.com",
                        "scope": "Namespaced",
                        "names": {
                            "plural": "widgets",
                            "singular": "widget",
                            "kind": "Widget",
                            "shortNames": ["wg{tag}"],
                        },
                        "versions": [
                            {
                                "name": "v1",
                                "served": True,
                                "storage": True,
                                "subresources": {"status": {}},
                                "additionalPrinterColumns": [
                                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
                                ],
                                "schema": {
                                    "openAPIV3Schema": {
                                        "type": "object",
                                        "properties": {
                                            "spec": {
                                                "type": "object",
                                                "description": "what is wanted",
                                                "properties": {
                                                    "size": {
                                                        "type": "integer",
                                                        "maximum": 5,
                                                        "description": "how large",
                                                    }
                                                },
                                            },
                                            "status": {
                                                "type": "object",
                                                "x-kubernetes-preserve-unknown-fields": True,
                                            },
                                        },
                                    }
                                },
                            }
                        ],
                    },
                },
            ),
            do("wait --for=condition=Established crd/widgets.{tag}.example.com"),
            do("get crd widgets.{tag}.example.com -o jsonpath={.status.acceptedNames.kind}"),
            do(
                "apply -f -",
                {
                    "apiVersion": "{tag}.example.com/v1",
                    "kind": "Widget",
                    "metadata": {"name": "a"},
                    "spec": {"size": 3},
                },
            ),
            do("get widgets"),
            do("get wg{tag} a -o yaml"),
            do(
                "apply -f -",
                {
                    "apiVersion": "{tag}.example.com/v1",
                    "kind": "Widget",
                    "metadata": {"name": "a"},
                    "spec": {"size": 4},
                },
            ),
            do(
                "apply -f -",
                {
                    "apiVersion": "{tag}.example.com/v1",
                    "kind": "Widget",
                    "metadata": {"name": "b"},
                    "spec": {"size": 9},
                },
            ),
            do(
                "apply -f -",
                {
                    "apiVersion": "{tag}.example.com/v1",
                    "kind": "Widget",
                    "metadata": {"name": "b"},
                    "spec": {"odd": 9},
                },
            ),
            do('patch widget a --type=merge -p \'{"spec":{"size":2}}\''),
            do('patch widget a -p \'{"spec":{"size":2}}\''),
            do("describe widget a"),
            do("explain widget.spec --api-version={tag}.example.com/v1"),
            do("delete widget a"),
            do("delete crd widgets.{tag}.example.com"),
            do("get widgets.{tag}.example.com"),
        ),
        usual=True,
    ),
    Session(
        "what_is_not_served_is_said_so",
        (
            do("create -f -", config("a")),
            do("rollout status configmap/a"),
            do("scale configmap/a --replicas=2"),
            do("get pods --context=nowhere"),
        ),
    ),
)
