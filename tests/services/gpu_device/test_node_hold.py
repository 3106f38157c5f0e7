"""The lock that keeps HAMi and Koordinator off a node without an agent: when it is taken, whose it is, when it ends."""

from pathlib import Path

import pytest

from builders.starts import bound, sliced
from tangram.model.pods import Phase
from tangram.services.gpu_device.node_hold import FILE, NodeHold
from tangram.services.gpu_device.records import BoundPod
from tangram.wire.nodelock import NODE_LOCK, parse_rfc3339

TAKEN = "2026-06-14T15:05:03Z"
NOW = float(parse_rfc3339(TAKEN))
OLDEST = sliced("oldest", (0, 4, 10), at=3, phase=Phase.RUNNING)
PODS = (
    sliced("later", (0, 4, 10), at=9, phase=Phase.RUNNING),
    OLDEST,
    sliced("leaving", (0, 4, 10), at=1, phase=Phase.RUNNING, terminating=True),
    bound("waiting", {}, at=2),
)
MINE = f"{TAKEN},default,oldest"


class Node:
    """What the node says, and an agent that holds it."""

    def __init__(self, folder: Path, *pods: BoundPod) -> None:
        self.annotations: dict[str, str] = {}
        self.serving = True
        self.folder = folder
        self.pods = pods
        self.now = NOW
        self.begin()

    def begin(self) -> None:
        """An agent starts."""
        self.hold = NodeHold(self.folder, lambda: self.pods, lambda: self.serving, lambda: self.now)
        self.hold.load()

    def write(self, *, stopping: bool) -> None:
        for key, value in self.hold.wanted(self.annotations, stopping=stopping).items():
            self.annotations.pop(key, None)
            if value is not None:
                self.annotations[key] = value

    @property
    def lock(self) -> str | None:
        return self.annotations.get(NODE_LOCK)


def test_an_agent_that_ends_locks_its_node_in_the_name_of_a_pod_that_stays(tmp_path: Path) -> None:
    node = Node(tmp_path, *PODS)
    node.write(stopping=False)
    assert node.lock is None
    node.write(stopping=True)
    assert node.lock == MINE
    node.now += 3
    node.write(stopping=True)
    assert node.lock == MINE, "and leaves it as it is"


def test_the_next_agent_gives_it_back_once_the_kubelet_has_everything(tmp_path: Path) -> None:
    node = Node(tmp_path, *PODS)
    node.write(stopping=True)
    node.begin()
    node.serving = False
    node.write(stopping=False)
    assert node.lock == MINE
    node.serving = True
    node.write(stopping=False)
    assert node.lock is None
    node.write(stopping=False)
    assert not (tmp_path / FILE).exists()


def test_a_node_without_a_pod_is_held_off_for_hami_and_names_nobody(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.write(stopping=True)
    assert node.lock == f"{TAKEN},,"


@pytest.mark.parametrize(
    "lock",
    [
        pytest.param(f"{TAKEN},default,coming", id="a pod on its way"),
        pytest.param("not a lock", id="what nobody can read"),
    ],
)
def test_the_lock_of_another_pod_is_waited_for(tmp_path: Path, lock: str) -> None:
    node = Node(tmp_path, *PODS)
    node.annotations[NODE_LOCK] = lock
    node.write(stopping=True)
    assert node.lock == lock
    del node.annotations[NODE_LOCK]
    node.write(stopping=True)
    assert node.lock == MINE


def test_an_abandoned_lock_is_replaced(tmp_path: Path) -> None:
    node = Node(tmp_path, *PODS)
    node.annotations[NODE_LOCK] = "2026-06-14T14:59:00Z,default,forgotten"
    node.write(stopping=True)
    assert node.lock == MINE


def test_a_lock_that_a_peer_took_meanwhile_is_the_peers(tmp_path: Path) -> None:
    node = Node(tmp_path, *PODS)
    node.write(stopping=True)
    node.begin()
    node.annotations[NODE_LOCK] = theirs = f"{TAKEN},default,theirs"
    node.write(stopping=False)
    assert node.lock == theirs
    assert node.hold.lock == ""


@pytest.mark.parametrize("text", ["", "{", '{"v":2,"lock":"x"}', "[]"])
def test_a_note_that_cannot_be_read_leaves_the_lock_to_its_end(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    node = Node(tmp_path, *PODS)
    node.annotations[NODE_LOCK] = MINE
    node.write(stopping=False)
    assert node.lock == MINE
