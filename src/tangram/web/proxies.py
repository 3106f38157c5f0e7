"""People whom an authenticating proxy has signed in, named by it in headers.

A header is text that anybody can send. So it counts only on a connection that proves to be the proxy's: with a client
certificate of the one authority that was named for it, or at a door on loopback that nobody outside the pod can reach.
On any other connection a request with such headers is refused, because its sender either lies or should be told that
the proxy is not set up. Names that belong to Kubernetes itself (`system:...`) are believed of nobody: whoever the proxy
asks does not speak for the API server's own accounts.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from typing import Any, Final, cast
from urllib.parse import unquote

import msgspec
from aiohttp import web

from tangram.kube.rights import User
from tangram.web.known import NotKnown

PROXY_DOOR: Final = web.AppKey("tangram_proxy_door", bool)
"""True in the application that is served at the proxy's own door on loopback."""
EVERYBODY: Final = "system:authenticated"
"""The API server adds it to everybody it knows, and so roles are bound to it."""
RESERVED: Final = "system:"
MOST_GROUPS: Final = 256
MOST_EXTRA: Final = 32
LONGEST_NAME: Final = 1024

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class ProxyRules(msgspec.Struct, frozen=True, kw_only=True):
    """How the proxy says who it is, and whom it has before it. As it is: the headers of an API server's own proxies."""

    user_header: str = "X-Remote-User"
    group_header: str = "X-Remote-Group"
    """May come several times, each with one group."""
    extra_prefix: str = "X-Remote-Extra-"
    """Empty for none."""
    groups_joined: bool = False
    """Groups come in one header, joined by commas, as oauth2-proxy writes them."""
    user_prefix: str = ""
    group_prefix: str = ""
    """What the API server puts before names from the same source, as in its `--oidc-username-prefix`."""
    by_certificate: bool = False
    """The listener asks for client certificates of the proxy's authority, and of no other."""
    common_names: frozenset[str] = frozenset()
    """Of that certificate; empty for any that the authority signed."""


OAUTH2_PROXY: Final = ProxyRules(
    user_header="X-Forwarded-User", group_header="X-Forwarded-Groups", extra_prefix="", groups_joined=True
)


def is_header_name(text: str) -> bool:
    """Whether a setting can be the name of a header."""
    return _HEADER.fullmatch(text) is not None


def is_proxy(request: web.Request, rules: ProxyRules) -> bool:
    """Whether the connection proves to be the proxy's."""
    transport = request.transport
    if transport is None:
        return False
    if request.app.get(PROXY_DOOR, False):
        return is_loopback(peer_of(request))
    # The listener has verified it, or there is none: one that does not hold ends the handshake.
    certificate: object = transport.get_extra_info("peercert") if rules.by_certificate else None
    if not certificate:
        return False
    return not rules.common_names or not rules.common_names.isdisjoint(_common_names(certificate))


def named_by_proxy(request: web.Request, rules: ProxyRules) -> User | None:
    """Whom the proxy names; None where nobody is named. Raises `NotKnown` for headers that cannot be believed."""
    users = request.headers.getall(rules.user_header, [])
    extra = _extra(request, rules)
    if not is_proxy(request, rules):
        if users or extra or rules.group_header in request.headers:
            raise NotKnown(
                "proxy-unproven",
                f"the request names somebody in {rules.user_header} or its companions, and does not come from the "
                "proxy: a header is believed only with a certificate of --proxy-ca or at --proxy-address. Ask "
                "without these headers, or through the proxy.",
                403,
            )
        return None
    if not users:
        return None
    if len(users) > 1:
        raise _unreadable(f"{rules.user_header} came {len(users)} times: a request has one user")
    groups = _groups(request, rules)
    if len(groups) > MOST_GROUPS or len(extra) > MOST_EXTRA:
        raise _unreadable(
            f"{len(groups)} groups and {len(extra)} other facts came: at most {MOST_GROUPS} and {MOST_EXTRA} are taken"
        )
    for key, values in extra:
        if not all(text.isprintable() and len(text) <= LONGEST_NAME for text in (key, *values)):
            raise _unreadable(f"{rules.extra_prefix}{key!r:.80} has characters that cannot be shown")
    user = f"{rules.user_prefix}{_name(users[0], rules.user_header)}"
    # Everybody is in it, and it is added below.
    named = [f"{rules.group_prefix}{group}" for group in groups if group != EVERYBODY]
    for name in (user, *named):
        if name.startswith(RESERVED):
            raise NotKnown(
                "proxy-reserved",
                f"the proxy names {name!r:.120}: names that begin with {RESERVED!r} are Kubernetes' own and are not "
                "taken from headers. Name people and groups of your own, and give those a role.",
                403,
            )
    return User(user, groups=(*dict.fromkeys(named), EVERYBODY), extra=extra)


def peer_of(request: web.Request) -> str:
    """The address at the other end of the connection; empty where it has none."""
    peer: object = request.transport.get_extra_info("peername") if request.transport else None
    return str(cast("Sequence[object]", peer)[0]) if isinstance(peer, tuple) and peer else ""


def is_loopback(address: str) -> bool:
    """Whether only this machine has that address."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = known.ipv4_mapped if isinstance(known, ipaddress.IPv6Address) else None
    return (mapped or known).is_loopback


def _groups(request: web.Request, rules: ProxyRules) -> list[str]:
    values = request.headers.getall(rules.group_header, [])
    if rules.groups_joined:
        values = [part.strip() for value in values for part in value.split(",")]
    return [_name(value, rules.group_header) for value in values if value]


def _extra(request: web.Request, rules: ProxyRules) -> tuple[tuple[str, tuple[str, ...]], ...]:
    prefix = rules.extra_prefix.lower()
    if not prefix:
        return ()
    found: dict[str, list[str]] = {}
    for name, value in request.headers.items():
        if name.lower().startswith(prefix) and len(name) > len(prefix):
            # As the API server reads it: a header cannot have capitals that matter, nor a slash.
            found.setdefault(unquote(name[len(prefix) :].lower()), []).append(value)
    return tuple((key, tuple(found[key])) for key in sorted(found))


def _name(text: str, header: str) -> str:
    if not text or len(text) > LONGEST_NAME or not text.isprintable() or text != text.strip():
        raise _unreadable(f"{header} is {text!r:.80}: a name has 1 to {LONGEST_NAME} printable characters")
    return text


def _unreadable(what: str) -> NotKnown:
    return NotKnown("proxy-unreadable", f"{what}; see how the proxy is set up.", 400)


def _common_names(certificate: object) -> set[str]:
    parts = cast("dict[str, Any]", certificate).get("subject", ())
    return {value for part in parts for key, value in part if key == "commonName"}
