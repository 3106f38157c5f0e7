"""What the pages name is there: headings, files, tests, targets of make, commands with their options, and counts."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from builders import patch_cases
from builders.rule_cases import CASES as RULES
from e2e import test_metax_docker_lines, test_sandbox_controllers, test_sandbox_placing
from tangram.cli.app import app
from tangram.sandbox.scenarios.all import SCENARIOS

ROOT: Final = Path(__file__).resolve().parents[1]
PAGES: Final = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "benchmarks/*.md", "examples/**/*.md", "tests/data/captures/*.md")
    for path in ROOT.glob(pattern)
)
FOLDERS: Final = "benchmarks|deploy|docs|e2e|examples|proto|requirements|runtime|shipping|src|testbed|tests"
NUMBERS: Final = {10: "ten", 11: "eleven", 12: "twelve", 13: "thirteen"}
SCRIPTED: Final = ("testbed.koord_scheduler", "testbed.koord_manager", "testbed.koordlet")
NOT_OF_THIS_TREE: Final = {"src/dist"}
"""A folder of the manual's sample project."""
NO_MODULES: Final = {"explain", "metax"}
"""A command and a runtime, which the map speaks of beside modules."""


def text(path: Path) -> str:
    return path.read_text("utf-8")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def without_blocks(page: str) -> str:
    return re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)


@cache
def headings(path: Path) -> frozenset[str]:
    """The places of a page that a link can lead to, as code hosts call them."""
    titles = re.findall(r"^#+ (.+)$", without_blocks(text(path)), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles]
    return frozenset(re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-") for title in plain)


def links_into(path: Path) -> Iterator[tuple[Path, str]]:
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", text(path)):
        yield ((path.parent / target).resolve() if target else path), anchor


def commands_on(page: str) -> Iterator[str]:
    """What stands behind `tangram` in blocks and between backticks, up to a comment or another command."""
    for block in re.findall(r"^```\w*\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            yield from re.findall(r"(?:^|\$ |[;|&(]\s*)tangram (.*)", line)
    yield from re.findall(r"`(?:kubectl )?tangram ([^`]+)`", " ".join(without_blocks(page).split()))


def words_of(command: str) -> list[str]:
    command = re.split(r"\s#|\s*[|;&>)]", command)[0]
    try:
        words = shlex.split(command)
    except ValueError:  # An apostrophe of prose.
        words = command.split()
    return [word for word in words if word not in {"--help", "-h"}]


def unknown_words(words: list[str]) -> list[str]:
    """The command, if there is none of that name, or else its options that do not exist."""
    chain, _, rest = app.parse_commands(words)
    if not chain:
        return words[:1]
    options = [word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)]
    return [f"{' '.join(chain)} {option}" for option in options if option not in options_of(chain)]


@cache
def options_of(chain: tuple[str, ...]) -> frozenset[str]:
    _, apps, _ = app.parse_commands(chain)
    try:
        arguments = apps[-1].assemble_argument_collection()
    except (NameError, ValueError):  # A command that has only subcommands.
        return frozenset()
    return frozenset(name for argument in arguments for name in argument.names)


@cache
def named_in(path: Path) -> frozenset[str]:
    return frozenset(
        re.findall(r"^(?:async def |def |class )?(test_\w+|Test\w+)\b", text(path), re.MULTILINE)
    )


def test_links_to_a_place_on_a_page_lead_to_a_heading() -> None:
    lost = [
        f"{name_of(path)} links to {target.name}#{anchor}"
        for path in PAGES
        for target, anchor in links_into(path)
        if target.suffix == ".md" and (not target.exists() or anchor not in headings(target))
    ]
    assert lost == []


def test_files_and_folders_that_pages_name_exist() -> None:
    lost = [
        f"{name_of(path)} names {named}"
        for path in PAGES
        for named in re.findall(rf"`((?:{FOLDERS})/[\w./-]+?)(?:::\w+)?`", text(path))
        if not (ROOT / named).exists() and named not in NOT_OF_THIS_TREE
    ]
    assert lost == []


def test_tests_that_pages_name_exist() -> None:
    lost = [
        f"{name_of(path)} names {file}::{test}"
        for path in PAGES
        for file, test in re.findall(r"`((?:e2e|tests)/[\w/]+\.py)::(\w+)`", text(path))
        if test not in named_in(ROOT / file)
    ]
    assert lost == []


def test_targets_of_make_that_pages_name_exist() -> None:
    targets = set(re.findall(r"^([a-z][\w-]*):", text(ROOT / "Makefile"), re.MULTILINE))
    named = {
        (name_of(path), target) for path in PAGES for target in re.findall(r"`make ([a-z][\w-]*)", text(path))
    }
    assert len(named) > 20
    assert sorted(each for each in named if each[1] not in targets) == []


def test_commands_that_pages_show_exist_with_their_options() -> None:
    shown = [
        (path, words)
        for path in PAGES
        for command in commands_on(text(path))
        if (words := words_of(command)) and re.fullmatch(r"[a-z][a-z-]*", words[0])
    ]
    assert len(shown) > 300
    lost = [
        f"{name_of(path)}: {word}"
        for path, words in shown
        for word in unknown_words(words)
        if word != "simulated"  # The first line of a simulated module, which is no command.
    ]
    assert lost == []


def test_modules_that_the_map_names_are_where_it_says() -> None:
    rows = re.findall(
        r"^\| `((?:src/tangram|testbed|shipping)/[\w/]*)` \| (.+) \|$", text(ROOT / "AGENTS.md"), re.MULTILINE
    )
    assert len(rows) > 15
    lost: list[str] = []
    for folder, listed in rows:
        there = {path.stem for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ""}}
        plain = re.sub(r"\[[^\]]*\]\([^)]*\)", "", listed)
        named = set(re.findall(r"`([a-z_]+)(?:\.py|/)?`", plain)) - NO_MODULES
        lost += [f"{folder}: {name}" for name in sorted(named - there)]
    assert lost == []


def test_the_map_names_every_page() -> None:
    listed = re.sub(
        r"`([\w-]*)\{([\w,]+)\}\.md`",
        lambda found: " ".join(f"`{found[1]}{each}.md`" for each in found[2].split(",")),
        text(ROOT / "AGENTS.md"),
    )
    assert [path.name for path in (ROOT / "docs").glob("*.md") if f"{path.name}`" not in listed] == []


def test_the_map_says_which_folders_the_type_checker_leaves_out() -> None:
    settings = tomllib.loads(text(ROOT / "pyproject.toml"))["tool"]["basedpyright"]
    ours = {path.parent.name for path in ROOT.glob("*/*.py")} | {"src"}
    parts = {entry.partition("/")[0] for entry in settings["include"] if "/" in entry}
    left_out = " and ".join(
        f"most of `{name}/`" if name in parts else f"`{name}/`"
        for name in sorted(ours - {".venv", *settings["include"]})
    )
    assert f"basedpyright (strict; not {left_out})" in text(ROOT / "AGENTS.md")


def test_the_index_of_decisions_has_every_record() -> None:
    page = text(ROOT / "docs" / "decisions.md")
    indexed = re.findall(r"^\| (\d+) \| \[(.+)\]\(#.+\) \|", page, re.MULTILINE)
    assert indexed == re.findall(r"^## (\d+)\. (.+)$", page, re.MULTILINE)


def test_the_pages_call_make_test_the_tests_without_a_real_kubernetes() -> None:
    assert tomllib.loads(text(ROOT / "pyproject.toml"))["tool"]["pytest"]["ini_options"]["testpaths"] == [
        "tests"
    ]
    for page in ("README.md", "AGENTS.md"):
        row = re.search(r"^\| `make test` \| (.+) \|$", text(ROOT / page), re.MULTILINE)
        assert row is not None
        assert "real Kubernetes" in row[1], page


def test_every_page_counts_the_stories_alike() -> None:
    count = NUMBERS[len(SCENARIOS)]
    for page, sentence in (
        ("README.md", f"[all {count}](docs/scenarios.md)"),
        ("CHANGELOG.md", f"{count} [stories](docs/scenarios.md)"),
        ("docs/sandbox.md", f"{count} stories that tell themselves"),
        ("docs/sandbox-tests.md", f"The [{count} stories](scenarios.md)"),
        ("docs/scenarios.md", f"# {count.capitalize()} stories "),
    ):
        assert sentence in " ".join(text(ROOT / page).split()), page


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        pytest.param(
            "sandbox-tests.md",
            f"{len(RULES)} objects of every kind that is kept, good and bad, are created on a real control plane, and "
            f"{sum(case.change is not None for case in RULES)} of them replaced or given a status",
            id="rules",
        ),
        pytest.param(
            "sandbox-tests.md",
            f"{len(patch_cases.cases())} objects are made on a real control plane and changed step by step",
            id="patches",
        ),
        pytest.param(
            "sandbox-tests.md",
            f"In {len(test_sandbox_placing.CASES)} cases each is given the same nodes and pods",
            id="placing",
        ),
        pytest.param(
            "sandbox-tests.md",
            # The last one is of a namespace, and has a test of its own.
            "and the reasons of events. "
            + str(
                1
                + len(test_sandbox_controllers.JOBS)
                + len(test_sandbox_controllers.DEPLOYMENTS)
                + len(test_sandbox_controllers.STATEFUL_SETS)
                + len(test_sandbox_controllers.DAEMON_SETS)
                + len(test_sandbox_controllers.OTHERS)
            )
            + " cases.",
            id="controllers",
        ),
        pytest.param(
            "metax-docker-tests.md",
            "five hundred command lines: Docker's own client"
            if test_metax_docker_lines.LINES == 500
            else f"{test_metax_docker_lines.LINES} command lines",
            id="docker-lines",
        ),
    ],
)
def test_a_page_counts_the_cases_that_there_are(page: str, sentence: str) -> None:
    assert sentence in " ".join(text(ROOT / "docs" / page).split())


def test_end_to_end_tests_say_where_a_koordinator_program_is_scripted() -> None:
    """None of Koordinator's own programs runs in the tests."""
    silent: list[str] = []
    for path in sorted((ROOT / "e2e").glob("test_*.py")):
        source = text(path)
        if not any(f"from {module} import" in source for module in (*SCRIPTED, "e2e.koordinator_kit")):
            continue
        silent += [
            f"{path.name}::{test}"
            for test in re.findall(r"^async def (test_\w+)\(", source, re.MULTILINE)
            if re.search(r"koord_scheduler|koordlet|koord_manager|koordinators?_own", test)
            and not re.search(r"scripted|signed_by", test)
        ]
    assert silent == []
    assert "**No program of Koordinator's runs in the tests.**" in text(
        ROOT / "docs" / "koordinator-tests.md"
    )
