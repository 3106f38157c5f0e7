"""Which API server, and who we are to it: from the pod's own account, or from a kubeconfig file.

Only what our daemons and tools need is understood. A kubeconfig that asks for a helper program or an old auth
provider is refused by name: running a program named in a file is not something to do in passing.
"""

from __future__ import annotations

import base64
import binascii
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import yaml

from tangram.kube.errors import NoConnection

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
HOST, PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"
KUBECONFIG = "KUBECONFIG"


@dataclass(frozen=True, slots=True)
class Connection:
    """Everything needed to open a connection; secrets stay in files or out of `repr`."""

    server: str
    tls: ssl.SSLContext | None
    """None for plain HTTP, which only a test or a local proxy uses."""
    token_file: Path | None = None
    """Read again from time to time: the kubelet replaces it within the hour."""
    token: str = ""
    namespace: str = "default"
    bare_tls: ssl.SSLContext | None = None
    """Where `tls` shows a client certificate: the same without one."""

    def __repr__(self) -> str:
        return f"Connection({self.server!r})"


def with_token(connection: Connection, token: str) -> Connection:
    """The same API server as somebody else, and as nobody but them.

    An API server asks for a certificate first: beside one, a token would be overlooked and its owner be us.
    """
    return Connection(
        connection.server,
        connection.bare_tls or connection.tls,
        token=token,
        namespace=connection.namespace,
    )


def find_connection(kubeconfig: Path | None, environment: Mapping[str, str]) -> Connection:
    """The named kubeconfig; else the pod's own account where we run in a pod; else $KUBECONFIG; else ~/.kube/config."""
    if kubeconfig is not None:
        return from_kubeconfig(kubeconfig)
    if environment.get(HOST):
        return in_cluster(environment)
    named = environment.get(KUBECONFIG, "")
    if named:
        # Several files may be joined by colons; kubectl merges them, we take the first that exists.
        existing = [Path(name) for name in named.split(":") if name and Path(name).exists()]
        if not existing:
            raise NoConnection(
                f"{KUBECONFIG} names {named!r}, and no such file exists: name one with --kubeconfig"
            )
        return from_kubeconfig(existing[0])
    usual = Path(environment.get("HOME", "/")) / ".kube" / "config"
    if usual.exists():
        return from_kubeconfig(usual)
    raise NoConnection(
        "no API server is known: this is not a pod, KUBECONFIG is not set and ~/.kube/config does not exist; "
        "name a kubeconfig with --kubeconfig"
    )


def in_cluster(environment: Mapping[str, str], account: Path = ACCOUNT) -> Connection:
    """The account Kubernetes mounts into every pod."""
    host, port = environment.get(HOST, ""), environment.get(PORT, "443")
    address = f"[{host}]" if ":" in host else host
    token, authority, namespace = account / "token", account / "ca.crt", account / "namespace"
    if not token.exists() or not authority.exists():
        raise NoConnection(
            f"{HOST} is set but {account} has no token: the pod needs a service account "
            "(automountServiceAccountToken: true)"
        )
    return Connection(
        f"https://{address}:{port}",
        ssl.create_default_context(cafile=str(authority)),
        token_file=token,
        namespace=namespace.read_text("utf-8").strip() if namespace.exists() else "default",
    )


def from_kubeconfig(path: Path, context: str = "") -> Connection:
    """The given context of a kubeconfig, or its current one."""
    config = _read(path)
    name = context or str(config.get("current-context", ""))
    if not name:
        raise NoConnection(f"{path} has no current-context: run 'kubectl config use-context NAME'")
    chosen = _named(path, config, "contexts", name, "context")
    cluster = _named(path, config, "clusters", str(chosen.get("cluster", "")), "cluster")
    user = _named(path, config, "users", str(chosen.get("user", "")), "user") if chosen.get("user") else {}
    for unsupported in ("exec", "auth-provider", "username"):
        if unsupported in user:
            raise NoConnection(
                f"{path}: user {chosen.get('user')!r} signs in with {unsupported!r}, which is not supported: "
                "use a client certificate, a token or a token file"
            )
    server = str(cluster.get("server", ""))
    if not _is_address(server):
        shown = " with somebody's name in it" if "@" in server else f" {server!r}"
        raise NoConnection(
            f"{path}: cluster {chosen.get('cluster')!r} has server{shown}, which is no plain address; write "
            "https://HOST:PORT"
        )
    token_file = user.get("tokenFile")
    secure = server.startswith("https://")
    certified = any(name.startswith("client-certificate") for name in user)
    return Connection(
        server.rstrip("/"),
        _tls(path, cluster, user) if secure else None,
        bare_tls=_tls(path, cluster, {}) if secure and certified else None,
        token_file=_beside(path, token_file) if token_file else None,
        token=str(user.get("token", "")),
        namespace=str(chosen.get("namespace") or "default"),
    )


def _is_address(server: str) -> bool:
    """With a path where somebody's proxy stands in between; a name and password in it would end up in logs."""
    try:
        parts = urlsplit(server)
        port = parts.port
    except ValueError:
        return False
    plain = (
        parts.scheme in ("https", "http")
        and "@" not in parts.netloc
        and not parts.query
        and not parts.fragment
    )
    return plain and bool(parts.hostname) and port != 0


def _read(path: Path) -> dict[str, Any]:
    try:
        config = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise NoConnection(f"the kubeconfig {path} cannot be read ({error.strerror})") from None
    # Of a value that belies its tag the library finds no first digit, or no such word in its table.
    except (yaml.YAMLError, LookupError, TypeError, ValueError) as error:
        raise NoConnection(f"the kubeconfig {path} is not YAML: {error}") from None
    if not isinstance(config, dict):
        raise NoConnection(f"the kubeconfig {path} is not a mapping with clusters, users and contexts")
    return cast("dict[str, Any]", config)


def _named(path: Path, config: Mapping[str, Any], group: str, name: str, field: str) -> dict[str, Any]:
    entries: list[Any] = config.get(group) or []
    for entry in entries:
        if isinstance(entry, dict):
            one = cast("dict[str, Any]", entry)
            if one.get("name") == name and isinstance(one.get(field), dict):
                return one[field]
    raise NoConnection(f"{path} names {field} {name!r}, but has no such entry in its {group}")


def _tls(path: Path, cluster: Mapping[str, Any], user: Mapping[str, Any]) -> ssl.SSLContext:
    authority = _content(path, cluster, "certificate-authority")
    try:
        context = ssl.create_default_context(cadata=authority.decode("ascii") if authority else None)
        if cluster.get("insecure-skip-tls-verify") is True:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        certificate, key = _content(path, user, "client-certificate"), _content(path, user, "client-key")
        if certificate and key:
            _load_pair(context, certificate, key)
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise NoConnection(f"{path}: a certificate or key in it cannot be used ({error})") from None
    return context


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Python's TLS takes a client certificate from files only; this one is gone again at once."""
    with tempfile.NamedTemporaryFile() as both:
        both.write(certificate + b"\n" + key)
        both.flush()
        context.load_cert_chain(both.name)


def _content(path: Path, entry: Mapping[str, Any], name: str) -> bytes:
    """The bytes of `NAME-data` or of the file `NAME` points to; nothing when neither is there."""
    inline = entry.get(f"{name}-data")
    if inline:
        try:
            return base64.b64decode(str(inline), validate=True)
        except binascii.Error:
            raise NoConnection(f"{path}: {name}-data is not base64") from None
    named = entry.get(name)
    if not named:
        return b""
    try:
        return _beside(path, named).read_bytes()
    except OSError as error:
        raise NoConnection(f"{path}: {name} {named!r} cannot be read ({error.strerror})") from None


def _beside(path: Path, named: object) -> Path:
    """Relative names in a kubeconfig are relative to the kubeconfig."""
    return path.parent / str(named)
