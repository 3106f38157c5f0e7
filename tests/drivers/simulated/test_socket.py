"""Cards in one process, users in others."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.simulated import BackgroundServer, make_driver
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.opening import open_driver
from tangram.drivers.simulated.client import SimulatedClient, connected
from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.drivers.simulated.server import Server
from tangram.drivers.simulated.serving import LONGEST_LINE, answer
from tangram.units.memory import from_gib, from_mib

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "cards"
CLI = (sys.executable, "-c", "import sys; from tangram.cli.simulate_cards import app; sys.exit(app())")


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not `tmp_path`: the name of a socket has little room.
    with TemporaryDirectory(prefix="tg-") as name:
        yield Path(name)


@pytest.fixture
def served(folder: Path) -> Iterator[SimulatedDriver]:
    driver = make_driver({"server": "c500-8-two-groups", "sliced": True}, {"product": "S4000"})
    server = BackgroundServer(driver, folder / "s")
    server.start()
    yield driver
    server.close()
    assert not (folder / "s").exists()


@pytest.fixture
def client(served: SimulatedDriver, folder: Path) -> Iterator[SimulatedClient]:
    assert served
    client = connected(folder / "s")
    yield client
    client.close()


def test_a_client_sees_what_the_driver_sees(served: SimulatedDriver, client: SimulatedClient) -> None:
    devices = served.devices()
    assert client.devices() == devices
    assert client.links(devices) == served.links(devices)
    assert client.health() == served.health()
    assert client.figures(devices[0].uuid) == served.figures(devices[0].uuid)
    made = client.create_slice(devices[0].uuid, memory=from_gib(4), cores=10, name="web")
    assert served.slices(devices[0].uuid) == (made,) == client.slices(devices[0].uuid)
    assert client.room(devices[0].uuid) == served.room(devices[0].uuid)


def test_a_refusal_arrives_with_its_kind(client: SimulatedClient) -> None:
    card = client.devices()[0].uuid
    with pytest.raises(DriverError, match="multiple of 128 MiB") as caught:
        client.create_slice(card, memory=from_mib(100), cores=1)
    assert caught.value.kind is Kind.INVALID


def test_what_one_client_did_another_sees_after_the_first_is_gone(
    client: SimulatedClient, folder: Path
) -> None:
    card = client.devices()[0].uuid
    client.create_slice(card, memory=from_gib(4), cores=10)
    client.close()
    other = open_driver(f"simulated:unix:{folder / 's'}")
    assert [each.id for each in other.slices(card)] == [0]
    other.close()


def test_a_client_that_breaks_off_in_the_middle_leaves_no_trace(
    served: SimulatedDriver, client: SimulatedClient, folder: Path
) -> None:
    for half in (b'{"call": "set_virtual', b"vanish GPU-0", b""):
        with socket.socket(socket.AF_UNIX) as broken:
            broken.connect(str(folder / "s"))
            broken.sendall(half)
    assert client.devices() == served.devices()


def test_many_clients_take_every_slot_once(served: SimulatedDriver, folder: Path) -> None:
    card = served.devices()[0].uuid
    made: list[int] = []
    refused: list[Kind] = []

    def work() -> None:
        client = connected(folder / "s")
        for _ in range(4):
            try:
                made.append(client.create_slice(card, memory=from_gib(1), cores=1).id)
            except DriverError as error:
                refused.append(error.kind)
        client.close()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(made) == list(range(16))
    assert refused == [Kind.FULL] * 8


def test_a_client_finds_a_server_that_was_restarted(folder: Path) -> None:
    client = connected(folder / "s")
    for _ in range(2):
        server = BackgroundServer(make_driver({"product": "C500"}), folder / "s")
        server.start()
        assert len(client.devices()) == 1
        server.close()
        client.close()
        with pytest.raises(DriverError, match="simulate-cards serve") as caught:
            client.devices()
        assert caught.value.kind is Kind.NO_DRIVER


def test_a_simulation_that_does_not_answer_is_stuck(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(folder / "s"))
        silent.listen()
        client = connected(folder / "s", limit=0.05)
        with pytest.raises(DriverError, match="health has not returned") as caught:
            client.health()
        client.close()
    assert caught.value.kind is Kind.STUCK


def test_a_server_that_talks_nonsense_is_a_failure_and_no_traceback(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "s"))
        listening.listen()

        def babble() -> None:
            for line in (b"hello\n", b'{"ok":true,"answer":[{"uuid":3}]}\n', b'{"ok":false}\n', b"[]\n"):
                peer, _ = listening.accept()
                peer.recv(1000)
                peer.sendall(line)
                peer.close()

        thread = threading.Thread(target=babble)
        thread.start()
        for _ in range(4):
            client = connected(folder / "s")
            with pytest.raises(DriverError) as caught:
                client.devices()
            client.close()
            assert caught.value.kind is Kind.FAILED
        thread.join(10)


def test_the_socket_of_a_dead_server_is_taken_over_and_that_of_a_live_one_is_not(folder: Path) -> None:
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(folder / "s"))
    dead.close()
    server = BackgroundServer(make_driver({"product": "C500"}), folder / "s")
    server.start()
    with pytest.raises(DriverError, match=r"served at .* already"):
        Server(make_driver({"product": "C500"}), folder / "s")
    server.close()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("f" * 120, "more than 100 bytes", id="long"),
        pytest.param("file", "is no socket", id="a-file"),
        pytest.param("none/s", "cannot be listened on", id="no-folder"),
    ],
)
def test_a_path_that_cannot_be_served_is_refused(folder: Path, name: str, says: str) -> None:
    (folder / "file").write_text("")
    with pytest.raises(DriverError, match=says):
        Server(make_driver({"product": "C500"}), folder / name)


def test_a_line_without_end_is_answered_and_hung_up_on(client: SimulatedClient, folder: Path) -> None:
    assert client.devices()
    with socket.socket(socket.AF_UNIX) as broken:
        broken.connect(str(folder / "s"))
        broken.sendall(b"x" * (LONGEST_LINE + 1))
        assert b"send less" in broken.recv(1000)


_ODD = make_driver({"product": "C500", "sliced": True}, {"product": "S4000"})


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_every_line_is_answered_with_one_line_of_json(line: bytes) -> None:
    reply = answer(_ODD, line)
    assert b"\n" not in reply
    assert json.loads(reply)["ok"] in (True, False)


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from(
        ["devices", "links", "create_slice", "resize_slice", "set_policy", "remove_slice", "room", "x"]
    ),
    st.dictionaries(
        st.sampled_from(["uuid", "memory", "cores", "name", "slice_id", "policy", "devices", "count"]),
        _JUNK | st.just(_ODD.devices()[0].uuid),
    ),
)
def test_every_call_with_odd_arguments_is_answered(call: str, arguments: dict[str, object]) -> None:
    reply = json.loads(answer(_ODD, json.dumps({"call": call, **arguments}).encode()))
    assert reply["ok"] or len(reply["error"]["sentence"]) > 10


# ------------------------------------------------------------------------------------------- the command itself


def control(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CLI, "ctl", "--socket", str(path), *words], capture_output=True, check=False, text=True, timeout=60
    )


def test_the_commands_serve_change_and_clean_up(folder: Path) -> None:
    server = subprocess.Popen(
        [
            *CLI,
            "serve",
            "--cards",
            str(EXAMPLES / "c500-8-two-groups.yaml"),
            "--socket",
            str(folder / "s"),
            "--device-root",
            str(folder / "dev"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        assert "8 simulated cards are served" in server.stdout.readline()
        assert (folder / "dev/mxcd").exists()
        failed = control(folder / "s", "vanish", "GPU-3")
        assert json.loads(failed.stdout) == {"card": "GPU-3", "faults": ["vanish"]}
        assert not (folder / "dev/dri/card4").exists()
        bad = control(folder / "s", "frobnicate")
        assert (bad.returncode, bad.stdout) == (1, "")
        assert "the commands are: list" in bad.stderr
    finally:
        server.terminate()
        _, errors = server.communicate(timeout=30)
    assert server.returncode == 0
    assert os.geteuid() != 0 or errors == ""
    assert list(folder.iterdir()) == []


def test_a_control_command_without_a_simulation_is_one_sentence(folder: Path) -> None:
    answer = control(folder / "nothing", "list")
    assert answer.returncode == 1
    assert "start one with tangram simulate-cards serve" in answer.stderr
    assert "Traceback" not in answer.stderr
