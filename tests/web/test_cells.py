"""Cards as cells: states and modes differ by shape, and the browser draws what the server draws."""

from __future__ import annotations

import itertools
import json
import subprocess

import pytest
from syrupy.assertion import SnapshotAssertion

from builders.system_programs import node_program
from tangram.reports.status_shape import CORDONED, FREE, UNHEALTHY, USED
from tangram.web.cells import Drawing, drawing
from tangram.web.static_files import FOLDER
from tangram.web.tiles import CARD_STATES, MODES, Cell

ALL_KINDS = [
    Cell(mode, state, memory, compute)
    for mode, state in itertools.product(range(len(MODES)), range(len(CARD_STATES)))
    for memory, compute in ((0, 0), (1, 99), (33, 67), (100, 100))
]


def shapes(cell: Cell) -> set[tuple[str, str]]:
    """Without what colour alone would say: frames have the classes of their dashes."""
    dashed = {"virtual", "undecided"}
    found = drawing([cell], 1).paths
    return {(name if name in dashed else "line", path) for name, path in found if name != "veil"}


def test_a_node_of_every_mode_and_state(snapshot: SnapshotAssertion) -> None:
    cells = [
        Cell(MODES.index(mode), CARD_STATES.index(state), memory, compute)
        for mode, state, memory, compute in (
            ("whole", USED, 100, 100),
            ("whole", FREE, 0, 0),
            ("sliced", USED, 45, 30),
            ("virtual", USED, 25, 25),
            ("shared", USED, 50, 12),
            ("undecided", FREE, 0, 0),
            ("whole", CORDONED, 0, 0),
            ("sliced", UNHEALTHY, 10, 10),
            ("whole", FREE, 0, 0),
        )
    ]
    drawn = drawing(cells)
    assert drawn.view_box == "-3 -3 178 64"
    assert drawn == snapshot


@pytest.mark.parametrize("filled", [(0, 0), (50, 50)])
def test_no_two_modes_or_states_have_the_same_shapes(filled: tuple[int, int]) -> None:
    told_by_shape = [state for state in CARD_STATES if state != USED]
    drawn = [
        shapes(Cell(mode, CARD_STATES.index(state), *filled))
        for mode in range(len(MODES))
        for state in told_by_shape
    ]
    unhealthy_dashes = [MODES.index("virtual"), MODES.index("undecided"), MODES.index("whole")]
    same = [
        (one, other)
        for one, other in itertools.combinations(range(len(drawn)), 2)
        if drawn[one] == drawn[other]
    ]
    # Of an unhealthy card its mode is told by its page: the cross matters more than the dashes of its frame.
    assert all(
        told_by_shape[at % len(told_by_shape)] == UNHEALTHY and at // len(told_by_shape) in unhealthy_dashes
        for pair in same
        for at in pair
    )


def test_a_node_without_cards_is_an_empty_drawing() -> None:
    assert drawing([]) == Drawing(178, 32, ())


def test_the_browser_draws_what_the_server_draws() -> None:
    script = f"""
        const made = [];
        const element = () => ({{ a: {{}}, c: [], setAttribute(k, v) {{ this.a[k] = v; }},
                                  replaceChildren(...c) {{ this.c = c; }} }});
        globalThis.document = {{ createElementNS: element }};
        const {{ drawInto }} = await import({json.dumps(FOLDER.joinpath("cells.js").as_uri())});
        for (const cells of {json.dumps([[cell.packed] for cell in ALL_KINDS] + [[c.packed for c in ALL_KINDS]])}) {{
          const svg = element();
          drawInto(svg, cells);
          made.push([svg.a.viewBox, svg.c.map((path) => [path.a.class, path.a.d])]);
        }}
        console.log(JSON.stringify(made));
    """
    ran = subprocess.run(
        [node_program(), "--input-type=module", "-e", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    expected = [drawing([cell]) for cell in ALL_KINDS] + [drawing(ALL_KINDS)]
    assert json.loads(ran.stdout) == [[one.view_box, [list(path) for path in one.paths]] for one in expected]
