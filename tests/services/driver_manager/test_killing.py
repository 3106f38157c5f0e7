"""Killed at any single operation, and started again: it always comes to the same end, and no pod loses its driver.

Each story is told once to count its operations (of the disk, the kernel and the API server, before and after each, and
half way through every file), and then once for each of them with the process ended there.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from builders.driver_hosts import BDFS, Host
from tangram.services.driver_manager.facts import Wish
from tangram.wire.operator import names
from tangram.wire.operator.node_states import Phase, Source
from tangram.wire.operator.policies import DeployPolicy

Story = Callable[[Host], None]
"""What was there before, told without a kill."""


def bare(host: Host) -> None:
    host.stage("2.32.0")


def with_old(host: Host) -> None:
    host.stage("2.31.0")
    host.run()
    host.stage("2.32.0")
    host.turn("2.32.0")
    host.start()


def with_old_and_bad_new(host: Host) -> None:
    host.stage("2.32.0")
    host.run()
    host.stage("2.33.0")
    host.kernel.broken.add("2.33.0")
    host.turn("2.33.0")
    host.start()


def with_hosts_own(host: Host) -> None:
    host.policy = DeployPolicy.ALWAYS
    host.kernel.host = host.kernel.loaded_version = "2.31.0"
    own = host.root / "opt/mxdriver"
    own.mkdir()
    (own / "theirs").write_text("theirs")
    host.stage("2.32.0")
    host.turn("2.32.0")


def with_a_split_to_do(host: Host) -> None:
    host.stage("2.32.0")
    host.run()
    host.wish = Wish(functions=2)


def after_a_restart_of_the_machine(host: Host) -> None:
    host.stage("2.32.0")
    host.wish = Wish(functions=2)
    host.run()
    host.boot = "boot-2"
    host.kernel.reboot()
    host.start()


def back_to_the_hosts_own(host: Host) -> None:
    with_hosts_own(host)
    host.run()
    host.policy = DeployPolicy.NEVER
    host.image = ""
    host.turn("2.31.0")
    host.start()


def runs(version: str, *, functions: int = 0) -> Callable[[Host], None]:
    def check(host: Host) -> None:
        assert host.state.running == version
        assert host.labels[names.DRIVER_READY] == "true"
        assert host.kernel.loaded_version == version
        assert host.kernel.split == dict.fromkeys(BDFS, functions)
        assert host.doer.journal.change is None
        half = [name for name in host.opt() if name.startswith(".")]
        assert half == []

    return check


def runs_ours(version: str, *, functions: int = 0) -> Callable[[Host], None]:
    def check(host: Host) -> None:
        runs(version, functions=functions)(host)
        assert host.state.source is Source.CLOUD
        opt = host.opt()
        assert opt["mxdriver"] == f"-> mxdriver-{version}"
        assert (host.root / f"opt/mxdriver-{version}/bin/mx-smi").read_text().endswith(f"{version}\n")

    return check


def runs_theirs(host: Host) -> None:
    runs("2.31.0")(host)
    assert host.state.source is Source.HOST
    assert (host.root / "opt/mxdriver/theirs").read_text() == "theirs"
    assert "mxdriver.host" not in host.opt()


def failed_and_runs(version: str) -> Callable[[Host], None]:
    def check(host: Host) -> None:
        runs_ours(version)(host)
        assert (host.state.phase, host.state.code) == (Phase.FAILED, "verify-failed")

    return check


STORIES = [
    pytest.param(bare, runs_ours("2.32.0"), id="install"),
    pytest.param(with_old, runs_ours("2.32.0"), id="replace"),
    pytest.param(with_old_and_bad_new, failed_and_runs("2.32.0"), id="roll-back"),
    pytest.param(with_hosts_own, runs_ours("2.32.0"), id="replace-the-hosts"),
    pytest.param(back_to_the_hosts_own, runs_theirs, id="back-to-the-hosts"),
    pytest.param(with_a_split_to_do, runs_ours("2.32.0", functions=2), id="split"),
    pytest.param(after_a_restart_of_the_machine, runs_ours("2.32.0", functions=2), id="boot"),
]


def told(folder: Path, begin: Story, kill_at: int) -> Host:
    host = Host(folder)
    begin(host)
    host.fuse.passed, host.fuse.left = 0, kill_at
    host.run_through(200)
    return host


@pytest.mark.parametrize(("begin", "check"), STORIES)
def test_killed_anywhere_it_comes_to_the_same_end(
    tmp_path: Path, begin: Story, check: Callable[[Host], None]
) -> None:
    whole = told(tmp_path / "whole", begin, 0)
    check(whole)
    operations = whole.fuse.passed
    assert operations > 20
    for at in range(1, operations + 1):
        host = told(tmp_path / str(at), begin, at)
        check(host)
        assert host.kernel.violations == []


REMOVALS = [
    pytest.param(with_hosts_own, "2.31.0", id="the-hosts-own-comes-back"),
    pytest.param(with_a_split_to_do, None, id="bare"),
]


@pytest.mark.parametrize(("begin", "left"), REMOVALS)
def test_killed_anywhere_while_removing_nothing_of_ours_is_left(
    tmp_path: Path, begin: Story, left: str | None
) -> None:
    def begun(host: Host) -> None:
        begin(host)
        host.run()
        host.remove()

    operations = told(tmp_path / "whole", begun, 0).fuse.passed
    for at in range(operations + 1):
        host = told(tmp_path / str(at), begun, at)
        assert host.state.phase is Phase.REMOVED
        assert host.kernel.loaded_version == left
        assert host.opt() == ({} if left is None else {"mxdriver": ""})
        assert not (host.root / "var/lib/metax/driver-manager").exists()
        assert host.kernel.violations == []


def test_killed_anywhere_with_pods_on_the_cards_nothing_is_pulled(tmp_path: Path) -> None:
    def begun(host: Host) -> None:
        with_old(host)
        host.kernel.holders = ("ml/train-0",)

    operations = told(tmp_path / "whole", begun, 0).fuse.passed
    for at in range(1, operations + 1):
        host = told(tmp_path / str(at), begun, at)
        assert (host.state.running, host.state.code) == ("2.31.0", "cards-busy")
        assert host.kernel.violations == []
        host.kernel.holders = ()
        host.run(200)
        runs_ours("2.32.0")(host)
