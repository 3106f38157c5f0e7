"""docs/driver-manager.md says what the code does: every policy, every code, and examples that can be read."""

import re
from pathlib import Path

import tangram
from tangram.cli.app import app
from tangram.daemon.driver_config_texts import read_driver_config_texts
from tangram.daemon.yaml_text import parse_document
from tangram.drivers.modules.protocol import LoaderCode
from tangram.units.ids import NodeName
from tangram.wire import loose
from tangram.wire.operator import payloads
from tangram.wire.operator.policies import ALSO, MEANINGS

PAGE = (Path(tangram.__file__).parents[2] / "docs/driver-manager.md").read_text()
SOURCE = Path(tangram.__file__).parent / "services/driver_manager"


def rows(heading: str) -> list[list[str]]:
    part = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_the_table_of_policies_is_what_they_mean() -> None:
    table = {row[0].strip("`"): row[1] for row in rows("Whose driver a node runs")}
    assert table == {str(policy): meaning for policy, meaning in MEANINGS.items()}
    assert all(f"`{other}`" in PAGE for other in ALSO)


def test_every_code_has_its_row_and_no_row_is_about_nothing() -> None:
    listed = {code for row in rows("Codes") for code in re.findall(r"`([a-z-]+)`", row[0])}
    text = "".join(file.read_text() for file in SOURCE.glob("*.py"))
    text += Path(payloads.__file__).read_text()
    written = set(
        re.findall(r"(?:Problem|ProblemError|WireError|Undo|waits)\(\s*\"([a-z]+(?:-[a-z]+)*)\"", text)
    )
    written |= set(re.findall(r"(?:_state|works)\([^()]*?\"([a-z]+(?:-[a-z]+)*)\"", text))
    assert {code for code in written if "-" in code} - {"in-use-unknown"} <= listed
    known = written | set(LoaderCode) | {"left", "removing", "installing", "changing", "turn"}
    assert {code for code in listed if f'"{code}"' not in text} <= known


def test_the_examples_of_driver_config_are_read() -> None:
    for text in re.findall(r"```yaml\n(.*?data:\n.*?)```", PAGE, re.DOTALL):
        data = loose.text_map(loose.members(parse_document(text)).get("data"))
        config = read_driver_config_texts(data, NodeName("foo"))
        assert config.functions_for(NodeName("foo")) == 2


def test_the_command_exists() -> None:
    assert "driver-manager" in set(app)
