"""Whose process it is, from files alone."""

from pathlib import Path

import pytest

from tangram.drivers.owners import Owner, owners_of

UID = "0f3b2a1c-1111-2222-3333-444455556666"


@pytest.mark.parametrize(
    "cgroup",
    [
        pytest.param(f"0::/kubepods/burstable/pod{UID}/abc\n", id="cgroupfs"),
        pytest.param(
            f"0::/kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice/cri-containerd-abc.scope\n",
            id="systemd",
        ),
    ],
)
def test_a_pods_process_is_known_by_its_control_group(tmp_path: Path, cgroup: str) -> None:
    (tmp_path / f"var/log/pods/ai_train-0_{UID}").mkdir(parents=True)
    (tmp_path / "proc/41").mkdir(parents=True)
    (tmp_path / "proc/41/cgroup").write_text(cgroup)
    found = owners_of([41, 42], tmp_path)
    assert found == {41: Owner("ai", "train-0")}
    assert str(found[41]) == "ai/train-0"


def test_a_process_of_nobody_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "var/log/pods/odd").mkdir(parents=True)
    (tmp_path / "proc/41").mkdir(parents=True)
    (tmp_path / "proc/41/cgroup").write_text("0::/user.slice\n")
    assert owners_of([41], tmp_path) == {}
    assert owners_of([41], tmp_path / "nowhere") == {}
    assert owners_of([], tmp_path) == {}
