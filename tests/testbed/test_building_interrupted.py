"""Builds that are killed, interrupted or run twice at once never leave half a component, nor a process."""

import os
import select
import signal
from pathlib import Path

import pytest

from builders.fake_go import FakeGo, prepared

READY = "Ready in "


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    return prepared(tmp_path, monkeypatch)


def programs(go: FakeGo) -> list[str]:
    return [path.rsplit("/", 1)[1] for path in go.built()]


def ended(process: int) -> None:
    """Waits for the end of a process that is not our child."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return
    with os.fdopen(handle):
        assert select.select([handle], [], [], 30)[0], "the process is still there"


def test_a_build_killed_outright_leaves_no_go_and_no_half_component(go: FakeGo) -> None:
    go.pauses("alpha")
    first = go.elsewhere()
    compiler = go.await_pause("alpha")
    first.kill()
    first.communicate(timeout=30)
    ended(compiler)
    assert "lock" not in programs(go)
    assert all(".unfinished" in path for path in go.built()), "nothing has its final name"

    go.pauses_no_more("alpha")
    second = go.elsewhere()
    said, complaints = second.communicate(timeout=30)
    assert (second.returncode, complaints) == (0, "")
    assert READY in said
    assert programs(go) == ["one", "two", "beta-3.6"]
    assert not (go.cache / "components" / ".unfinished").exists()


def test_an_interrupted_build_ends_go_and_tidies_up(go: FakeGo) -> None:
    go.pauses("beta")
    build = go.elsewhere()
    compiler = go.await_pause("beta")
    build.send_signal(signal.SIGTERM)
    _, complaints = build.communicate(timeout=30)
    assert build.returncode == 130
    assert (
        complaints == "Stopped. Components that were finished are kept; the same call goes on from there.\n"
    )
    ended(compiler)
    assert programs(go) == ["one", "two"]
    assert not (go.cache / "components" / ".unfinished").exists()


def test_two_builds_at_once_build_once(go: FakeGo) -> None:
    go.pauses("beta")
    first = go.elsewhere()
    go.await_pause("beta")
    second = go.elsewhere()
    assert second.stdout is not None
    assert second.stdout.readline() == (
        f"Another build is filling {go.cache / 'components'}: waiting for it.\n"
    )
    go.release("beta")
    for build in (first, second):
        said, complaints = build.communicate(timeout=30)
        assert (build.returncode, complaints) == (0, "")
        assert READY in said
    assert go.calls() == ["alpha", "beta"]


def test_a_failed_build_exits_with_1_and_the_sentence_alone(go: FakeGo) -> None:
    go.fails("alpha", "alpha.go:1: syntax error")
    build = go.elsewhere()
    _, complaints = build.communicate(timeout=30)
    assert build.returncode == 1
    assert complaints.startswith("Building alpha 1.2.3 failed ")
    assert complaints.endswith("alpha.go:1: syntax error\n")
    assert not (go.cache / "components" / ".unfinished").exists()
