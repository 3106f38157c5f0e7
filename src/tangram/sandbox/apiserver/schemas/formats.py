"""The formats a schema may ask of a text, under the names the API server knows. Others are ignored, as there."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final
from urllib.parse import urlsplit

_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]\d\d:?\d\d)"
)
_UUID: Final = r"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}-?{fourth}-?[0-9a-f]{{12}}"
_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DURATION: Final = re.compile(
    r"[-+]?0|[-+]?((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+"
    r"|\d+\s*(ns|nanos?|nanoseconds?|us|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?"
    r"|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)"
)
Check = Callable[[str], bool]


def fits(text: str, form: str) -> bool:
    """Whether a text has a format; a format nobody knows fits every text."""
    check = _CHECKS.get(form) or _CHECKS.get(form.replace("-", ""))
    return check is None or check(text)


def _matches(pattern: str, *, most: int = 0) -> Check:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda text: compiled.fullmatch(text) is not None and (not most or len(text) <= most)


def _lower(pattern: str, *, most: int) -> Check:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None and len(text) <= most


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == len("2006-01-02")


def _is_time(text: str) -> bool:
    found = _TIME.fullmatch(text)
    return found is not None and _is_date(found[1])


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(text)


def _is_address(version: int) -> Check:
    def check(text: str) -> bool:
        try:
            return ipaddress.ip_address(text).version == version
        except ValueError:
            return False

    return check


def _is_cidr(text: str) -> bool:
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return "/" in text


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return not re.search(r"\s", text) and (bool(parts.scheme) or text.startswith("/"))


def _is_hostname(text: str) -> bool:
    whole = re.fullmatch(
        r"[a-zA-Z0-9_]([-a-zA-Z0-9_]*[a-zA-Z0-9_])?(\.[a-zA-Z0-9_]([-a-zA-Z0-9_]*[a-zA-Z0-9_])?)*\.?", text
    )
    return whole is not None and len(text) <= 255 and all(len(part) <= 63 for part in text.split("."))


_ANY_THIRD: Final = "[0-9a-f]{4}"
_CHECKS: Final[Mapping[str, Check]] = {
    "bsonobjectid": _matches("[0-9a-f]{24}"),
    "byte": _is_base64,
    "cidr": _is_cidr,
    "creditcard": lambda text: 13 <= len(re.sub(r"\D", "", text)) <= 19,
    "date": _is_date,
    "datetime": _is_time,
    "duration": lambda text: _DURATION.fullmatch(text) is not None,
    "email": _matches(r"[^@\s<>]+@[^@\s<>]+"),
    "hexcolor": _matches("#?([0-9a-f]{3}|[0-9a-f]{6})"),
    "hostname": _is_hostname,
    "ipv4": _is_address(4),
    "ipv6": _is_address(6),
    "isbn": _matches(r"([0-9]-?){9}[0-9x]|([0-9]-?){12}[0-9]"),
    "isbn10": _matches(r"([0-9]-?){9}[0-9x]"),
    "isbn13": _matches(r"([0-9]-?){12}[0-9]"),
    "k8s-long-name": _lower(rf"{_LABEL}(\.{_LABEL})*", most=253),
    "k8s-short-name": _lower(_LABEL, most=63),
    "mac": _matches(r"([0-9a-f]{2}[:-]){5}[0-9a-f]{2}|([0-9a-f]{4}\.){2}[0-9a-f]{4}"),
    "rgbcolor": _matches(r"rgb\(\s*\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3}\s*\)"),
    "ssn": _matches(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "uri": _is_uri,
    "uuid": _matches(_UUID.format(third=_ANY_THIRD, fourth=_ANY_THIRD)),
    "uuid3": _matches(_UUID.format(third="3[0-9a-f]{3}", fourth=_ANY_THIRD)),
    "uuid4": _matches(_UUID.format(third="4[0-9a-f]{3}", fourth="[89ab][0-9a-f]{3}")),
    "uuid5": _matches(_UUID.format(third="5[0-9a-f]{3}", fourth="[89ab][0-9a-f]{3}")),
}
