"""Everything the doctor looks at, put together: the probes of the machine, and the cards through their driver."""

from __future__ import annotations

from typing import Final

import msgspec

from tangram.drivers.doctor import device_infos, kernel, kubelet, leftovers, nodes, runtimes, tools
from tangram.drivers.doctor.cards import judge_cards
from tangram.drivers.doctor.examining import Examination, Probe
from tangram.drivers.doctor.findings import Finding, Outcome, fail, skip
from tangram.drivers.doctor.libraries import library_probes
from tangram.drivers.doctor.machine import Machine
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.snapshot import Reader

VERSION: Final = "doctor/v1"

_HOST: Final = (
    Probe("container-runtime", runtimes.container_runtime),
    Probe("cdi", runtimes.cdi),
    Probe("kubelet", kubelet.kubelet_sockets),
    Probe("device-plugins", kubelet.device_plugins),
    Probe("vendor-components", leftovers.vendor_parts),
    Probe("device-infos", device_infos.device_infos),
)
_SIMULATED: Final = "simulated"


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `docs/hardware.md` promises this shape to programs."""

    tangram: str = VERSION
    driver: str
    nothing: str = ""
    """Why there is nothing to check; empty where there is."""
    findings: list[Finding]

    @property
    def failed(self) -> bool:
        return any(finding.outcome is Outcome.FAIL for finding in self.findings)


def diagnose(driver: str, reader: Reader, machine: Machine, *, limit: float) -> Diagnosis:
    """All findings, within the limit. Raises `DriverError` only for a driver that cannot be named so."""
    name, _, file = driver.partition(":")
    simulated = name == _SIMULATED
    hardware = () if simulated else _hardware_probes(name, file or None)
    examination = Examination([*hardware, *_HOST], machine, limit=limit)
    cards, absent = _cards(reader)
    found = examination.findings()
    about_cards = [finding for finding in found if finding.check.startswith(("metax", "mthreads"))]
    if absent is not None and all(finding.outcome is Outcome.SKIP for finding in about_cards):
        return Diagnosis(driver=driver, nothing=absent.sentence, findings=found)
    if absent is not None:
        cards = [fail("cards", absent.sentence, "mend what failed above, then ask again"), *cards]
    if simulated:
        cards = [
            skip("hardware", "simulated cards need no module, library, tool or device node of a vendor"),
            *cards,
        ]
    return Diagnosis(
        driver=driver, findings=[*cards, *found] if simulated else _after(found, cards, len(about_cards))
    )


def _after(found: list[Finding], cards: list[Finding], place: int) -> list[Finding]:
    """Cards stand after what they rest upon and before what rests upon them."""
    ordered = sorted(found, key=lambda finding: not finding.check.startswith(("metax", "mthreads")))
    return [*ordered[:place], *cards, *ordered[place:]]


def _hardware_probes(name: str, file: str | None) -> tuple[Probe, ...]:
    metax_library, mthreads_library = library_probes(
        file if name == "mxsml" else None, file if name == "mtml" else None
    )
    return (
        Probe("metax-module", kernel.metax_module),
        Probe("metax-sgpu", kernel.metax_slicing),
        Probe("metax-nodes", nodes.metax_nodes),
        Probe("metax-library", metax_library),
        Probe("metax-tool", tools.metax_tool),
        Probe("metax-runtime", runtimes.metax_runtime),
        Probe("mthreads-module", kernel.mthreads_module),
        Probe("mthreads-sgpu", kernel.mthreads_slicing),
        Probe("mthreads-nodes", nodes.mthreads_nodes),
        Probe("mthreads-library", mthreads_library),
        Probe("mthreads-tool", tools.mthreads_tool),
        Probe("mthreads-toolkit", runtimes.mthreads_toolkit),
    )


def _cards(reader: Reader) -> tuple[list[Finding], DriverError | None]:
    try:
        snapshot = reader.read()
    except DriverError as error:
        if error.kind is Kind.INVALID:
            raise
        if error.kind in (Kind.NO_LIBRARY, Kind.NO_DRIVER):
            return [], error
        return [fail("cards", error.sentence, "look into the kernel log")], None
    if not snapshot.cards and not snapshot.troubles:
        return [], DriverError(Kind.NO_DRIVER, f"{snapshot.driver} answers and knows no card")
    return list(judge_cards(snapshot)), None
