"""Machines mount cgroups in different ways; a box must find every hierarchy and know how to mount it again."""

from pathlib import Path

import pytest

from testbed import cgroups
from testbed.cgroups import Hierarchy

ONE_FOR_ALL = (
    "31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
)
ONE_EACH = (
    "33 32 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "34 32 0:29 / /sys/fs/cgroup/systemd rw shared:10 - cgroup cgroup rw,xattr,release_agent=/x/y,name=systemd\n"
    "35 32 0:30 / /proc rw - proc proc rw\n"
    "36 32 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)


def test_a_machine_with_one_hierarchy_has_one() -> None:
    assert cgroups.hierarchies(ONE_FOR_ALL) == (Hierarchy(Path("/sys/fs/cgroup"), "cgroup2", ""),)


def test_controllers_mounted_together_stay_together_and_a_named_hierarchy_keeps_its_name() -> None:
    assert cgroups.hierarchies(ONE_EACH) == (
        Hierarchy(Path("/sys/fs/cgroup/cpu,cpuacct"), "cgroup", "cpu,cpuacct"),
        Hierarchy(Path("/sys/fs/cgroup/systemd"), "cgroup", "none,xattr,name=systemd"),
        Hierarchy(Path("/sys/fs/cgroup/unified"), "cgroup2", ""),
    )


def test_a_machine_that_hands_no_controllers_down_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory\n", encoding="ascii")
    monkeypatch.setattr(cgroups, "hierarchies", lambda: (Hierarchy(tmp_path, "cgroup2", ""),))
    with pytest.raises(cgroups.BedError, match=r"cpuset, pids to nobody: run 'echo \+cpuset \+pids > "):
        cgroups.refuse_unusable()


def test_a_new_cpuset_gets_the_processors_of_the_nearest_parent_that_has_some(tmp_path: Path) -> None:
    for folder, cpus in ((tmp_path, "0-1"), (tmp_path / "a", ""), (tmp_path / "a" / "b", "")):
        folder.mkdir(exist_ok=True)
        (folder / "cpuset.cpus").write_text(cpus, encoding="ascii")
    cgroups.make(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b" / "cpuset.cpus").read_text(encoding="ascii") == "0-1"


def test_a_branch_another_cluster_still_uses_stays(tmp_path: Path) -> None:
    (tmp_path / "branch" / "other").mkdir(parents=True)
    cgroups.remove_if_empty(tmp_path / "branch")
    assert (tmp_path / "branch").exists()
    (tmp_path / "branch" / "other").rmdir()
    cgroups.remove_if_empty(tmp_path / "branch")
    assert not (tmp_path / "branch").exists()
    cgroups.remove_if_empty(tmp_path / "branch")
