"""The picture as SVG, to be put into a page.

It has no colours of its own: classes name what things are, and the style sheet gives them looks for both themes. It is
an image to whoever cannot see it, with a name and a description; everything in it is in the tables below it too.
"""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from tangram.web.topology.card_box import card_box
from tangram.web.topology.describing import description_of, link_words
from tangram.web.topology.grouping import BRIDGE, SWITCH, UNKNOWN_NUMA, plan_of
from tangram.web.topology.layout import WIDE_CARDS, Bar, Box, Layout, Spot, layout_of
from tangram.web.topology.marking import element, number, rect, safe, text, title, width_of
from tangram.web.topology.routing import Route
from tangram.web.topology.scene import Scene
from tangram.web.topology.speech import Speech

_HATCHES: Final = {
    "tp-hatch-1": (6, "M-1 7L7 -1"),
    "tp-hatch-2": (6, "M-1 -1L7 7"),
    "tp-hatch-3": (5, "M0 2.5H5"),
    "tp-hatch-other": (4, "M-1 5L5 -1M-1 -1L5 5"),
    "tp-cordoned": (9, "M-1 10L10 -1"),
    "tp-unhealthy": (7, "M-1 8L8 -1M-1 -1L8 8"),
}
_THINNEST: Final = 1.6
_PER_LANE: Final = 0.9
_WIDEST: Final = 7.0
_PORT: Final = 2.6
_LARGER: Final = 1.15
"""Natural size of a picture that leaves room on most screens."""


def drawing_of(scene: Scene, speech: Speech) -> Markup:
    """Empty for a node without cards."""
    plan = plan_of(scene)
    layout = layout_of(scene, plan)
    if not layout.cards:
        return Markup()
    columns = max(map(len, plan.rows))
    size = f"{number(layout.width)} {number(layout.height)}"
    parts = [
        element("title", safe(speech.say("node.picture_title", node=scene.node)), id="topology-title"),
        element("desc", safe(description_of(scene, plan, speech)), id="topology-desc"),
        element("defs", "".join(_hatch(name, *shape) for name, shape in _HATCHES.items())),
        *(_box(box, speech) for box in layout.boxes),
        element("g", "".join(_wire(points) for points in layout.wires), class_="tp-wires"),
        *(_bar(bar, scene, speech) for bar in layout.bars),
    ]
    for row_number, row in enumerate(plan.rows):
        for at in row:
            marks = _marks(scene, at, layout.cards[at], speech, below=row_number > 0)
            parts.append(card_box(scene.cards[at], layout.cards[at], speech, marks))
    links = "".join(_link(route, scene, speech) for route in _ordered(layout, scene))
    body = "\n".join([*parts, element("g", links, class_="tp-links")])
    scale = _LARGER if columns <= WIDE_CARDS else 1.0
    chosen = " tp-weighed" if scene.chosen else ""
    return Markup(  # noqa: S704 - every value in it went through `safe`
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tp tp-columns-{min(8, columns)}{chosen}" role="img" '
        f'aria-labelledby="topology-title" aria-describedby="topology-desc" viewBox="0 0 {size}" '
        f'width="{number(layout.width * scale)}" height="{number(layout.height * scale)}">\n{body}\n</svg>\n'
    )


def line_width(lanes: int) -> float:
    """More lanes, a broader line."""
    return min(_WIDEST, _THINNEST + _PER_LANE * (lanes - 1))


def _hatch(name: str, size: int, path: str) -> str:
    stroke = element("path", d=path, class_=f"{name}-line")
    return element("pattern", stroke, id=name, width=size, height=size, patternUnits="userSpaceOnUse")


def _box(box: Box, speech: Speech) -> str:
    known = box.numa != UNKNOWN_NUMA
    name = speech.say("node.numa", number=box.numa) if known else speech.say("node.numa_unknown")
    spot = box.spot
    look = "tp-numa" if known else "tp-numa tp-numa-unknown"
    return element(
        "g",
        rect(spot.x, spot.y, spot.width, spot.height, rx=14)
        + text(name, spot.x + 16, box.name_y, class_="tp-numa-name"),
        class_=look,
    )


def _wire(points: tuple[float, ...]) -> str:
    pairs = [f"{number(points[at])} {number(points[at + 1])}" for at in range(0, len(points), 2)]
    return element("path", d="M" + "L".join(pairs))


def _bar(bar: Bar, scene: Scene, speech: Speech) -> str:
    key = {SWITCH: "node.switch", BRIDGE: "node.bridge"}.get(bar.kind, "node.switches")
    name = speech.say(key)
    cards = ", ".join(str(scene.cards[at].index) for at in bar.cards)
    spot = bar.spot
    middle = spot.x + spot.width / 2
    parts = [
        title(speech.say("node.shared_by", what=name, cards=cards)),
        rect(spot.x, spot.y, spot.width, spot.height, rx=5),
        text(name, middle, spot.y + 14, text_anchor="middle", class_="tp-small"),
    ]
    return element("g", "".join(parts), class_=f"tp-bar tp-bar-{bar.kind}")


def _ordered(layout: Layout, scene: Scene) -> list[Route]:
    """Those of the chosen set last, which is on top."""
    return sorted(layout.routes, key=lambda route: {route.joint.a, route.joint.b} <= scene.chosen)


def _link(route: Route, scene: Scene, speech: Speech) -> str:
    joint = route.joint
    numbers = [number(each) for each in route.curve]
    (ax, ay), (bx, by) = route.ends
    ends = {joint.a, joint.b}
    looks = ["tp-link", f"tp-link-{joint.kind.casefold()}" if joint.kind in ("MX", "MT") else "tp-link-else"]
    looks += ["tp-in-chosen"] if ends <= scene.chosen else []
    looks += ["tp-in-runner-up"] if ends <= scene.runner_up else []
    a, b = (scene.cards[at].index for at in (joint.a, joint.b))
    curve = f"M{numbers[0]} {numbers[1]}C{' '.join(numbers[2:])}"
    parts = [
        title(speech.say("node.joined", a=a, b=b, by=link_words(joint.kind, joint.lanes))),
        element("path", d=curve, stroke_width=line_width(joint.lanes)),
        _port(ax, ay, joint.kind),
        _port(bx, by, joint.kind),
    ]
    return element("g", "".join(parts), class_=" ".join(looks), data_link=f"{a}-{b}")


def _port(x: float, y: float, kind: str) -> str:
    """Where a link leaves its card: square for MetaXLink, round for MTLink."""
    if kind == "MX":
        return rect(x - _PORT, y - _PORT, 2 * _PORT, 2 * _PORT, class_="tp-port")
    return element("circle", cx=x, cy=y, r=_PORT, class_="tp-port")


def _marks(scene: Scene, at: int, spot: Spot, speech: Speech, *, below: bool) -> list[str]:
    """Outlines and words of the sets that a card belongs to, on the side away from the links."""
    parts: list[str] = []
    x = spot.x + 10
    y = spot.y + spot.height - 7 if below else spot.y - 9
    for members, name, out in ((scene.chosen, "chosen", 3.0), (scene.runner_up, "runner-up", 6.0)):
        if at not in members:
            continue
        word = speech.say("node.chosen" if name == "chosen" else "node.runner_up")
        wide = width_of(word, 10.5) + 14
        parts += [
            rect(
                spot.x - out,
                spot.y - out,
                spot.width + 2 * out,
                spot.height + 2 * out,
                rx=9 + out,
                class_=f"tp-{name}",
            ),
            rect(x, y, wide, 16, rx=8, class_=f"tp-pill tp-pill-{name}"),
            text(
                word, x + wide / 2, y + 11.8, text_anchor="middle", class_=f"tp-pill-word tp-pill-word-{name}"
            ),
        ]
        x += wide + 4
    return parts
