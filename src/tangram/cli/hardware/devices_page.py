"""The answer of `tangram devices` for people: one row per card, then who is on them."""

from __future__ import annotations

from collections.abc import Sequence

from tangram.cli.hardware import cells
from tangram.cli.hardware.report import CardReport, DevicesReport, TroubleReport
from tangram.cli.screen import Screen
from tangram.reports.words import plural
from tangram.units.na import NotAvailable

_HEADINGS = ("CARD", "PRODUCT", "BUS ID", "MODE", "UTIL", "MEMORY", "TEMP", "POWER", "HEALTH")


def show_devices(screen: Screen, report: DevicesReport) -> None:
    """Cards, then slices and processes, then what could not be read."""
    if report.cards:
        screen.table(
            _HEADINGS, [_row(card) for card in report.cards], [_style(card) for card in report.cards]
        )
        _show_tenants(screen, report.cards)
        screen.gap()
        screen.line(_foot(report), style="dim")
    elif not report.troubles:
        screen.line(f"{report.driver} answers and knows no card.")
    show_troubles(screen, report.troubles)


def show_troubles(screen: Screen, troubles: Sequence[TroubleReport]) -> None:
    """What could not be read; a call that hangs comes with its name."""
    if not troubles:
        return
    screen.gap()
    for trouble in troubles:
        again = f" ({trouble.times} times)" if trouble.times > 1 else ""
        named = "" if trouble.call in trouble.sentence else f" in {trouble.call}"
        screen.line(f"{trouble.kind}{named}: {trouble.sentence.rstrip('.')}.{again}", style="bold red")


def tenant_rows(cards: Sequence[CardReport]) -> list[tuple[str, str, str, str, str, str]]:
    """Slices with the processes inside them, then the processes outside any slice, card by card."""
    rows: list[tuple[str, str, str, str, str, str]] = []
    for card in cards:
        processes = [] if isinstance(card.processes, NotAvailable) else card.processes
        slices = [] if isinstance(card.slices, NotAvailable) else card.slices
        number = str(card.index)
        for part in slices:
            rows.append(
                (
                    number,
                    f"slice {part.id}",
                    str(part.name),
                    f"{cells.size(part.memory_used)} of {cells.size(part.memory)}",
                    cells.compute(part.cores, card.vendor),
                    cells.percent(part.utilisation_percent),
                )
            )
            rows += [
                (number, f"  pid {each.pid}", _name(each.name, each.pod), cells.size(each.memory), "", "")
                for each in processes
                if each.slice_id == part.id
            ]
        known = {part.id for part in slices}
        rows += [
            (number, f"pid {each.pid}", _name(each.name, each.pod), cells.size(each.memory), "", "")
            for each in processes
            if each.slice_id not in known
        ]
    return rows


def _name(process: str, pod: str) -> str:
    return f"{process} ({pod})" if pod else process


def _show_tenants(screen: Screen, cards: Sequence[CardReport]) -> None:
    rows = tenant_rows(cards)
    screen.gap()
    if rows:
        screen.table(("CARD", "WHAT", "NAME", "MEMORY", "COMPUTE", "UTIL"), rows)
    elif any(isinstance(card.slices, NotAvailable) for card in cards):
        screen.line("Who is on the cards could not be read for all of them.")
    elif all(isinstance(card.processes, NotAvailable) for card in cards):
        screen.line("No slice exists; this driver does not list processes.")
    elif unlisted := [str(card.index) for card in cards if isinstance(card.processes, NotAvailable)]:
        screen.line(f"No slice exists; the processes on card {', '.join(unlisted)} cannot be listed.")
    else:
        screen.line("No slice exists and no process uses a card.")


def _row(card: CardReport) -> tuple[str, ...]:
    return (
        str(card.index),
        card.product,
        card.bdf,
        cells.mode(card),
        cells.percent(card.utilisation_percent),
        cells.memory(card.memory_used, card.memory_total),
        cells.celsius(card.temperature_celsius),
        cells.power(card.power_watts, card.power_cap_watts),
        cells.health(card),
    )


def _style(card: CardReport) -> str:
    return "red" if card.healthy is False else ""


def _foot(report: DevicesReport) -> str:
    bad = sum(card.healthy is False for card in report.cards)
    versions = sorted(
        {
            str(card.driver_version)
            for card in report.cards
            if not isinstance(card.driver_version, NotAvailable)
        }
    )
    said = f", driver {' and '.join(versions)}" if versions else ""
    unhealthy = f", {bad} unhealthy" if bad else ""
    return f"{plural(len(report.cards), 'card')} through {report.driver}{said}{unhealthy}."
