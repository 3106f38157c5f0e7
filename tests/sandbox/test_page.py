"""`docs/sandbox.md` says what is so: kinds, machines and options are those of the code."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from tangram.cli.sandbox import USUAL_PORT, sandbox
from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.nodes.described import default_machines
from tangram.sandbox.nodes.machines import MOST_AWAKE

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sandbox.md").read_text("utf-8")
PROSE = " ".join(PAGE.split())


def test_the_kinds_served_are_listed() -> None:
    listed = re.search(r"Kinds served: ([^.]*)\.", PROSE)
    assert listed is not None
    assert listed[1].split(", ") == sorted({kind.kind for kind in BUILT_IN})


def test_the_usual_machines_are_described() -> None:
    rows = dict(re.findall(r"^\| `([a-z]+-[a-z])` \| (.*) \|$", PAGE, re.MULTILINE))
    cards = {
        str(machine.node): [card.product for card in machine.cards.cards] for machine in default_machines()
    }
    assert rows.keys() == cards.keys()
    for node, row in rows.items():
        products = {product.removeprefix("MX").removeprefix("MTT ") for product in cards[node]}
        assert row.startswith(f"{len(cards[node])} {products.pop()}" if products else "none")


def test_every_option_is_described() -> None:
    options = {f"--{name.replace('_', '-')}" for name in inspect.signature(sandbox).parameters}
    assert set(re.findall(r"^\| `(--[a-z-]+)", PAGE, re.MULTILINE)) == options
    assert f"{USUAL_PORT} unless said" in PAGE


def test_how_many_machines_run_in_full_is_told() -> None:
    assert f"Up to {MOST_AWAKE} machines run in full" in PAGE
