"""What names, labels, keys and addresses may look like, and what is said of those that do not.

Every function answers with the sentences that are wrong about a text, none for a good one. The sentences are the real
server's, for clients match on them.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Final

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_NAMED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_NAMED})?"
_OLD_LABEL: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY: Final = "[-._a-zA-Z0-9]+"

_LABEL_SENTENCE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_SENTENCE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_OLD_LABEL_SENTENCE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_OLD_LABEL}')"
)
_NAMED_SENTENCE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAMED}')"
)
_VALUE_SENTENCE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_VALUE}')"
)
_KEY_SENTENCE: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    f"'key-name', regex used for validation is '{_KEY}')"
)
_PERCENT_SENTENCE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
_HEADER_SENTENCE: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for "
    "validation is '[-A-Za-z0-9]+')"
)
_IP_SENTENCE: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_CIDR_SENTENCE: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"

_HEADER: Final = re.compile(r"[-A-Za-z0-9]+")
_PERCENT: Final = re.compile(r"[0-9]+%")
LARGEST_INT32: Final = 2**31 - 1


def label(text: str) -> list[str]:
    """A DNS label: containers, volumes, namespaces."""
    said = [_characters(63)] if len(text) > 63 else []
    if re.fullmatch(_LABEL, text):
        return said
    return [*said, "must not contain dots" if re.fullmatch(_SUBDOMAIN, text) else _LABEL_SENTENCE]


def old_label(text: str) -> list[str]:
    """A DNS label that begins with a letter."""
    said = [_characters(63)] if len(text) > 63 else []
    return said if re.fullmatch(_OLD_LABEL, text) else [*said, _OLD_LABEL_SENTENCE]


def subdomain(text: str) -> list[str]:
    """A DNS subdomain: most objects' names."""
    said = [_characters(253)] if len(text) > 253 else []
    return said if re.fullmatch(_SUBDOMAIN, text) else [*said, _SUBDOMAIN_SENTENCE]


def path_segment(text: str) -> list[str]:
    """Names that may hold almost anything: roles and their bindings."""
    if text in {".", ".."}:
        return [f"may not be '{text}'"]
    return [f"may not contain '{sign}'" for sign in ("/", "%") if sign in text]


def qualified(text: str) -> list[str]:
    """A key of labels, annotations and resources: a name, perhaps with a domain before it."""
    said: list[str] = []
    parts = text.split("/")
    if len(parts) > 2:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_NAMED_SENTENCE} {optional}"]
    if len(parts) == 2:
        if not parts[0]:
            said.append("prefix part must be non-empty")
        else:
            said += [f"prefix part {each}".replace(_characters(253), "must be no more than 253 bytes")
                     for each in subdomain(parts[0])]  # fmt: skip
    name = parts[-1]
    if not name:
        said.append("name part must be non-empty")
    elif len(name) > 63:
        said.append("name part must be no more than 63 bytes")
    if not re.fullmatch(_NAMED, name):
        said.append(f"name part {_NAMED_SENTENCE}")
    return said


def label_value(text: str) -> list[str]:
    """What a label says."""
    said = ["must be no more than 63 bytes"] if len(text.encode()) > 63 else []
    return said if re.fullmatch(_VALUE, text) else [*said, _VALUE_SENTENCE]


def config_key(text: str) -> list[str]:
    """A key of a ConfigMap or Secret, which becomes the name of a file."""
    said = [_characters(253)] if len(text) > 253 else []
    if not re.fullmatch(_KEY, text):
        said.append(_KEY_SENTENCE)
    if text in {".", ".."}:
        return [*said, f"must not be '{text}'"]
    return [*said, "must not start with '..'"] if text.startswith("..") else said


def port_name(text: str) -> list[str]:
    """What a port is called."""
    said = [_characters(15)] if len(text) > 15 else []
    if not re.fullmatch("[-a-z0-9]+", text):
        said.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        said.append("must contain at least one letter (a-z)")
    if "--" in text:
        said.append("must not contain consecutive hyphens")
    if text and (text[0] == "-" or text[-1] == "-"):
        said.append("must not begin or end with a hyphen")
    return said


def port_number(number: int) -> list[str]:
    """A port."""
    return [] if 1 <= number <= 65535 else ["must be between 1 and 65535, inclusive"]


def variable(text: str) -> list[str]:
    """The name of an environment variable."""
    if all(" " <= sign <= "~" and sign != "=" for sign in text):
        return []
    return [
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
    ]


def percent(text: str) -> list[str]:
    """A number with a sign behind it."""
    return [] if _PERCENT.fullmatch(text) else [_PERCENT_SENTENCE]


def header(text: str) -> list[str]:
    """The name of an HTTP header."""
    return [] if _HEADER.fullmatch(text) else [_HEADER_SENTENCE]


def address(text: str) -> list[str]:
    """An IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return [_IP_SENTENCE]
    return [] if "%" not in text else [_IP_SENTENCE]


def network(text: str) -> list[str]:
    """Addresses with a common beginning."""
    if "/" not in text:
        return [_CIDR_SENTENCE]
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return [_CIDR_SENTENCE]
    return []


def identity(number: Any) -> list[str]:  # noqa: ANN401 - any JSON
    """Of a user or group."""
    if isinstance(number, int) and 0 <= number <= LARGEST_INT32:
        return []
    return [f"must be between 0 and {LARGEST_INT32}, inclusive"]


def _characters(most: int) -> str:
    return f"must be no more than {most} characters"
