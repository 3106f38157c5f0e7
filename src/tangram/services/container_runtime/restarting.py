"""Having the container runtime read its configuration anew.

containerd must be restarted; its containers go on meanwhile. CRI-O and Docker read theirs anew when told to. This is
the one thing here that a whole node can notice, so it is done once for a change and never to try something out.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Final, Protocol

from tangram.services.container_runtime.engines import Engine
from tangram.services.container_runtime.host import Host
from tangram.services.container_runtime.programs import Programs
from tangram.services.container_runtime.settings import EngineKind
from tangram.services.container_runtime.trouble import Code, Trouble

ANSWER_S: Final = 60.0
STEP_S: Final = 0.5
_RELOADS_SINCE: Final = (1, 27)
"""CRI-O's runtimes are read anew since this version."""
_IGNORED: Final = "chroot"
_CRI: Final = "io.containerd.cri."


class Restarter(Protocol):
    def restart(self, engine: Engine) -> None:
        """Have it read its configuration, and wait until it answers. Raises `Trouble`."""
        ...

    def read_since(self, engine: Engine, path: str) -> bool:
        """Whether it was started after this file was written."""
        ...


def usual_command(engine: Engine) -> tuple[str, ...]:
    """How people would do it."""
    if engine.kind is EngineKind.DOCKER:
        return ("systemctl", "reload", "docker")
    if engine.kind is EngineKind.CRIO:
        reloads = engine.number is not None and engine.number >= _RELOADS_SINCE
        return ("systemctl", "reload" if reloads else "restart", "crio")
    return ("systemctl", "restart", "containerd")


def command_by_hand(engine: Engine) -> str:
    """What a person is told who does it: only a start of the engine can be seen from outside, not that it reread."""
    unit = usual_command(engine)[-1]
    return f"systemctl restart {unit}"


class HostRestarter:
    def __init__(
        self,
        host: Host,
        programs: Programs,
        command: tuple[str, ...] = (),
        *,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._host = host
        self._programs = programs
        self._command = command
        self._pause = pause

    def restart(self, engine: Engine) -> None:
        command = self._command or usual_command(engine)
        ran = self._programs.run(*command)
        if ran.status != 0 or (not ran.out.strip() and _IGNORED in ran.said):
            raise Trouble(
                Code.RESTART_FAILED,
                f"{' '.join(command)} failed on this host: {ran.said or f'status {ran.status}'}",
            )
        for _ in range(int(ANSWER_S / STEP_S)):
            if self._answers(engine.socket):
                self._check_kubelets_part(engine)
                return
            self._pause(STEP_S)
        raise Trouble(
            Code.ENGINE_SILENT,
            f"{engine.kind} did not answer at {engine.socket} within {ANSWER_S:g} s after {' '.join(command)}",
        )

    def read_since(self, engine: Engine, path: str) -> bool:
        try:
            return self._host.at(engine.socket).stat().st_mtime > self._host.at(path).stat().st_mtime
        except OSError:
            return False

    def _check_kubelets_part(self, engine: Engine) -> None:
        """Raises `Trouble` where containerd runs on without what the kubelet needs, as it does with much that it reads.

        Its own program beside it tells. Where that is not found, that containerd answers must do.
        """
        containerd = self._programs.find("containerd") if engine.kind is EngineKind.CONTAINERD else None
        if containerd is None:
            return
        asked = self._programs.run(
            f"{containerd.rpartition('/')[0]}/ctr", "--address", engine.socket, "plugins", "ls"
        )
        failed = [
            f"{words[0]}.{words[1]}"
            for words in map(str.split, asked.out.splitlines())
            if len(words) > 3 and (words[0].startswith(_CRI) or words[1] == "cri") and words[-1] == "error"
        ]
        if asked.status == 0 and failed:
            raise Trouble(
                Code.RESTART_FAILED,
                f"containerd was restarted and runs without {failed[0]}, which the kubelet needs; its log says why",
            )

    def _answers(self, path: str) -> bool:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
                one.settimeout(STEP_S)
                one.connect(str(self._host.at(path)))
        except OSError:
            return False
        return True
