"""The answer of `tangram topology` for people: the matrix every GPU tool prints, then what follows from it."""

from __future__ import annotations

from collections import Counter

from tangram.cli.hardware.devices_page import show_troubles
from tangram.cli.hardware.neighbours import TopologyReport, VendorSizes
from tangram.cli.screen import Screen
from tangram.engine.layout import MOST_CARDS

_MEANINGS = (
    ("X", "the card itself"),
    ("MX", "MetaXLink"),
    ("MT", "MTLink, with the number of parallel links"),
    ("PIX", "at most one PCIe switch between them"),
    ("PXB", "several PCIe switches, no host bridge"),
    ("PHB", "through a host bridge"),
    ("NODE", "through several host bridges of one NUMA node"),
    ("SYS", "across NUMA nodes"),
    ("NA", "unknown"),
)
_VENDORS = {"metax": "MetaX", "mthreads": "Moore Threads", "generic": "Generic"}


def show_topology(screen: Screen, report: TopologyReport) -> None:
    """Matrix, legend, groups, and what each request size would get."""
    if report.cards:
        _show_matrix(screen, report)
        _show_groups(screen, report)
        for vendor in report.requests:
            screen.gap()
            _show_sizes(screen, vendor)
        _show_too_many(screen, report)
    elif not report.troubles:
        screen.line(f"{report.driver} answers and knows no card.")
    show_troubles(screen, report.troubles)


def _show_matrix(screen: Screen, report: TopologyReport) -> None:
    labels = [card.label for card in report.cards]
    screen.table(
        ("", *labels, "NUMA", "BUS ID"),
        [
            (card.label, *row, str(card.numa), card.bdf)
            for card, row in zip(report.cards, report.matrix, strict=True)
        ],
        ["" if card.healthy else "red" for card in report.cards],
    )
    words = {word.rstrip("0123456789") for row in report.matrix for word in row}
    screen.gap()
    for word, meaning in _MEANINGS:
        if word in words:
            screen.line(f"  {word:<4}  {meaning}", style="dim")


def _show_groups(screen: Screen, report: TopologyReport) -> None:
    screen.gap()
    if not report.known:
        screen.line(f"{report.driver} cannot say how the cards are joined.")
    elif not report.groups:
        screen.line("No two cards share a direct link.")
    for number, group in enumerate(report.groups):
        some = "" if group.complete else " (not every pair is joined)"
        screen.line(f"Group {number}, {group.words}: {' '.join(group.cards)}{some}")


def _show_sizes(screen: Screen, vendor: VendorSizes) -> None:
    screen.line(
        f"{_VENDORS.get(vendor.vendor, vendor.vendor)}, per number of cards asked for, "
        "if every healthy card were free:",
        style="bold",
    )
    screen.table(
        ("ASKED", "BEST SCORE", "WITH", "LEAST LOSS", "WITH"),
        [
            (str(size.cards), str(size.score), _short(size.best), str(size.loss), _short(size.cheapest))
            for size in vendor.sizes
        ],
    )


def _show_too_many(screen: Screen, report: TopologyReport) -> None:
    counts = Counter(card.vendor for card in report.cards)
    for vendor, count in counts.items():
        if report.known and count > MOST_CARDS:
            screen.gap()
            screen.line(
                f"{_VENDORS.get(vendor, vendor)}: {count} cards are more than the {MOST_CARDS} whose best sets are "
                "worked out; they are placed by count alone."
            )


def _short(labels: tuple[str, ...]) -> str:
    return " ".join(label.removeprefix("GPU") for label in labels)
