"""A CustomResourceDefinition looked over as a whole: names, versions, columns, subresources, conversion, schemas.

Where all versions say the same of schema, columns or subresources, the real server treats it as said once for all and
names it so in its faults (spec.validation, not spec.versions[0].schema); so does this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.schemas.faults import forbidden, invalid, not_supported, required
from tangram.sandbox.apiserver.schemas.structural import schema_faults
from tangram.sandbox.apiserver.wording import old_label, subdomain

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_PROTECTED: Final = (".k8s.io", ".kubernetes.io")
_APPROVED: Final = "api-approved.kubernetes.io"
_MIXED_CASE: Final = "may have mixed case, but should otherwise match: "


def crd_schema_faults(crd: Object) -> list[Fault]:
    """Everything that is wrong with a definition, its metadata but for the name's two halves aside."""
    spec = _mapping(crd.get("spec"))
    names = _mapping(spec.get("names"))
    versions = [_mapping(each) for each in cast("list[object]", spec.get("versions") or ())]
    return [
        *_name_faults(crd, spec, names),
        *_group_faults(spec),
        *_version_faults(versions),
        *_names_faults(names),
        *_said_once_faults(versions),
        *_conversion_faults(_mapping(spec.get("conversion"))),
        *_stored_faults(crd, versions),
        *_approval_faults(crd, spec),
        *_preserve_faults(spec),
    ]


def _name_faults(crd: Object, spec: Mapping[str, Any], names: Mapping[str, Any]) -> Iterator[Fault]:
    name = str(_mapping(crd.get("metadata")).get("name") or "")
    if name and name != f"{names.get('plural') or ''}.{spec.get('group') or ''}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


def _group_faults(spec: Mapping[str, Any]) -> Iterator[Fault]:
    group = str(spec.get("group") or "")
    if not group:
        yield required("spec.group")
    elif wrong := subdomain(group):
        yield invalid("spec.group", group, ",".join(wrong))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")
    scope = spec.get("scope") or ""
    if not scope:
        yield required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield not_supported("spec.scope", scope, ("Cluster", "Namespaced"))


def _version_faults(versions: Sequence[Mapping[str, Any]]) -> Iterator[Fault]:
    for number, version in enumerate(versions):
        if _schema(version) is None:
            yield required(f"spec.versions[{number}].schema.openAPIV3Schema")
    for number, version in enumerate(versions):
        where = f"spec.versions[{number}]"
        name = str(version.get("name") or "")
        if _wrong_label(name):
            yield invalid(f"{where}.name", name, _wrong_label(name))
        warning = version.get("deprecationWarning")
        if warning is not None and not version.get("deprecated"):
            yield invalid(f"{where}.deprecationWarning", warning, "can only be set for deprecated versions")
        if not _all_same(versions, "schema"):
            with_status = "status" in _mapping(version.get("subresources"))
            yield from _of_schema(version, f"{where}.schema", with_status=with_status)
        if not _all_same(versions, "subresources"):
            yield from _scale_faults(version, f"{where}.subresources")
        if not _all_same(versions, "additionalPrinterColumns"):
            yield from _column_faults(version, where)
    called = [version.get("name") for version in versions]
    if len(set(called)) != len(called):
        yield invalid("spec.versions", called, "must contain unique version names")
    if sum(version.get("storage") is True for version in versions) != 1:
        told = "must have exactly one version marked as storage version"
        yield invalid("spec.versions", called, told)
    if called and _wrong_label(str(called[0] or "")):
        yield invalid("spec.version", called[0] or "", _wrong_label(str(called[0] or "")))


def _names_faults(names: Mapping[str, Any]) -> Iterator[Fault]:
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name):
            yield required(f"spec.names.{name}")
    for name in ("plural", "singular"):
        said = str(names.get(name) or "")
        if said and _wrong_label(said):
            yield invalid(f"spec.names.{name}", said, _wrong_label(said))
    for name in ("kind", "listKind"):
        said = str(names.get(name) or "")
        if said and _wrong_label(said.lower()):
            yield invalid(f"spec.names.{name}", said, _MIXED_CASE + _wrong_label(said.lower()))
    yield from _each_label(names, "shortNames")
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")
    yield from _each_label(names, "categories")


def _each_label(names: Mapping[str, Any], field: str) -> Iterator[Fault]:
    for number, each in enumerate(names.get(field) or ()):
        if _wrong_label(str(each)):
            yield invalid(f"spec.names.{field}[{number}]", each, _wrong_label(str(each)))


def _said_once_faults(versions: Sequence[Mapping[str, Any]]) -> Iterator[Fault]:
    first: Mapping[str, Any] = versions[0] if versions else {}
    if _all_same(versions, "schema"):
        with_status = any("status" in _mapping(version.get("subresources")) for version in versions)
        yield from _of_schema(first, "spec.validation", with_status=with_status)
    if _all_same(versions, "subresources"):
        yield from _scale_faults(first, "spec.subresources")
    if _all_same(versions, "additionalPrinterColumns"):
        yield from _column_faults(first, "spec")


def _of_schema(version: Mapping[str, Any], path: str, *, with_status: bool) -> Iterator[Fault]:
    schema = _schema(version)
    if schema is not None:
        yield from schema_faults(schema, f"{path}.openAPIV3Schema", with_status=with_status)


def _scale_faults(version: Mapping[str, Any], path: str) -> Iterator[Fault]:
    scale = _mapping(version.get("subresources")).get("scale")
    if not isinstance(scale, Mapping):
        return
    said = cast("Mapping[str, Any]", scale)
    for field, roots, needed in (
        ("specReplicasPath", (".spec.",), True),
        ("statusReplicasPath", (".status.",), True),
        ("labelSelectorPath", (".spec.", ".status."), False),
    ):
        where, value = f"{path}.scale.{field}", str(said.get(field) or "")
        if not value:
            if needed:
                yield required(where)
        elif not value.startswith("."):
            yield invalid(where, value, "must be a simple json path starting with .")
        elif not value.startswith(roots):
            under = "either .spec or .status" if len(roots) > 1 else roots[0].rstrip(".")
            yield invalid(where, value, f"should be a json path under {under}")


def _column_faults(version: Mapping[str, Any], path: str) -> Iterator[Fault]:
    for number, column in enumerate(version.get("additionalPrinterColumns") or ()):
        where, said = f"{path}.additionalPrinterColumns[{number}]", _mapping(column)
        if not said.get("name"):
            yield required(f"{where}.name")
        told = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not said.get("type"):
            yield required(f"{where}.type", told)
        elif said["type"] not in _COLUMN_TYPES:
            yield invalid(f"{where}.type", said["type"], told)
        if said.get("format") and said["format"] not in _COLUMN_FORMATS:
            yield invalid(f"{where}.format", said["format"], f"must be one of {','.join(_COLUMN_FORMATS)}")
        path_said = str(said.get("jsonPath") or "")
        if not path_said:
            yield required(f"{where}.JSONPath")
        elif not path_said.startswith("."):
            yield invalid(f"{where}.JSONPath", path_said, "must be a simple json path starting with .")


def _conversion_faults(conversion: Mapping[str, Any]) -> Iterator[Fault]:
    strategy = conversion.get("strategy")
    webhook = _mapping(conversion.get("webhook"))
    if strategy is None:
        return
    if strategy not in ("None", "Webhook"):
        yield not_supported("spec.conversion.strategy", strategy, ("None", "Webhook"))
    if strategy == "Webhook":
        if not webhook.get("clientConfig"):
            told = "required when strategy is set to Webhook"
            yield required("spec.conversion.webhookClientConfig", told)
        if not webhook.get("conversionReviewVersions"):
            yield required("spec.conversion.conversionReviewVersions")
    elif webhook:
        told = "should not be set when strategy is not set to Webhook"
        yield forbidden("spec.conversion.webhookClientConfig", told)


def _stored_faults(crd: Object, versions: Sequence[Mapping[str, Any]]) -> Iterator[Fault]:
    """Versions that objects may be stored in must stay."""
    stored: list[str] = list(_mapping(crd.get("status")).get("storedVersions") or ())
    if not stored:
        stored = [str(version.get("name")) for version in versions if version.get("storage") is True][:1]
    if not stored:
        yield invalid("status.storedVersions", None, "must have at least one stored version")
    called = [version.get("name") for version in versions]
    for version in versions:
        if stored and version.get("storage") is True and version.get("name") not in stored:
            told = f"must have the storage version {version.get('name')}"
            yield invalid("status.storedVersions", stored, told)
    for number, name in enumerate(stored):
        if name not in called:
            told = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in spec."
                f"versions until a storage migration ensures no data remains persisted in {name} and removes {name} "
                "from status.storedVersions"
            )
            yield invalid(f"status.storedVersions[{number}]", name, told)


def _approval_faults(crd: Object, spec: Mapping[str, Any]) -> Iterator[Fault]:
    group = str(spec.get("group") or "")
    annotations = _mapping(_mapping(crd.get("metadata")).get("annotations"))
    if f".{group}".endswith(_PROTECTED) and not annotations.get(_APPROVED):
        told = (
            f'protected groups must have approval annotation "{_APPROVED}", '
            "see https://github.com/kubernetes/enhancements/pull/1111"
        )
        yield required(f"metadata.annotations[{_APPROVED}]", told)


def _preserve_faults(spec: Mapping[str, Any]) -> Iterator[Fault]:
    if spec.get("preserveUnknownFields") is True:
        told = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid("spec.preserveUnknownFields", value=True, detail=told)


def _all_same(versions: Sequence[Mapping[str, Any]], field: str) -> bool:
    return all(version.get(field) == versions[0].get(field) for version in versions)


def _schema(version: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = _mapping(version.get("schema")).get("openAPIV3Schema")
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else None


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _wrong_label(text: str) -> str:
    """Every sentence about it in one; empty for a good one."""
    return ",".join(old_label(text))
