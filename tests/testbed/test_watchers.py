"""Clusters wait for each other where the kernel would otherwise end a kubelet for want of inotify instances."""

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from testbed import cgroups, janitor, watchers
from testbed.places import ClusterFolder


def test_a_cluster_that_fits_need_not_wait_and_one_that_does_not_is_told_the_numbers() -> None:
    assert watchers.shortage(18, 100, 10, 128) == ""
    sentence = watchers.shortage(19, 100, 10, 128)
    assert "needs 19" in sentence
    assert "hold 100, other programs 10" in sentence
    assert "allows 128" in sentence


def test_instances_of_this_users_other_programs_are_counted() -> None:
    everyone = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    all_but_us = [pid for pid in everyone if pid != os.getpid()]
    before = watchers.held_outside(all_but_us)
    instances = [_new_instance() for _ in range(3)]
    try:
        assert watchers.held_outside(all_but_us) == before + 3
        assert watchers.held_outside([*all_but_us, os.getpid()]) < before + 3
    finally:
        for instance in instances:
            os.close(instance)


def _new_instance() -> int:
    opened = ctypes.CDLL(None).inotify_init()
    assert opened >= 0
    return opened


def test_what_clusters_were_promised_counts_before_they_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_branches(*_names: str) -> tuple[Path, ...]:
        return ()

    def nothing_outside(_inside: Iterable[int]) -> int:
        return 0

    monkeypatch.setattr(cgroups, "branches", no_branches)
    monkeypatch.setattr(watchers, "held_outside", nothing_outside)
    (tmp_path / "limit").write_text("40\n", encoding="ascii")
    monkeypatch.setattr(watchers, "LIMIT", tmp_path / "limit")
    root = tmp_path / "clusters"
    locks = [janitor.claim(ClusterFolder(root, name), watchers.needed(1)) for name in ("one", "two", "three")]
    try:
        assert [isinstance(lock, str) for lock in locks] == [False, False, True]
        assert not (root / "three").exists()
        plain = janitor.claim(ClusterFolder(root, "plain"), 0)
        locks.append(plain)
        assert not isinstance(plain, str), "a box without a kubelet needs none"
    finally:
        for lock in locks:
            if not isinstance(lock, str):
                lock.close()
