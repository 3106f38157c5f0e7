"""Environment variables, and where their values come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.downward import VARIABLE_FIELDS, field_faults, resource_field_faults
from tangram.sandbox.apiserver.rules.faulting import each_invalid, invalid, required
from tangram.sandbox.apiserver.rules.looking import placed, record, word
from tangram.sandbox.apiserver.wording import config_key, subdomain, variable

_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def variable_faults(container: Object, path: str) -> list[Fault]:
    """Of variables one by one."""
    faults: list[Fault] = []
    for at, each in placed(container, "env", path):
        name = word(each, "name")
        faults += each_invalid(f"{at}.name", name, variable(name)) if name else [required(f"{at}.name")]
        if "valueFrom" in each:
            faults += _value_faults(each, record(each, "valueFrom"), f"{at}.valueFrom")
    return faults


def _value_faults(each: Object, source: Object, path: str) -> list[Fault]:
    faults: list[Fault] = []
    named = [name for name in _SOURCES if name in source]
    for name in named:
        faults += _REFERENCES[name](record(source, name), f"{path}.{name}")
    if not named:
        listed = ", ".join(f"`{name}`" for name in _SOURCES[:-1])
        faults.append(invalid(path, "", f"must specify one of: {listed} or `{_SOURCES[-1]}`"))
    elif word(each, "value"):
        faults.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(named) > 1:
        faults.append(invalid(path, "", "may not have more than one field specified at a time"))
    return faults


def _key_faults(reference: Object, path: str) -> list[Fault]:
    name, key = word(reference, "name"), word(reference, "key")
    faults = each_invalid(f"{path}.name", name, subdomain(name))
    return [
        *faults,
        *(each_invalid(f"{path}.key", key, config_key(key)) if key else [required(f"{path}.key")]),
    ]


def _file_key_faults(reference: Object, path: str) -> list[Fault]:
    return [required(f"{path}.{name}") for name in ("volumeName", "path", "key") if not word(reference, name)]


_REFERENCES: Final[Mapping[str, Callable[[Object, str], list[Fault]]]] = {
    "fieldRef": lambda reference, path: field_faults(reference, path, VARIABLE_FIELDS),
    "resourceFieldRef": resource_field_faults,
    "configMapKeyRef": _key_faults,
    "secretKeyRef": _key_faults,
    "fileKeyRef": _file_key_faults,
}


def variables_from_faults(container: Object, path: str) -> list[Fault]:
    """Of variables taken from a ConfigMap or Secret as a whole."""
    faults: list[Fault] = []
    for at, each in placed(container, "envFrom", path):
        prefix = word(each, "prefix")
        faults += each_invalid(f"{at}.prefix", prefix, variable(prefix))
        named = [name for name in ("configMapRef", "secretRef") if name in each]
        faults += [required(f"{at}.{name}.name") for name in named if not word(record(each, name), "name")]
        if not named:
            faults.append(
                invalid(f"{path}.envFrom", "", "must specify one of: `configMapRef` or `secretRef`")
            )
        elif len(named) > 1:
            faults.append(
                invalid(f"{path}.envFrom", "", "may not have more than one field specified at a time")
            )
    return faults
