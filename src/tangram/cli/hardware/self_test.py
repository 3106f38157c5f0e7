"""`tangram doctor --self-test`: the checks of this machine's cards, with progress while they are made."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli.failures import InputError
from tangram.cli.hardware.asking import give_up, read_root, read_seconds
from tangram.cli.output import Format, write_data
from tangram.cli.patience import Patience
from tangram.cli.plain import clean as plain
from tangram.cli.screen import Screen, error_console, output_console
from tangram.drivers.errors import DriverError
from tangram.drivers.self_test.records import VERSION, CheckResult, SelfTestReport, SelfTestRequest
from tangram.drivers.self_test.supervising import (
    NothingToTestError,
    SelfTestCutShortError,
    SelfTestSupervisor,
)
from tangram.units.ids import CardUuid

A_CHECK_FAILED: Final = 1
INTERRUPTED: Final = 130
_STYLES: Final = {
    CheckResult.OK: "green",
    CheckResult.FAILED: "bold red",
    CheckResult.NOT_AVAILABLE: "dim",
}

SelfTestOption = Annotated[
    bool,
    Parameter(
        name="--self-test", negative="", help="Ask the cards every question that the agent asks, and compare."
    ),
]
SlicesOption = Annotated[
    bool,
    Parameter(
        name="--slices",
        negative="",
        help="With --self-test: also make, change and remove slices on an idle card.",
    ),
]
CardOption = Annotated[
    str | None,
    Parameter(
        name="--card",
        metavar="CARD",
        help="With --slices: this card, by number, bus address or uuid, instead of the first idle one.",
    ),
]
CleanOption = Annotated[
    bool,
    Parameter(
        name="--clean",
        negative="",
        help="With --self-test: only remove what a killed self-test left behind.",
    ),
]


def check_options(*, self_test: bool, slices: bool, card: str | None, clean: bool) -> None:
    """Refuse options that say nothing together."""
    for option, given in (("--slices", slices), ("--card", card is not None), ("--clean", clean)):
        if given and not self_test:
            raise InputError(f"{option} is of use with --self-test only: write both.")
    if clean and (slices or card is not None):
        raise InputError(
            "--clean removes leftovers on all cards and tests nothing: leave --slices and --card out."
        )
    if card is not None and not slices:
        raise InputError(f"--card {card!r:.60} names the card for slices: write --slices too.")
    if card is not None and not card.strip():
        raise InputError("--card is empty: write a card's number, bus address or uuid.")


def run_self_test(
    driver: str, root: str, timeout: str, form: Format, *, slices: bool, card: str | None, clean: bool
) -> int:
    """Make the checks, show them, and return the exit status."""
    request = SelfTestRequest(
        driver=driver,
        root=str(read_root(root).absolute()),
        limit=read_seconds(timeout, "--timeout"),
        slices=slices,
        card="" if card is None else card.strip(),
        clean=clean,
    )
    with Patience(error_console()) as patience:
        try:
            report = SelfTestSupervisor(request, patience.show).run()
        except NothingToTestError as nothing:
            return give_up(DriverError(nothing.kind, nothing.sentence), driver, VERSION, form)
        except SelfTestCutShortError as cut:
            sys.stderr.write(f"tangram: {cut.sentence}.\n")
            return INTERRUPTED
    if form is Format.TABLE:
        _show(Screen(output_console()), report)
    else:
        write_data(report, form)
    return A_CHECK_FAILED if report.failed else 0


def _show(screen: Screen, report: SelfTestReport) -> None:
    index = {card.uuid: card.index for card in report.cards}
    screen.table(
        ("CHECK", "CARDS", "RESULT", "FOUND"),
        [(row.check, _numbers(row.cards, index), _word(row.result), plain(row.why)) for row in report.checks],
        [_STYLES[row.result] for row in report.checks],
    )
    todo = [row for row in report.checks if row.todo]
    if todo:
        screen.gap()
    for row in dict.fromkeys((row.check, row.todo) for row in todo):
        screen.line(f"{row[0]}: {row[1]}")
    counts = Counter(row.result for row in report.checks)
    screen.gap()
    screen.line(
        f"{len(report.cards)} cards through {report.driver}: {counts[CheckResult.OK]} ok, "
        f"{counts[CheckResult.FAILED]} failed, {counts[CheckResult.NOT_AVAILABLE]} not available.",
        style="bold",
    )


def _word(result: CheckResult) -> str:
    return result.replace("-", " ")


def _numbers(cards: Sequence[CardUuid], index: dict[CardUuid, int]) -> str:
    """The cards' numbers, neighbours together: `0-3,7`."""
    runs: list[list[int]] = []
    for number in sorted(index[card] for card in cards if card in index):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
