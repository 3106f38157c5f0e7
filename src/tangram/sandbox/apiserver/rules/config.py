"""ConfigMaps and Secrets."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import (
    each_invalid,
    forbidden,
    invalid,
    required,
    too_long,
    unchanged,
)
from tangram.sandbox.apiserver.rules.looking import members, record, word
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.wording import config_key

MOST: Final = 1024 * 1024
OPAQUE: Final = "Opaque"
_FROZEN: Final = "field is immutable when `immutable` is set"
_ACCOUNT: Final = "kubernetes.io/service-account.name"
_PREFIX: Final = "kubernetes.io/"
_KEYS: Final = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_JSON: Final = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")


def _frozen_faults(new: Object, old: Object | None, *fields: str) -> list[Fault]:
    if old is None or old.get("immutable") is not True:
        return []
    faults = [] if new.get("immutable") is True else [forbidden("immutable", _FROZEN)]
    return [*faults, *(forbidden(field, _FROZEN) for field in fields if new.get(field) != old.get(field))]


def _config_map_faults(new: Object, old: Object | None) -> list[Fault]:
    plain, binary = record(new, "data"), record(new, "binaryData")
    faults: list[Fault] = []
    for field, entries in (("data", plain), ("binaryData", binary)):
        for key in entries:
            faults += each_invalid(f"{field}[{key}]", key, config_key(key))
    for key in plain.keys() & binary.keys():
        faults.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    size = sum(len(str(value).encode()) for value in plain.values())
    size += sum(len(_decoded(value)) for value in binary.values())
    if size > MOST:
        faults.append(too_long("[]", MOST))
    return [*_frozen_faults(new, old, "data", "binaryData"), *faults]


CONFIG_MAP: Final = Ruling(faults=_config_map_faults)


def _fill_secret(secret: Object) -> None:
    secret.setdefault("type", OPAQUE)
    told = secret.pop("stringData", None)
    if told:
        data: Object = secret.setdefault("data", {})
        for key, value in members(told).items():
            data[key] = base64.b64encode(str(value).encode()).decode()


def _secret_faults(new: Object, old: Object | None) -> list[Fault]:
    data = record(new, "data")
    faults: list[Fault] = []
    for key in data:
        faults += each_invalid(f"data[{key}]", key, config_key(key))
    if sum(len(_decoded(value)) for value in data.values()) > MOST:
        faults.append(too_long("data", MOST))
    faults += _type_faults(new, data)
    if old is None:
        return faults
    fixed = unchanged("type", new.get("type"), old.get("type"))
    return [*fixed, *_frozen_faults(new, old, "data"), *faults]


def _type_faults(secret: Object, data: Object) -> list[Fault]:
    kind = word(secret, "type")
    if kind == f"{_PREFIX}service-account-token":
        if record(secret, "metadata", "annotations").get(_ACCOUNT):
            return []
        return [required(f"metadata.annotations[{_ACCOUNT}]")]
    if kind == f"{_PREFIX}basic-auth":
        if {"username", "password"} & data.keys():
            return []
        return [required("data[username]"), required("data[password]")]
    faults = [required(f"data[{key}]") for key in _KEYS.get(kind, ()) if key not in data]
    if kind in _JSON and not faults:
        key = _KEYS[kind][0]
        wrong = _wrong_json(_decoded(data[key]))
        if wrong:
            faults.append(invalid(f"data[{key}]", "<secret contents redacted>", wrong))
    return faults


def _decoded(value: object) -> bytes:
    try:
        return base64.b64decode(str(value))
    except (binascii.Error, ValueError):
        return b""


def _wrong_json(text: bytes) -> str:
    try:
        read = json.loads(text)
    except ValueError:
        # Go counts characters where we do not; what most people meet is a text that is cut short.
        return "unexpected end of JSON input" if not text.rstrip().endswith(b"}") else "invalid JSON"
    if isinstance(read, dict):
        return ""
    return "json: cannot unmarshal value into Go value of type map[string]interface {}"


SECRET: Final = Ruling(fill=_fill_secret, faults=_secret_faults)
