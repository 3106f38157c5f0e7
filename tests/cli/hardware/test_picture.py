"""Any machine can be drawn: well-formed, the same twice, and nothing on top of anything else."""

import re
from collections.abc import Sequence
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from builders.fake_driver import metax_card
from tangram.cli.hardware.neighbours import TopologyReport, components, report_of
from tangram.cli.hardware.picture import picture_of
from tangram.drivers.snapshot import CardReading, Snapshot
from tangram.model.devices import Health, LinkReport
from tangram.model.topology import Link, LinkKind, PcieLevel
from tangram.units.na import NA

SVG = "{http://www.w3.org/2000/svg}"


@st.composite
def machines(draw: st.DrawFn) -> TopologyReport:
    count = draw(st.integers(0, 10))
    cards = [
        metax_card(
            at,
            product=draw(st.sampled_from(["MXC500", "<b>&\"'", "a\x00b\x1b[31m", "\ud7ff\u200b"])),
            numa=draw(st.sampled_from([NA, -1, 0, 1, 7])),
        )
        for at in range(count)
    ]
    links = [
        Link(a, b, draw(st.sampled_from(LinkKind)), draw(st.sampled_from(PcieLevel)), draw(st.integers(1, 4)))
        for a, b in combinations(range(count), 2)
        if draw(st.booleans())
    ]
    readings = tuple(CardReading(device=card, health=Health(healthy=draw(st.booleans()))) for card in cards)
    report = LinkReport(known=draw(st.booleans()), links=tuple(links))
    return report_of(Snapshot(driver="fake", cards=readings, links=report))


@given(machines())
def test_every_machine_can_be_drawn(report: TopologyReport) -> None:
    text = picture_of(report)
    picture = ET.fromstring(text)  # noqa: S314 - our own text, and the question is whether it parses
    assert text == picture_of(report)
    cards = [rect for rect in picture.iter(f"{SVG}rect") if rect.get("class") in ("card", "bad")]
    assert len(cards) == len(report.cards)
    boxes = sorted((int(card.get("x", "0")), int(card.get("width", "0"))) for card in cards)
    assert all(left + width <= after for (left, width), (after, _) in pairwise(boxes))
    wide, high = int(picture.get("width", "0")), int(picture.get("height", "0"))
    numbers = [int(x) for x in re.findall(r'\b(?:x|y)="(-?[0-9]+)"', text)]
    assert all(0 <= number <= max(wide, high) for number in numbers)
    arcs = [path for path in picture.iter(f"{SVG}path") if "C" in path.get("d", "")]
    assert len(arcs) == sum(link.kind is not LinkKind.NONE for link in report.links)


@given(machines())
def test_the_matrix_is_symmetric_and_groups_are_disjoint(report: TopologyReport) -> None:
    size = len(report.cards)
    assert all(report.matrix[a][b] == report.matrix[b][a] for a in range(size) for b in range(size))
    for kind in ("MetaXLink", "MTLink"):
        members = [card for group in report.groups if group.kind == kind for card in group.cards]
        assert len(members) == len(set(members))


@given(st.integers(0, 12), st.data())
def test_components_part_all_positions(size: int, data: st.DataObject) -> None:
    pairs: Sequence[tuple[int, int]] = (
        data.draw(st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)))) if size else []
    )
    found = components(size, pairs)
    assert sorted(at for part in found for at in part) == list(range(size))
    assert all(any(a in part and b in part for part in found) for a, b in pairs)
