"""Docker command lines as people write them, with our options among them or not: made, so that the answer is known.

Each line is put together from whole options, so what must come out once ours are gone is known without reading
anything.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

VALUES = {
    "add-host": "db:10.0.0.1",
    "annotation": "a=b",
    "attach": "stdout",
    "blkio-weight": "300",
    "cap-add": "SYS_ADMIN",
    "cap-drop": "ALL",
    "cgroup-parent": "/x",
    "cgroupns": "host",
    "cidfile": "cid",
    "cpu-shares": "2",
    "cpus": "1.5",
    "cpuset-cpus": "0-3",
    "detach-keys": "ctrl-p",
    "device": "/dev/fuse:/dev/fuse:rwm",
    "device-cgroup-rule": "c 1:3 rwm",
    "dns": "1.1.1.1",
    "dns-opt": "ndots:1",
    "entrypoint": "--gpus=all",
    "env": "A=--maca-force",
    "env-file": "vars",
    "expose": "80",
    "group-add": "video",
    "health-cmd": "run --gpus=1",
    "health-start-interval": "1s",
    "hostname": "-",
    "ip": "10.0.0.2",
    "ipc": "host",
    "label": "maca=1",
    "link": "db:db",
    "log-driver": "none",
    "log-opt": "max-size=1m",
    "mac-address": "92:d0:c6:0a:29:33",
    "memory": "2g",
    "memory-swap": "-1",
    "mount": "type=bind,src=/a,dst=/b",
    "name": "web",
    "net": "host",
    "network": "none",
    "oom-score-adj": "-500",
    "pid": "host",
    "pids-limit": "-1",
    "platform": "linux/amd64",
    "publish": "80:80",
    "pull": "never",
    "restart": "on-failure:3",
    "runtime": "runc",
    "security-opt": "seccomp=unconfined",
    "shm-size": "100gb",
    "stop-signal": "SIGINT",
    "stop-timeout": "5",
    "storage-opt": "size=1g",
    "sysctl": "net.core.somaxconn=1",
    "tmpfs": "/run:size=1m",
    "ulimit": "memlock=-1",
    "user": "1000:1000",
    "userns": "host",
    "uts": "host",
    "volume": "/a:/b:ro",
    "volume-driver": "local",
    "volumes-from": "data",
    "workdir": "/w",
}
SWITCHES = (
    *(
        "detach",
        "disable-content-trust",
        "init",
        "interactive",
        "no-healthcheck",
        "oom-kill-disable",
        "privileged",
    ),
    *("publish-all", "quiet", "read-only", "rm", "sig-proxy", "tty", "use-api-socket"),
)
LETTERS = {
    "a": "stdin",
    "c": "5",
    "e": "gpus=all",
    "h": "host",
    "l": "a=b",
    "m": "1g",
    "p": "8080:80",
    "u": "0",
    "v": "/x:/y",
    "w": "/src",
}
"""Values that do not begin with `=`, which would be read as a sign and not as a part."""
ANY_VALUE = "ehluw"
SWITCH_LETTERS = "diPqt"
BEFORE = (
    ("-H", "unix:///run/x.sock"),
    ("--host=tcp://127.0.0.1:1",),
    ("--context", "run"),
    ("-c", "default"),
    ("--config", "/c"),
    ("-D",),
    ("--debug",),
    ("-l", "debug"),
    ("--log-level=info",),
    ("--tls",),
    ("--tlscacert", "ca.pem"),
    ("--tlsverify",),
)
OURS = (
    ("--gpus=all",),
    ("--gpus", "2"),
    ("-gpus=[0,1]",),
    ("-gpus", "[sgpu:a]"),
    ("--maca", "/opt/maca-2"),
    ("-maca=2.24",),
    ("-maca", "none"),
    ("--maca-force",),
    ("-maca-force",),
    ("--maca-force=true",),
)
BEHIND = (
    "--gpus=all",
    "-it",
    "sh",
    "-c",
    "echo --maca x",
    "--",
    "-maca-force",
    "run",
    "--rm",
    "",
    "-",
    "--gpus",
    "3",
)
OTHERS = (
    ("ps", "-a"),
    ("exec", "-it", "web", "train", "--gpus=all"),
    ("build", "-t", "x", "--build-arg", "gpus=1", "."),
    ("compose", "run", "--gpus=all", "x"),
    ("image", "ls"),
    ("container", "ls", "--filter", "name=run"),
    ("logs", "-f", "run"),
    ("rm", "-f", "--", "create"),
    ("version",),
    ("__complete", "run", "--g"),
    ("cp", "a:/run", "-"),
    ("service", "create", "--name", "x", "img", "--gpus=1"),
)


@dataclass(frozen=True, slots=True)
class Line:
    written: tuple[str, ...]
    wanted: tuple[str, ...]
    """What docker is to be given, before anything is added for the options of ours."""
    image: str | None
    ours: frozenset[str]


def starts(count: int, seed: int) -> list[Line]:
    """So many command lines that start a container."""
    chance = random.Random(seed)  # noqa: S311 - test data, repeatable
    return [_start(chance) for _ in range(count)]


def lines(count: int, seed: int) -> list[Line]:
    """So many different command lines."""
    chance = random.Random(seed)  # noqa: S311 - test data, repeatable
    return [_other(chance) if chance.random() < 0.1 else _start(chance) for _ in range(count)]


def _other(chance: random.Random) -> Line:
    words = (*_before(chance), *chance.choice(OTHERS))
    return Line(words, words, None, frozenset())


def _start(chance: random.Random) -> Line:
    begin = [
        *_before(chance),
        *chance.choice((("run",), ("create",), ("container", "run"), ("container", "create"))),
    ]
    options = [_option(chance) for _ in range(chance.randrange(7))]
    ours = [
        each
        for name in ("gpus", "maca", "maca-force")
        if chance.random() < 0.5
        for each in [_ours(chance, name)]
    ]
    written = [(each, True) for each in options]
    for each in ours:
        written.insert(chance.randrange(len(written) + 1), (each, False))
    image = chance.choice(("busybox", "cr.example.com/a/run:1.0", "gpus", "sha256:0123"))
    end = [*(["--"] if chance.random() < 0.15 else []), image, *chance.sample(BEHIND, chance.randrange(5))]
    return Line(
        (*begin, *(word for each, _ in written for word in each), *end),
        (*begin, *(word for each, kept in written if kept for word in each), *end),
        image,
        frozenset(each[0].lstrip("-").partition("=")[0] for each in ours),
    )


def _before(chance: random.Random) -> list[str]:
    return [word for _ in range(chance.randrange(3)) for word in chance.choice(BEFORE)]


def _ours(chance: random.Random, name: str) -> tuple[str, ...]:
    return chance.choice([each for each in OURS if each[0].lstrip("-").partition("=")[0] == name])


def _option(chance: random.Random) -> tuple[str, ...]:
    kind = chance.randrange(6)
    if kind == 0:
        name = chance.choice(SWITCHES)
        return (chance.choice((f"--{name}", f"--{name}=false")),)
    if kind in (1, 2):
        name, value = chance.choice(list(VALUES.items()))
        return chance.choice(((f"--{name}", value), (f"--{name}={value}",)))
    if kind == 3:
        return ("-" + "".join(chance.sample(SWITCH_LETTERS, chance.randrange(1, 5))),)
    letter, value = chance.choice(list(LETTERS.items()))
    joined = "".join(chance.sample(SWITCH_LETTERS, chance.randrange(3)))
    # A value behind a lone word may look like anything, an option of ours included.
    free = chance.choice((value, "--gpus=all", "-maca", "--")) if letter in ANY_VALUE else value
    return chance.choice(
        ((f"-{joined}{letter}", free), (f"-{joined}{letter}{value}",), (f"-{letter}={value}",))
    )
