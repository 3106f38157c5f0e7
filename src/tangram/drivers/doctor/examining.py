"""All probes at once, each in a thread of its own, all of them done or given up by one moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tangram.drivers.doctor.findings import Finding, Findings, fail, skip, warn
from tangram.drivers.doctor.machine import Machine
from tangram.units.durations import duration_text


class Probe(NamedTuple):
    name: str
    look: Callable[[Machine], Findings]


class _Run:
    def __init__(self, probe: Probe, machine: Machine) -> None:
        self.probe = probe
        self.machine = machine.again()
        self.findings: list[Finding] = []
        self.done = threading.Event()
        threading.Thread(target=self._look, name=f"probe-{probe.name}", daemon=True).start()

    def _look(self) -> None:
        try:
            self._collect()
        finally:
            self.done.set()

    def _collect(self) -> None:
        try:
            for finding in self.probe.look(self.machine):
                self.findings.append(finding)
        except PermissionError:
            self.findings.append(
                skip(
                    self.probe.name, f"{self.machine.touching} may not be read by this user", "run it as root"
                )
            )
        except (OSError, ValueError) as error:
            self.findings.append(
                warn(
                    self.probe.name,
                    f"{self.machine.touching} cannot be read ({error})",
                    "look at it by hand; a file of /sys or /proc that cannot be read usually means a broken driver",
                )
            )


class Examination:
    """Begins at once; `findings` waits for the end, or for the limit."""

    def __init__(
        self,
        probes: Sequence[Probe],
        machine: Machine,
        *,
        limit: float,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self._limit = limit
        self._clock = clock
        self._wait = wait
        self._until = clock() + limit
        self._runs = [_Run(probe, machine) for probe in probes]

    def findings(self) -> list[Finding]:
        """Everything found, in the order of the probes; a probe that hangs says where."""
        found: list[Finding] = []
        for run in self._runs:
            finished = self._wait(run.done, max(0.0, self._until - self._clock()))
            found += list(run.findings)
            if not finished:
                found.append(
                    fail(
                        run.probe.name,
                        f"stuck: {run.machine.touching or run.probe.name} has not answered within "
                        f"{duration_text(self._limit)}",
                        "look into the kernel log; a driver that does not answer usually needs a reset or a reboot",
                    )
                )
        return found
