"""How the cards of one machine are joined, as a picture: the SVG of `tangram topology --svg`.

Direct links are arcs above the cards, switches bars below them, NUMA nodes boxes round all of it. The same machine
gives the same bytes, so a picture can be kept and compared. Colours follow the reader's light or dark setting.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final
from xml.sax.saxutils import escape

from tangram.cli.hardware.cells import gibibytes
from tangram.cli.hardware.neighbours import LINK_NAMES, TopologyReport
from tangram.cli.hardware.picture_plan import ARC_STEP, BAR, CARD, INSET, MARGIN, Plan, plan_of
from tangram.model.topology import Link, LinkKind
from tangram.units.na import NotAvailable

_HUES: Final = 6
"""Groups beyond this many repeat colours, which no server seen so far needs."""

_STYLE: Final = """
    .page { fill: #ffffff }
    .numa { fill: #f3f4f6; stroke: #9ca3af }
    .card { fill: #ffffff; stroke: #374151; stroke-width: 1.5 }
    .bad { fill: #fee2e2; stroke: #b91c1c; stroke-width: 2.5 }
    .bar { fill: #d1d5db; stroke: #6b7280 }
    .wire { stroke: #6b7280; fill: none; stroke-width: 1.5 }
    .link { fill: none }
    .l0 { stroke: #1d4ed8 } .l1 { stroke: #b45309 } .l2 { stroke: #047857 }
    .l3 { stroke: #a21caf } .l4 { stroke: #0e7490 } .l5 { stroke: #be123c }
    text { font-family: sans-serif; fill: #111827; font-size: 12px; text-anchor: middle }
    .strong { font-weight: bold; font-size: 14px }
    .small { font-size: 10px; fill: #4b5563 }
    .left { text-anchor: start }
    @media (prefers-color-scheme: dark) {
      .page { fill: #111827 }
      .numa { fill: #1f2937; stroke: #6b7280 }
      .card { fill: #111827; stroke: #d1d5db }
      .bad { fill: #450a0a; stroke: #f87171 }
      .bar { fill: #4b5563; stroke: #9ca3af }
      .wire { stroke: #9ca3af }
      .l0 { stroke: #60a5fa } .l1 { stroke: #fbbf24 } .l2 { stroke: #34d399 }
      .l3 { stroke: #e879f9 } .l4 { stroke: #22d3ee } .l5 { stroke: #fb7185 }
      text { fill: #f9fafb }
      .small { fill: #d1d5db }
    }
"""


def picture_of(report: TopologyReport) -> str:
    """The whole SVG document."""
    plan = plan_of(report)
    hues = _hues(report)
    legend = _legend(report)
    bottom = plan.floor + (34 if len(plan.boxes) > 1 else 24)
    height = bottom + 18 * len(legend) + MARGIN
    extent = f'width="{plan.width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {extent} viewBox="0 0 {plan.width} {height}" role="img">',
        f"  <title>{_text(_title(report))}</title>",
        f"  <style>{_STYLE}  </style>",
        f'  <rect class="page" {extent}/>',
        f'  <text class="strong left" x="{MARGIN}" y="{MARGIN}">{_text(_title(report))}</text>',
        *_boxes(plan),
        *_bars(plan),
        *_arcs(report, plan, hues),
        *_cards(report, plan),
    ]
    for number, (hue, words) in enumerate(legend):
        y = bottom + 18 * number + 6
        if hue is not None:
            parts.append(
                f'  <path class="link l{hue}" stroke-width="4" d="M {MARGIN} {y - 4} h 26"/>',
            )
        left = MARGIN + (0 if hue is None else 36)
        parts.append(f'  <text class="left" x="{left}" y="{y}">{_text(words)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _boxes(plan: Plan) -> list[str]:
    parts: list[str] = []
    edges: list[tuple[int, int]] = []
    for name, first, last in plan.boxes:
        left, right = plan.lefts[first] - INSET, plan.lefts[last] + CARD[0] + INSET
        top = plan.row - INSET
        edges.append((left, right))
        parts += [
            f'  <rect class="numa" x="{left}" y="{top}" width="{right - left}" height="{plan.floor - top}" rx="10"/>',
            f'  <text class="small" x="{(left + right) // 2}" y="{plan.floor - 8}">{_text(name)}</text>',
        ]
    y = plan.floor + 10
    for (left, right), (after, end) in pairwise(edges):
        one, other = (left + right) // 2, (after + end) // 2
        parts.append(
            f'  <path class="wire" stroke-dasharray="4 3" d="M {one} {plan.floor} V {y} H {other} V {plan.floor}"/>'
        )
    return parts


def _bars(plan: Plan) -> list[str]:
    parts: list[str] = []
    bottom = plan.row + CARD[1]
    for number, level in enumerate(plan.levels):
        y = bottom + 16 + number * (BAR + 16)
        for first, last in level.spans:
            left, right = plan.lefts[first], plan.lefts[last] + CARD[0]
            if number == 0:
                parts += [
                    f'  <path class="wire" d="M {plan.lefts[place] + CARD[0] // 2} {bottom} V {y}"/>'
                    for place in range(first, last + 1)
                ]
            else:
                parts += [
                    f'  <path class="wire" d="M {_middle(plan, one, other)} {y - 16} V {y}"/>'
                    for one, other in plan.levels[0].spans
                    if first <= one <= other <= last
                ]
            parts += [
                f'  <rect class="bar" x="{left}" y="{y}" width="{right - left}" height="{BAR}" rx="5"/>',
                f'  <text x="{(left + right) // 2}" y="{y + 16}">{level.name}</text>',
            ]
    return parts


def _middle(plan: Plan, first: int, last: int) -> int:
    return (plan.lefts[first] + plan.lefts[last] + CARD[0]) // 2


def _arcs(report: TopologyReport, plan: Plan, hues: dict[str, int]) -> list[str]:
    parts: list[str] = []
    place_of = {at: place for place, at in enumerate(plan.order)}
    for link in report.links:
        if link.kind is LinkKind.NONE:
            continue
        one, other = sorted((place_of[link.a], place_of[link.b]))
        start, end = (plan.lefts[place] + CARD[0] // 2 for place in (one, other))
        high = plan.row - 8 - ARC_STEP * (other - one)
        hue = hues.get(report.cards[link.a].label, 0)
        label = f"{report.cards[link.a].label} - {report.cards[link.b].label}: {_kind(link)}"
        parts.append(
            f'  <path class="link l{hue}" stroke-width="{1 + link.lanes}" '
            f'd="M {start} {plan.row} C {start} {high} {end} {high} {end} {plan.row}">'
            f"<title>{_text(label)}</title></path>"
        )
    return parts


def _cards(report: TopologyReport, plan: Plan) -> list[str]:
    parts: list[str] = []
    wide, tall = CARD
    for place, at in enumerate(plan.order):
        card = report.cards[at]
        left, middle = plan.lefts[place], plan.lefts[place] + wide // 2
        memory = "" if isinstance(card.memory, NotAvailable) else f"{gibibytes(card.memory)} GiB"
        lines = [
            ("strong", card.label),
            ("", card.product),
            ("small", card.bdf),
            ("small", memory if card.healthy else "unhealthy"),
        ]
        parts.append(
            f'  <rect class="{"card" if card.healthy else "bad"}" x="{left}" y="{plan.row}" '
            f'width="{wide}" height="{tall}" rx="6"/>'
        )
        parts += [
            f'  <text class="{style}" x="{middle}" y="{plan.row + 19 + 16 * number}">{_text(words)}</text>'
            for number, (style, words) in enumerate(lines)
        ]
    return parts


def _hues(report: TopologyReport) -> dict[str, int]:
    return {label: number % _HUES for number, group in enumerate(report.groups) for label in group.cards}


def _legend(report: TopologyReport) -> list[tuple[int | None, str]]:
    if not report.known:
        return [(None, f"{report.driver} cannot say how the cards are joined.")]
    if not report.groups:
        return [(None, "No two cards share a direct link.")]
    return [
        (
            number % _HUES,
            f"{group.words}: {' '.join(group.cards)}{'' if group.complete else ' (not every pair is joined)'}",
        )
        for number, group in enumerate(report.groups)
    ]


def _kind(link: Link) -> str:
    return LINK_NAMES[link.kind] if link.lanes == 1 else f"{link.lanes} x {LINK_NAMES[link.kind]}"


def _title(report: TopologyReport) -> str:
    counts: dict[str, int] = {}
    for card in report.cards:
        counts[card.product] = counts.get(card.product, 0) + 1
    return ", ".join(f"{count} x {product}" for product, count in counts.items()) or "No cards"


def _text(words: str) -> str:
    """Safe inside XML, whatever a library calls its cards."""
    return escape("".join(letter if letter.isprintable() else "?" for letter in words), {'"': "&quot;"})
