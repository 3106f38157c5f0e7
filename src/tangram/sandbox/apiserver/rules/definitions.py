"""CustomResourceDefinitions. What their schemas may say is the business of `schemas`."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import unchanged
from tangram.sandbox.apiserver.rules.looking import record, records, texts, word
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.schemas import crd_schema_faults


def _fill_definition(crd: Object) -> None:
    spec = crd["spec"]
    names: Object = spec.setdefault("names", {})
    kind = word(names, "kind")
    if kind:
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", f"{kind}List")
    conversion: Object = spec.setdefault("conversion", {})
    conversion.setdefault("strategy", "None")
    service = record(conversion, "webhook", "clientConfig", "service")
    if service:
        service.setdefault("port", 443)


def _create_definition(crd: Object) -> None:
    stored = [word(each, "name") for each in records(crd["spec"], "versions") if each.get("storage")]
    crd["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": stored[:1] or None,
    }


def _update_definition(new: Object, _old: Object) -> None:
    stored = texts(record(new, "status"), "storedVersions")
    for each in records(new["spec"], "versions"):
        if each.get("storage") and word(each, "name") not in stored:
            new.setdefault("status", {})["storedVersions"] = [*stored, word(each, "name")]


def _definition_faults(new: Object, old: Object | None) -> list[Fault]:
    faults = list(crd_schema_faults(new))
    if old is None:
        return faults
    spec, before = record(new, "spec"), record(old, "spec")
    established = any(
        word(each, "type") == "Established" and word(each, "status") == "True"
        for each in records(record(old, "status"), "conditions")
    )
    if established:
        faults += unchanged("spec.scope", spec.get("scope"), before.get("scope"))
        faults += unchanged(
            "spec.names.kind", record(spec, "names").get("kind"), record(before, "names").get("kind")
        )
    faults += unchanged("spec.group", spec.get("group"), before.get("group"))
    plural = record(spec, "names").get("plural")
    return [*faults, *unchanged("spec.names.plural", plural, record(before, "names").get("plural"))]


DEFINITION: Final = Ruling(
    fill=_fill_definition,
    create=_create_definition,
    update=_update_definition,
    faults=_definition_faults,
    counts=("spec",),
)
