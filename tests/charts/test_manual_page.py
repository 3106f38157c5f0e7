"""The page of the vendor's chart shows what the scripts of the manual do, and they differ from it by what it says."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "metax-extensions.md").read_text("utf-8")
FOLDER = ROOT / "tests" / "data" / "manual"
SCRIPTS = sorted(FOLDER.glob("*.sh"))
PAGES = {
    "manual": PAGE,
    "manual-operator": (ROOT / "docs" / "metax-operator.md").read_text("utf-8"),
}
"""By the folder of their scripts."""
EVERY = [
    pytest.param(script, id=f"{folder}/{script.stem}")
    for folder in PAGES
    for script in sorted((FOLDER.parent / folder).glob("*.sh"))
]
CORRECTIONS = ("T3", "T7", "T10")


def cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def steps(folder: str = FOLDER.name) -> dict[str, str]:
    """The commands of each script, as its page tells them."""
    head = "| Step | Commands | Script |\n|---|---|---|\n"
    rows = PAGES[folder].partition(head)[2].partition("\n\n")[0]
    return {script.strip("`"): commands for _, commands, script in map(cells, rows.splitlines())}


def correction(number: str) -> tuple[str, str]:
    """What the manual says, and what to write."""
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {number} |")]
    _, manual, write, _ = cells(row)
    return _quoted(manual), _quoted(write)


def _quoted(cell: str) -> str:
    found = re.match(r"`(.*?)`", cell)
    return found[1] if found else cell


def typed(script: Path) -> str:
    """The script with lines that go on put together, in the page's words."""
    text = re.sub(r" *\\\n *", " ", script.read_text("utf-8"))
    return re.sub(r"\$(DOMAIN|PROJECT|VERSION|USER|NODE|RELEASE)\b", r"\1", text)


@pytest.mark.parametrize("folder", PAGES)
def test_the_page_names_every_script_in_its_order(folder: str) -> None:
    assert list(steps(folder)) == sorted(script.name for script in (FOLDER.parent / folder).glob("*.sh"))


@pytest.mark.parametrize("script", EVERY)
def test_a_script_has_the_commands_that_the_page_tells_of_it(script: Path) -> None:
    commands = re.findall(r"`([^`]+)`", steps(script.parent.name)[script.name])
    missing = [each for each in commands if not each.startswith("/etc/") and each not in typed(script)]
    assert missing == []


@pytest.mark.parametrize("script", EVERY)
def test_a_script_can_be_run(script: Path) -> None:
    assert script.stat().st_mode & 0o111
    assert script.read_text("utf-8").startswith("#!/bin/sh -eu\n# ")
    subprocess.run(["/bin/sh", "-n", script], check=True)


@pytest.mark.parametrize("number", CORRECTIONS)
def test_a_correction_is_marked_where_it_is_made(number: str) -> None:
    manual, write = correction(number)
    mark = f"# {number}, in the manual: {manual}\n"
    (script,) = [each for each in SCRIPTS if mark in each.read_text("utf-8")]
    assert number in steps()[script.name]
    if number != "T10":  # It is about helm itself.
        after = script.read_text("utf-8").partition(mark)[2]
        assert write in "\n".join(after.splitlines()[:2])


def test_there_are_no_other_corrections() -> None:
    marked = re.findall(r"^# (T\d+), in the manual:", "".join(map(typed, SCRIPTS)), re.MULTILINE)
    assert sorted(marked) == sorted(CORRECTIONS)


# ---- the options


STATED = yaml.safe_load((FOLDER / "options.yaml").read_text("utf-8"))
HEAD = "| Option | If not given | What it does here |\n|---|---|---|\n"


def ours(option: str) -> object:
    """The chart's own value of an option that is addressed with dots."""
    value = yaml.safe_load((ROOT / "deploy/charts/metax-gpu-extensions/values.yaml").read_text("utf-8"))
    for key in option.split("."):
        value = value[key]
    return value


def test_the_page_lists_the_options_of_the_manual_and_no_others_as_such() -> None:
    rows = PAGE.partition(HEAD)[2].partition("\n\n")[0]
    assert [cells(row)[0].strip("`") for row in rows.splitlines()] == list(STATED)


def test_the_page_names_every_option_whose_default_is_not_the_manuals() -> None:
    other = [option for option, value in STATED.items() if value is not None and ours(option) != value]
    (sentence,) = re.findall(r"the manual's defaults but for ([^:,;.]*)[:,;.]", " ".join(PAGE.split()))
    assert re.findall(r"`([^`]+)`", sentence) == other


def test_the_page_says_of_which_options_the_manual_states_no_default() -> None:
    """Those of a component's log are empty: the ones for all components count."""
    unstated = [option for option, value in STATED.items() if value is None and ours(option) != {}]
    sentence = " ".join(PAGE.split()).partition("The manual names no default of ")[2].partition(";")[0]
    assert re.findall(r"`([^`]+)`", sentence) == unstated


BOTH = ("metax-gpu-extensions", "metax-operator")


@pytest.mark.parametrize(
    ("option", "words", "charts"),
    [
        pytest.param("pullPolicy", {"IfNotPresent", "Always", "Never"}, BOTH, id="pull-policy"),
        pytest.param("log.level", {"debug", "info", "warning", "error", "fatal"}, BOTH, id="log-level"),
        pytest.param("log.format", {"json", "text"}, BOTH, id="log-format"),
        pytest.param(
            "driver.deployPolicy", {"IfNotPresent", "Always", "Never"}, BOTH[1:], id="deploy-policy"
        ),
    ],
)
def test_the_charts_take_every_word_of_the_manual(
    option: str, words: set[str], charts: tuple[str, ...]
) -> None:
    for chart in charts:
        schema = json.loads((ROOT / "deploy/charts" / chart / "values.schema.json").read_text("utf-8"))
        for key in option.split("."):
            schema = schema["properties"][key]
        assert words <= set(schema["enum"]), chart
