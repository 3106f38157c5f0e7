"""From a word on the command line to simulated cards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.opening import open_driver
from tangram.drivers.simulated.opening import describe

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples" / "cards").glob("*.yaml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_opens_and_tells_everything(example: Path) -> None:
    driver = open_driver(f"simulated:{example}")
    devices = driver.devices()
    assert devices
    assert driver.links(devices).known
    assert set(driver.health()) >= {device.uuid for device in devices}
    for device in devices:
        assert driver.figures(device.uuid).memory_total
    driver.close()


def test_a_name_given_from_outside_wins(tmp_path: Path) -> None:
    file = tmp_path / "cards.yaml"
    file.write_text("tangram: cards/v1\nname: written\ncards: [{product: C500}]\n")
    assert describe(file).name == "written"
    assert describe(file, "given").name == "given"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"", "it is None", id="empty"),
        pytest.param(b"a: [", "line 2: while parsing a flow node did not find", id="no-yaml"),
        pytest.param(b"\xff\xfe\xff", "cards.yaml", id="no-text"),
        pytest.param(
            b"tangram: cards/v1\ncards: []\ncards: []\n", "line 3: key 'cards' stands twice", id="twice"
        ),
        pytest.param(b"[" * 3000, "nested more than 20 deep", id="deep"),
        pytest.param(b"a: &x [*x]", "cards.yaml", id="recursive"),
        pytest.param(b"? [a]\n: b", "cards.yaml", id="odd-key"),
        pytest.param(b"a: " + b"9" * 5000, "cards.yaml", id="long-number"),
        pytest.param(b"#" * (1 << 20) + b"#", "more than 1 MiB", id="huge"),
        pytest.param(
            b"a: !!python/object:os.system {}", "could not determine a constructor", id="python-tag"
        ),
        pytest.param(b"a: b\n---\nc: d", "line 2: .*another document", id="two-documents"),
        pytest.param(b"<<: {tangram: cards/v1}\ncards: []\n<<: {name: x}", "stands twice", id="merge"),
    ],
)
def test_a_file_that_is_no_description_is_one_sentence(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "cards.yaml"
    file.write_bytes(content)
    with pytest.raises(DriverError, match=says) as caught:
        open_driver(f"simulated:{file}")
    assert caught.value.kind is Kind.INVALID
    assert str(file) in caught.value.sentence


@pytest.mark.parametrize("name", ["nothing.yaml", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(DriverError, match="cannot be read"):
        open_driver(f"simulated:{tmp_path}/{name}")
