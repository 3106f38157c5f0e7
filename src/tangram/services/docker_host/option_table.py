"""Which options of `run` and `create` take a value: all that is needed to know where a command line names its image.

One table for Docker (19.03 to 28), podman and nerdctl: no option takes a value with one of them and none with another,
and an engine refuses by itself what only its neighbour knows. Options that older or newer releases hide from their help
are here too. What is missing here is looked up in the help of the engine that is installed (`options_in_help`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple


class Kinds(NamedTuple):
    """Whether an option takes a value, by its long name and by its letter."""

    long: Mapping[str, bool]
    short: Mapping[str, bool]


_WITH_VALUE: Final = """
add-host annotation attach blkio-weight blkio-weight-device cap-add cap-drop cgroup-parent cgroupns cidfile cpu-count
cpu-percent cpu-period cpu-quota cpu-rt-period cpu-rt-runtime cpu-shares cpus cpuset-cpus cpuset-mems detach-keys device
device-cgroup-rule device-read-bps device-read-iops device-write-bps device-write-iops dns dns-opt dns-option dns-search
domainname entrypoint env env-file expose group-add health-cmd health-interval health-retries health-start-interval
health-start-period health-timeout hostname io-maxbandwidth io-maxiops ip ip6 ipc isolation kernel-memory label
label-file link link-local-ip log-driver log-opt mac-address memory memory-reservation memory-swap memory-swappiness
mount name net net-alias network network-alias oom-score-adj pid pids-limit platform publish pull restart runtime
security-opt shm-size stop-signal stop-timeout storage-opt sysctl tmpfs ulimit user userns uts volume volume-driver
volumes-from workdir

arch authfile cgroup-conf cgroups chrootdirs conmon-pidfile creds cert-dir decryption-key env-merge gidmap
health-log-destination health-max-log-count health-max-log-size health-on-failure health-startup-cmd
health-startup-interval health-startup-retries health-startup-success health-startup-timeout hosts-file hostuser
image-volume init-ctr init-path intel-rdt-closid os passwd-entry group-entry personality pidfile pod pod-id-file
preserve-fd preserve-fds rdt-class requires retry retry-delay sdnotify seccomp-policy secret subgidname
subuidname systemd timeout tz uidmap umask unsetenv variant

cosign-certificate-identity cosign-certificate-identity-regexp cosign-certificate-oidc-issuer
cosign-certificate-oidc-issuer-regexp cosign-key init-binary ipfs-address verify
"""
_WITHOUT: Final = """
detach disable-content-trust help init interactive no-healthcheck oom-kill-disable privileged publish-all quiet
read-only rm sig-proxy tty use-api-socket

env-host http-proxy no-hosts no-hostname passwd read-only-tmpfs replace rmi rootfs tls-verify unsetenv-all
"""

RUN: Final = Kinds(
    {**dict.fromkeys(_WITH_VALUE.split(), True), **dict.fromkeys(_WITHOUT.split(), False)},
    {**dict.fromkeys("acehlmpuvw", True), **dict.fromkeys("diPqt", False)},
)

_GLOBAL_WITH_VALUE: Final = """
config context host log-level tlscacert tlscert tlskey

cdi-spec-dir cgroup-manager conmon connection db-backend default-mounts-file events-backend hooks-dir identity
imagestore module namespace network-backend network-cmd-path network-config-dir out pull-option registries-conf root
runroot runtime runtime-flag ssh storage-driver storage-opt tmpdir url volumepath

address bridge-ip cdi-spec-dirs cni-netconfpath cni-path data-root host-gateway-ip hosts-dir snapshotter userns-remap
"""
_GLOBAL_WITHOUT: Final = """
debug tls tlsverify version help noout remote syslog trace transient-store debug-full experimental insecure-registry
kube-hide-dupe
"""

BEFORE_COMMAND: Final = Kinds(
    {**dict.fromkeys(_GLOBAL_WITH_VALUE.split(), True), **dict.fromkeys(_GLOBAL_WITHOUT.split(), False)},
    {**dict.fromkeys("Haclnu", True), **dict.fromkeys("Dhrv", False)},
)

_HELP_LINE = re.compile(
    r" +(?:-(?P<letter>\w), | *)--(?P<name>[a-z0-9][a-z0-9.-]*)(?: (?P<value>\S+))?(?: {2,}|$)"
)


def options_in_help(text: str) -> Kinds:
    """The options that a help page of docker, podman or nerdctl lists: one that takes a value names its type."""
    long: dict[str, bool] = {}
    short: dict[str, bool] = {}
    for line in text.splitlines():
        found = _HELP_LINE.match(line)
        if found is None:
            continue
        takes = found["value"] is not None
        long[found["name"]] = takes
        if found["letter"]:
            short[found["letter"]] = takes
    return Kinds(long, short)
