"""A ValidatingAdmissionPolicy with its binding, and the texts of CEL in it: the form that all policies of ours have.

What a policy says is its author's; that it fails closed, denies and holds in the whole cluster is said here once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

Object = dict[str, Any]

_VERSION: Final = "admissionregistration.k8s.io/v1"


def policy_manifests(
    name: str,
    *,
    requests: Sequence[Object],
    variables: Sequence[Object],
    validations: Sequence[Object],
    conditions: Sequence[Object] = (),
) -> list[Object]:
    """The policy and its binding, both of that name. Without `conditions` it looks at every one of the requests."""
    limited = {"matchConditions": list(conditions)} if conditions else {}
    return [
        {
            "apiVersion": _VERSION,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": list(requests)},
                **limited,
                "variables": list(variables),
                "validations": list(validations),
            },
        },
        {
            "apiVersion": _VERSION,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        },
    ]


def validation(expression: str, rule: str, answer: str) -> Object:
    """What must hold; the rule for servers that cannot work out the `answer`, an expression of CEL too."""
    return {
        "expression": expression,
        "reason": "Forbidden",
        "message": f"{rule}.",
        "messageExpression": answer,
    }


def literal(text: str) -> str:
    """A text of CEL, which writes it like JSON."""
    return msgspec.json.encode(text).decode()


def literals(texts: Sequence[str]) -> str:
    """A list of CEL; with a space after each comma."""
    return f"[{', '.join(map(literal, texts))}]"
