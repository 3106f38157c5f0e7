"""What is written down and looked up: configuration, accounts and their rights, limits, leases, webhooks."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.printing.columns import (
    AGE,
    NAME,
    Cells,
    Heading,
    Printer,
    Printers,
    age_of,
    count,
    wide,
)
from tangram.sandbox.apiserver.printing.reading import at, each, name_of, number, quantity, text, truth
from tangram.wire import loose


def _namespace(thing: Object, now: datetime) -> Cells:
    return [name_of(thing), text(thing, "status", "phase"), age_of(thing, now)]


def _config_map(thing: Object, now: datetime) -> Cells:
    size = len(loose.members(at(thing, "data"))) + len(loose.members(at(thing, "binaryData")))
    return [name_of(thing), size, age_of(thing, now)]


def _secret(thing: Object, now: datetime) -> Cells:
    return [name_of(thing), text(thing, "type"), len(loose.members(at(thing, "data"))), age_of(thing, now)]


def _account(thing: Object, now: datetime) -> Cells:
    return [name_of(thing), age_of(thing, now)]


def _quota(thing: Object, now: datetime) -> Cells:
    hard, used = (loose.members(at(thing, "status", field)) for field in ("hard", "used"))
    requests: list[str] = []
    limits: list[str] = []
    for resource in sorted(hard):
        side = limits if resource.startswith("limits.") else requests
        side.append(f"{resource}: {quantity(used.get(resource))}/{quantity(hard[resource])}")
    return [name_of(thing), ", ".join(requests), ", ".join(limits), age_of(thing, now)]


def _priority(thing: Object, now: datetime) -> Cells:
    return [
        name_of(thing),
        number(thing, "value"),
        truth(thing, "globalDefault"),
        age_of(thing, now),
        text(thing, "preemptionPolicy"),
    ]


def _lease(thing: Object, now: datetime) -> Cells:
    return [name_of(thing), text(thing, "spec", "holderIdentity"), age_of(thing, now)]


def _binding(thing: Object, now: datetime) -> Cells:
    subjects = each(thing, "subjects")

    def named(kind: str) -> str:
        return ", ".join(text(one, "name") for one in subjects if one.get("kind") == kind)

    accounts = [one for one in subjects if one.get("kind") == "ServiceAccount"]
    return [
        name_of(thing),
        f"{text(thing, 'roleRef', 'kind')}/{text(thing, 'roleRef', 'name')}",
        age_of(thing, now),
        named("User"),
        named("Group"),
        ", ".join(f"{text(one, 'namespace')}/{text(one, 'name')}" for one in accounts),
    ]


def _webhooks(thing: Object, now: datetime) -> Cells:
    return [name_of(thing), len(each(thing, "webhooks")), age_of(thing, now)]


_BINDING: Final = Printer(
    (NAME, Heading("Role"), AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")), _binding
)
_WEBHOOKS: Final = Printer((NAME, count("Webhooks"), AGE), _webhooks)

PRINTERS: Final[Printers] = {
    ("", "Namespace"): Printer((NAME, Heading("Status"), AGE), _namespace),
    ("", "ConfigMap"): Printer((NAME, Heading("Data"), AGE), _config_map),
    ("", "Secret"): Printer((NAME, Heading("Type"), Heading("Data"), AGE), _secret),
    ("", "ServiceAccount"): Printer((NAME, AGE), _account),
    ("", "ResourceQuota"): Printer((NAME, Heading("Request"), Heading("Limit"), AGE), _quota),
    ("scheduling.k8s.io", "PriorityClass"): Printer(
        (NAME, count("Value"), Heading("Global-Default", "boolean"), AGE, Heading("PreemptionPolicy")),
        _priority,
    ),
    ("coordination.k8s.io", "Lease"): Printer((NAME, Heading("Holder"), AGE), _lease),
    ("rbac.authorization.k8s.io", "RoleBinding"): _BINDING,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _BINDING,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
}
