"""How documents that show a terminal are read: blocks, rules for what may differ, and the picture of the README.

`make e2e` and `make fresh` type the commands.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from builders.pictures import drawn, words_in, words_of
from builders.recipes import PICTURE, PICTURED, README, Reading, to_try
from testbed.consoles import RULES, Shell, Step, blocks, normal, played, shell, steps, written


def test_the_readme_has_five_recipes_around_the_sandbox() -> None:
    page = README.read_text("utf-8")
    recipes = page[page.index("\n## Recipes\n") : page.index("\n## Without a sandbox\n")]
    titles = re.findall(r"^### (\d)\. (?!\s)", recipes, re.MULTILINE)
    assert titles == ["1", "2", "3", "4", "5"]
    assert all("```console\n" in recipe for recipe in recipes.split("\n### ")[1:])


def test_every_rule_is_needed_by_the_page_or_by_a_kubectl() -> None:
    """A rule without a use could only hide a difference."""
    newer = 'pod "notebook" deleted from default namespace'
    page = "".join(step.shown for block in blocks(README.read_text("utf-8")) for step in steps(block)) + newer
    assert [rule.name for rule in RULES if not rule.pattern.search(page)] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("a   Ready   <none>   9s    v1.36.3\n", "a   Ready   <none>   2m10s   v1.36.3\n", id="age"),
        pytest.param("chat-cbmkdbhhlc-7hngg  16 GiB\n", "chat-5d9c6f7b8-x2vlq  16 GiB\n", id="made name"),
        pytest.param('pod "a" deleted\n', 'pod "a" deleted from default namespace\n', id="deleting"),
    ],
)  # fmt: skip
def test_what_may_differ_is_the_same_by_a_rule(one: str, other: str) -> None:
    assert normal(one) == normal(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("notebook  16 GiB, 25%\n", "notebook  8 GiB, 25%\n", id="an amount"),
        pytest.param("  0-3    whole\n", "  4-7    whole\n", id="cards"),
        pytest.param("pod/four condition met\n", "pod/first condition met\n", id="a name that people gave"),
        pytest.param("Running   0   9s\n", "Pending   0   9s\n", id="a state"),
    ],
)
def test_what_may_not_differ_is_covered_by_no_rule(one: str, other: str) -> None:
    assert normal(one) != normal(other)


def test_a_block_is_commands_with_what_is_below_them() -> None:
    page = "a\n```console\n$ one\n1\n2\n$ two\n```\n```sh\n$ no\n```\n```console\n$ three\n3\n```\n"
    assert [steps(block) for block in blocks(page)] == [
        [Step("one", "1\n2\n"), Step("two", "")],
        [Step("three", "3\n")],
    ]


def test_a_block_that_begins_with_an_output_is_no_block() -> None:
    with pytest.raises(ValueError, match="begins with a command"):
        steps("what?\n$ one\n")


@pytest_asyncio.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Shell]:
    async with shell(tmp_path, {}) as running:
        yield running


async def test_a_shell_keeps_variables_and_tells_errors_and_the_status(terminal: Shell) -> None:
    assert await terminal.type("export A=3") == ("", 0)
    assert await terminal.type("echo $A; echo no >&2; false") == ("3\nno\n", 1)


async def test_a_page_that_shows_something_else_is_found_and_rewritten(terminal: Shell) -> None:
    shown = steps("$ echo 'now   9s'\nnow   1s\n$ echo right\nwrong\n")
    printed = await played(terminal, shown)
    reading = Reading([shown], [printed], "", [])
    assert [command for command, _, _ in reading.differing()] == ["echo right"]
    assert written(shown, printed) == "$ echo 'now   9s'\nnow   1s\n$ echo right\nright\n"


def test_a_picture_says_the_words_that_were_printed() -> None:
    said = "\x1b[1m$ tangram status\x1b[0m\nmetax-a  ██░░ \x1b[31munhealthy\x1b[0m <&>\n\n   last\n"
    assert words_in(drawn(said, "any")) == words_of(said)
    assert "http" not in drawn(said, "any").replace("http://www.w3.org/2000/svg", "")


def test_the_welcome_of_a_sandbox_names_what_to_try() -> None:
    welcome = [
        "  ✓ API server",
        "Ready after 1 s.",
        "",
        "  export A=b",
        "  kubectl get nodes",
        "",
        "Ctrl-C stops",
    ]
    assert to_try(welcome) == ["export A=b", "kubectl get nodes"]


def test_the_picture_shows_the_commands_it_was_taken_of() -> None:
    words = words_in(PICTURE.read_text("utf-8"))
    assert [command for command in PICTURED if f"$ {command}\n" not in words] == []
