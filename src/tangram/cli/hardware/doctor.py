"""`tangram doctor`: what keeps this machine, or a cluster, from serving cards, and what to do about it."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli.agents.options import KubeconfigOption, connection_for
from tangram.cli.failures import InputError
from tangram.cli.hardware.asking import (
    NOTHING_FOUND,
    DriverOption,
    OutputOption,
    RootOption,
    TimeoutOption,
    give_up,
    read_root,
    read_seconds,
    reader_for,
)
from tangram.cli.hardware.cluster_doctor import examine_cluster
from tangram.cli.hardware.self_test import (
    CardOption,
    CleanOption,
    SelfTestOption,
    SlicesOption,
    check_options,
    run_self_test,
)
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.plain import clean as plain
from tangram.cli.screen import Screen, output_console
from tangram.drivers.doctor.diagnosis import VERSION, diagnose
from tangram.drivers.doctor.findings import Finding, Outcome
from tangram.drivers.doctor.machine import SYSTEM_PATH, Machine
from tangram.drivers.errors import DriverError

A_CHECK_FAILED: Final = 1
_ANY_DRIVER: Final = "auto"
_HERE: Final = "/"
ClusterOption = Annotated[
    bool,
    Parameter(
        name="--cluster", negative="", help="Look at the cluster of the kubeconfig instead of this machine."
    ),
]
_STYLES: Final = {Outcome.OK: "green", Outcome.WARN: "yellow", Outcome.FAIL: "bold red", Outcome.SKIP: "dim"}


def doctor(
    *,
    self_test: SelfTestOption = False,
    slices: SlicesOption = False,
    card: CardOption = None,
    clean: CleanOption = False,
    cluster: ClusterOption = False,
    kubeconfig: KubeconfigOption = None,
    driver: DriverOption = _ANY_DRIVER,
    root: RootOption = _HERE,
    output: OutputOption = "table",
    timeout: TimeoutOption = "10s",
) -> int:
    """Check everything between the PCI bus and kubelet, or in a cluster, and say what to do."""
    form = read_format(output)
    limit = read_seconds(timeout, "--timeout")
    check_options(self_test=self_test, slices=slices, card=card, clean=clean)
    _check_one_subject(driver, root, kubeconfig, cluster=cluster, self_test=self_test)
    if self_test:
        return run_self_test(driver, root, timeout, form, slices=slices, card=card, clean=clean)
    if cluster:
        examined = examine_cluster(connection_for(kubeconfig, os.environ), limit)
        if form is Format.TABLE:
            show_findings(Screen(output_console()), examined.findings)
        else:
            write_data(examined, form)
        return A_CHECK_FAILED if examined.failed else 0
    reader = reader_for(driver, timeout, root)
    try:
        diagnosis = diagnose(driver, reader, _machine(root), limit=limit)
    except DriverError as error:
        return give_up(error, driver, VERSION, form)
    finally:
        reader.close()
    if form is not Format.TABLE:
        write_data(diagnosis, form)
    elif not diagnosis.nothing:
        show_findings(Screen(output_console()), diagnosis.findings)
    if diagnosis.nothing:
        sys.stderr.write(f"tangram: nothing to check: {plain(diagnosis.nothing.rstrip('.'))}.\n")
        return NOTHING_FOUND
    return A_CHECK_FAILED if diagnosis.failed else 0


def _check_one_subject(
    driver: str, root: str, kubeconfig: Path | None, *, cluster: bool, self_test: bool
) -> None:
    """A question about a machine names no cluster, and the other way round."""
    if cluster and (driver != _ANY_DRIVER or root != _HERE):
        raise InputError(
            "--cluster asks an API server, and --driver and --root are about one machine: leave one of the two out."
        )
    if cluster and self_test:
        raise InputError(
            "--cluster asks an API server, and --self-test the cards of this machine: write one of the two."
        )
    if kubeconfig is not None and not cluster:
        raise InputError(f"--kubeconfig {str(kubeconfig)!r:.80} is of use with --cluster only: write both.")


def _machine(root: str) -> Machine:
    programs = os.environ.get("PATH", "").split(":") if root == "/" else ()
    return Machine(read_root(root), tuple(dict.fromkeys((*filter(None, programs), *SYSTEM_PATH))))


def show_findings(screen: Screen, findings: Sequence[Finding]) -> None:
    """For people: each with its reason and remedy, and how many of which kind there are."""
    for finding in findings:
        screen.line(
            f"{finding.outcome.upper():<4}  {finding.check}: {finding.why}", style=_STYLES[finding.outcome]
        )
        if finding.todo:
            screen.line(f"      -> {finding.todo}")
    counts = Counter(finding.outcome for finding in findings)
    screen.gap()
    screen.line(
        f"{counts[Outcome.OK]} ok, {counts[Outcome.WARN]} to look at, {counts[Outcome.FAIL]} failed, "
        f"{counts[Outcome.SKIP]} skipped.",
        style="bold",
    )
