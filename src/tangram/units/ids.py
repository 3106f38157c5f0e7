"""Names of things, each with a type of its own, and the rules that make them legal.

A pod's UID, a card's UUID and a node's name are all strings, and mixing them up gives
no error, only a lookup that finds nothing. Distinct types let the type checker see it.
The validators state the rules of Kubernetes, so that what we write into an object is
refused here, with a sentence, rather than by the API server at the worst moment.
"""

import re
from typing import NewType

from tangram.units.refusal import UnitError

NodeName = NewType("NodeName", str)
Namespace = NewType("Namespace", str)
PodName = NewType("PodName", str)
PodUid = NewType("PodUid", str)
CardUuid = NewType("CardUuid", str)
PciBusId = NewType("PciBusId", str)

LONGEST_LABEL = 63
LONGEST_SUBDOMAIN = 253

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_DNS_SUBDOMAIN = re.compile(rf"{_DNS_LABEL.pattern}(\.{_DNS_LABEL.pattern})*")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_OPAQUE_ID = re.compile(r"[!-~]{1,253}")
_PCI_BUS_ID = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([01]?[0-9a-f])\.([0-7])")
_DIGITS = re.compile(r"([0-9]+)")


class IdError(UnitError):
    """A text that Kubernetes, or the PCI bus, would not accept as this kind of name."""


def is_dns_label(text: str) -> bool:
    """Whether the text is a DNS-1123 label, as namespaces are."""
    return len(text) <= LONGEST_LABEL and _DNS_LABEL.fullmatch(text) is not None


def is_dns_subdomain(text: str) -> bool:
    """Whether the text is a DNS-1123 subdomain, as nodes and pods are."""
    return len(text) <= LONGEST_SUBDOMAIN and _DNS_SUBDOMAIN.fullmatch(text) is not None


def is_label_value(text: str) -> bool:
    """Whether the text may be the value of a Kubernetes label; the empty text may."""
    return len(text) <= LONGEST_LABEL and _LABEL_VALUE.fullmatch(text) is not None


def node_name(text: str) -> NodeName:
    """The text as a node's name, or a refusal."""
    return NodeName(_subdomain(text, "a node name"))


def pod_name(text: str) -> PodName:
    """The text as a pod's name, or a refusal."""
    return PodName(_subdomain(text, "a pod name"))


def namespace(text: str) -> Namespace:
    """The text as a namespace, or a refusal."""
    if not is_dns_label(text):
        legal = f"a namespace is at most {LONGEST_LABEL} of a-z, 0-9 and '-', with no '-' at either end"
        raise IdError("id_namespace", text, legal, _likely(text, LONGEST_LABEL, r"[^a-z0-9]+"))
    return Namespace(text)


def card_uuid(text: str) -> CardUuid:
    """The text as a card's UUID; only blank or unprintable texts are refused, as vendors differ."""
    if _OPAQUE_ID.fullmatch(text) is None:
        legal = "a card UUID is 1 to 253 printable ASCII characters without spaces"
        raise IdError("id_opaque", text, legal, "the id exactly as it was reported")
    return CardUuid(text)


def pci_bus_id(text: str) -> PciBusId:
    """The one spelling of a PCI bus id: lower case, with a domain of at least four digits.

    Drivers print the same address as "0A:00.0", "0000:0a:00.0" or "00000000:0A:00.0";
    cards are matched across tools by it, so all of them become "0000:0a:00.0".
    """
    written = _PCI_BUS_ID.fullmatch(text.strip().lower())
    if written is None:
        legal = "a PCI bus id is domain:bus:device.function in hexadecimal, device up to 1f, function up to 7"
        raise IdError("id_pci_bus", text, legal, "an id such as 0000:0a:00.0")
    domain, bus, device = (int(part or "0", 16) for part in written.groups()[:3])
    return PciBusId(f"{domain:04x}:{bus:02x}:{device:02x}.{written[4]}")


def natural_key(name: str) -> tuple[list[tuple[int, str]], str]:
    """A sort key that puts node-2 before node-10, for display only.

    Decisions sort by the plain name: that order is the one every other tool can repeat.
    """
    # Digits are compared by length, then by text: any length of them works and no number is built.
    pieces = _DIGITS.split(name)
    key = [(0, piece) for piece in pieces]
    for at, digits in enumerate(pieces):
        if at % 2:
            significant = digits.lstrip("0")
            key[at] = (len(significant), significant)
    return key, name


def _subdomain(text: str, kind: str) -> str:
    if not is_dns_subdomain(text):
        legal = (
            f"{kind} is at most {LONGEST_SUBDOMAIN} of a-z, 0-9, '-' and '.', "
            "with a letter or digit at both ends of every part"
        )
        raise IdError("id_name", text, legal, _likely(text, LONGEST_SUBDOMAIN, r"[^a-z0-9.]+"))
    return text


def _likely(text: str, longest: int, illegal: str) -> str:
    parts = (part.strip("-") for part in re.sub(illegal, "-", text.lower())[:longest].split("."))
    return ".".join(part for part in parts if part) or "a name such as node-1"
