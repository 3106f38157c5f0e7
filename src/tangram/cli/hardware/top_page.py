"""One frame of `tangram top`: bars per card, then whoever fills them, within 80 columns.

Bars are drawn with block characters where the terminal can show them and with `#` where it cannot.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from tangram.cli.hardware import cells
from tangram.cli.hardware.devices_page import show_troubles, tenant_rows
from tangram.cli.hardware.report import CardReport, DevicesReport
from tangram.cli.screen import Screen
from tangram.reports.words import plural
from tangram.units.na import Maybe, NotAvailable

_BAR = 10
_LONGEST_NAME = 30
_HEADINGS = ("CARD", "PRODUCT", "UTILISATION", "MEMORY, GiB", "TEMP", "POWER")


class Brush:
    """Draws a bar with what the terminal has."""

    def __init__(self, console: Console) -> None:
        plain = console.options.ascii_only or not console.encoding.startswith("utf")
        self._full, self._empty = ("#", ".") if plain else ("\u2588", "\u2591")

    def bar(self, share: Maybe[float]) -> str:
        """A bar of fixed width; blank when the share is unknown."""
        if isinstance(share, NotAvailable):
            return " " * _BAR
        filled = min(_BAR, max(0, round(share * _BAR)))
        # A card that does anything at all must not look idle.
        filled = max(filled, 1 if share > 0 else 0)
        return self._full * filled + self._empty * (_BAR - filled)


def show_frame(screen: Screen, report: DevicesReport, brush: Brush, moment: str) -> None:
    """The whole frame."""
    screen.line(_headline(report, moment), style="bold")
    if not report.cards and not report.troubles:
        screen.line(f"{report.driver} answers and knows no card.")
    if report.cards:
        screen.gap()
        screen.table(
            _HEADINGS,
            [_row(card, brush) for card in report.cards],
            ["red" if card.healthy is False else "" for card in report.cards],
        )
        for card in report.cards:
            if card.healthy is False:
                screen.line(f"card {card.index} {cells.health(card)}", style="red")
        _show_tenants(screen, report.cards)
    show_troubles(screen, report.troubles)


def _headline(report: DevicesReport, moment: str) -> str:
    busy = sum(
        not isinstance(card.utilisation_percent, NotAvailable) and card.utilisation_percent > 0
        for card in report.cards
    )
    bad = sum(card.healthy is False for card in report.cards)
    unhealthy = f", {bad} unhealthy" if bad else ""
    counted = f"{plural(len(report.cards), 'card')}, {busy} busy{unhealthy}"
    return "  ".join(part for part in (moment, report.driver, counted) if part)


def _row(card: CardReport, brush: Brush) -> tuple[str, ...]:
    load = card.utilisation_percent
    used, total = card.memory_used, card.memory_total
    memory = cells.memory(used, total).removesuffix(" GiB")
    share = (
        used / total
        if not isinstance(used, NotAvailable) and not isinstance(total, NotAvailable) and total > 0
        else None
    )
    return (
        str(card.index),
        card.product,
        f"{brush.bar(load if isinstance(load, NotAvailable) else load / 100)} {cells.percent(load):>4}",
        f"{' ' * _BAR if share is None else brush.bar(share)} {memory:>9}",
        cells.celsius(card.temperature_celsius),
        cells.power(card.power_watts, card.power_cap_watts),
    )


def _show_tenants(screen: Screen, cards: Sequence[CardReport]) -> None:
    rows = tenant_rows(cards)
    if not rows:
        return
    screen.gap()
    screen.table(
        ("CARD", "WHAT", "NAME", "MEMORY", "COMPUTE", "UTIL"),
        [(number, what, _cut(name), *rest) for number, what, name, *rest in rows],
    )


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."
