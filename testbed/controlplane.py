"""The command lines and files of etcd, kube-apiserver, kube-controller-manager and kube-scheduler in a box."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from testbed.certificates import Authority, Pair, signing_pair
from testbed.firstprocess import CONTROL
from testbed.options import Options
from testbed.places import ClusterFolder
from testbed.rooms import API_SERVICE_ADDRESS, CONTROL_ADDRESS, SERVICE_RANGE

# The port of the `kubernetes` service: with the service's address on the control plane's own interface, a pod
# reaches the API server under the variables it is given, without a proxy on its node.
PORT = 443
SERVER = f"https://{CONTROL_ADDRESS}:{PORT}"
ETCD = "http://127.0.0.1:2379"
SCHEDULER_PORT = 10259


class Programs(Protocol):
    """Where the built programs are."""

    def path(self, name: str) -> Path: ...


@dataclass(frozen=True, slots=True)
class Credentials:
    """The files every component is pointed at."""

    authority: Authority
    server: Pair
    tokens: Pair
    to_kubelets: Pair
    front_authority: Authority
    front: Pair
    admin: Pair


def make_credentials(folder: ClusterFolder) -> Credentials:
    """All certificates of the control plane; nodes get theirs when they are added."""
    authority = Authority(folder.certificates, "ca")
    front = Authority(folder.certificates, "front-proxy-ca")
    names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost", "127.0.0.1"]
    credentials = Credentials(
        authority=authority,
        server=authority.issue(
            "apiserver", "kube-apiserver", addresses=[*names, CONTROL_ADDRESS, API_SERVICE_ADDRESS]
        ),
        tokens=signing_pair(folder.certificates, "service-accounts"),
        to_kubelets=authority.issue(
            "apiserver-kubelet", "kube-apiserver-kubelet-client", groups=["system:masters"]
        ),
        front_authority=front,
        front=front.issue("front-proxy", "front-proxy-client"),
        admin=authority.issue("admin", "admin", groups=["system:masters"]),
    )
    folder.admin_kubeconfig.write_text(kubeconfig(authority, credentials.admin), encoding="utf-8")
    return credentials


def kubeconfig(authority: Authority, user: Pair) -> str:
    """A kubeconfig that points at files (JSON is YAML)."""
    cluster = {"server": SERVER, "certificate-authority": str(authority.certificate)}
    person = {"client-certificate": str(user.certificate), "client-key": str(user.key)}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "box", "cluster": cluster}],
            "users": [{"name": "user", "user": person}],
            "contexts": [{"name": "box", "context": {"cluster": "box", "user": "user"}}],
            "current-context": "box",
        }
    )


def gates(options: Options) -> list[str]:
    """The feature gates as a flag, if there are any."""
    if not options.feature_gates:
        return []
    return [
        "--feature-gates="
        + ",".join(f"{name}={str(on).lower()}" for name, on in options.feature_gates.items())
    ]


def etcd(programs: Programs, folder: ClusterFolder, options: Options) -> list[str | Path]:
    """One member, for this cluster alone."""
    return [
        programs.path("etcd"),
        f"--data-dir={folder.of_room(CONTROL).lib / 'etcd'}",
        f"--listen-client-urls={ETCD}",
        f"--advertise-client-urls={ETCD}",
        "--listen-peer-urls=http://127.0.0.1:2380",
        "--log-level=warn",
        # A box lives for minutes and is never restored.
        "--snapshot-count=100000",
        *([] if options.fsync else ["--unsafe-no-fsync"]),
    ]


def api_server(programs: Programs, credentials: Credentials, options: Options) -> list[str | Path]:
    """It serves the whole box, on the address of the `kubernetes` service too."""
    ca = credentials.authority.certificate
    return [
        programs.path("kube-apiserver"),
        f"--etcd-servers={ETCD}",
        "--bind-address=0.0.0.0",
        f"--secure-port={PORT}",
        f"--advertise-address={CONTROL_ADDRESS}",
        f"--tls-cert-file={credentials.server.certificate}",
        f"--tls-private-key-file={credentials.server.key}",
        f"--client-ca-file={ca}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-certificate-authority={ca}",
        f"--kubelet-client-certificate={credentials.to_kubelets.certificate}",
        f"--kubelet-client-key={credentials.to_kubelets.key}",
        f"--service-account-key-file={credentials.tokens.certificate}",
        f"--service-account-signing-key-file={credentials.tokens.key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--requestheader-client-ca-file={credentials.front_authority.certificate}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        f"--proxy-client-cert-file={credentials.front.certificate}",
        f"--proxy-client-key-file={credentials.front.key}",
        *gates(options),
        *options.api_server_flags,
    ]


def controller_manager(
    programs: Programs, folder: ClusterFolder, credentials: Credentials, options: Options
) -> list[str | Path]:
    """All controllers, without an election."""
    own = component_kubeconfig(folder, credentials, "kube-controller-manager")
    return [
        programs.path("kube-controller-manager"),
        f"--kubeconfig={own}",
        f"--authentication-kubeconfig={own}",
        f"--authorization-kubeconfig={own}",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={credentials.tokens.key}",
        f"--root-ca-file={credentials.authority.certificate}",
        f"--flex-volume-plugin-dir={folder.of_room(CONTROL).lib / 'flex'}",
        # The default of 20 calls a second makes hundreds of new nodes wait a minute for their taints to go.
        "--kube-api-qps=300",
        "--kube-api-burst=600",
        # It annotates every node of a larger cluster, and each time kube-scheduler tries its parked pods again, which
        # would look like an answer to what a test does.
        "--controllers=*,-ttl-controller",
        *gates(options),
    ]


def scheduler(
    programs: Programs,
    folder: ClusterFolder,
    credentials: Credentials,
    options: Options,
    configuration: Mapping[str, Any],
    *,
    name: str = "scheduler",
    port: int = SCHEDULER_PORT,
) -> list[str | Path]:
    """Write its configuration with these fields in it; return the command line. Of several each has its own name."""
    own = component_kubeconfig(folder, credentials, "kube-scheduler")
    file = folder.of_room(CONTROL).etc / f"{name}.json"
    file.write_text(
        json.dumps(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "clientConnection": {"kubeconfig": str(own), "qps": 500, "burst": 1000},
                "leaderElection": {"leaderElect": False},
                **configuration,
            }
        ),
        encoding="utf-8",
    )
    return [
        programs.path("kube-scheduler"),
        f"--config={file}",
        f"--authentication-kubeconfig={own}",
        f"--authorization-kubeconfig={own}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        *gates(options),
    ]


def component_kubeconfig(folder: ClusterFolder, credentials: Credentials, name: str) -> Path:
    """The file by which a component of that name speaks to the API server as `system:NAME`."""
    file = folder.of_room(CONTROL).etc / f"{name}.conf"
    if not file.exists():
        pair = credentials.authority.issue(name, f"system:{name}")
        file.write_text(kubeconfig(credentials.authority, pair), encoding="utf-8")
    return file
