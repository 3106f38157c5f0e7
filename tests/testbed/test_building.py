"""The build: what it makes, when it makes it again, and what it says when it cannot. No real Go takes part."""

import io
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.fake_go import FakeGo, prepared
from testbed import binaries, building, debian
from testbed.errors import BedError


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    return prepared(tmp_path, monkeypatch)


def build(go: FakeGo) -> binaries.Binaries:
    return building.build(io.StringIO(), go.components())


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(BedError) as caught:
        act()
    return str(caught.value)


def test_every_program_is_found_under_the_name_it_is_known_by(go: FakeGo) -> None:
    built = build(go)
    assert built.path("one").read_text("utf-8") == "example.org/alpha/cmd/one\n"
    assert built.path("two").parent == built.path("one").parent == built.folders["alpha"]
    assert built.path("beta-3.6").read_text("utf-8") == "example.org/beta/server\n"
    assert (built.version("alpha"), built.version("beta")) == ("v1.2.3", "v3.6.16")
    assert binaries.find_binaries() == built


def test_go_is_told_to_change_nothing_and_to_fetch_no_other_go(
    go: FakeGo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOS", "plan9")
    monkeypatch.setenv("GOFLAGS", "-mod=mod")
    build(go)
    command, environment = go.command("beta"), go.environment("beta")
    assert command.startswith(f"{go.sources / 'beta'} build ")
    assert {"-mod=readonly", "-buildvcs=false", "-trimpath", "-tags=odd"} <= set(command.split())
    assert environment["GOTOOLCHAIN"] == "local"
    assert environment["CGO_ENABLED"] == "0"
    assert environment["GOWORK"] == "off"
    assert environment["GOFLAGS"] == "-mod=mod", "the caller's own settings reach Go"
    assert "GOOS" not in environment


def test_a_second_build_starts_no_go_at_all(go: FakeGo) -> None:
    first = build(go)
    go.forget_calls()
    assert build(go) == first
    assert binaries.find_binaries() == first
    assert go.calls() == []


@pytest.mark.parametrize("name", ["go.sum", "go.mod"])
def test_a_changed_file_rebuilds_that_component_and_no_other(go: FakeGo, name: str) -> None:
    before = build(go)
    go.forget_calls()
    changed = go.sources / "alpha" / name
    changed.write_text(changed.read_text("utf-8") + "\n", "utf-8")
    after = build(go)
    assert go.calls() == ["alpha"]
    assert after.folders["beta"] == before.folders["beta"]
    assert before.path("one").exists(), "another checkout may still want it"
    assert before.digest != after.digest


def test_a_newer_go_rebuilds_everything(go: FakeGo) -> None:
    before = binaries.cache_key()
    build(go)
    go.forget_calls()
    go.install("go1.27.0")
    build(go)
    assert go.calls() == ["alpha", "beta"]
    assert binaries.cache_key() != before


def test_the_cache_key_is_known_before_anything_is_built(go: FakeGo) -> None:
    assert binaries.cache_key() == build(go).digest


def test_a_program_somebody_removed_is_built_again(go: FakeGo) -> None:
    build(go).path("two").unlink()
    assert "lacks alpha" in refusal(binaries.find_binaries)
    go.forget_calls()
    assert build(go).path("two").exists()
    assert go.calls() == ["alpha"]


def test_versions_nobody_used_for_a_month_make_room(go: FakeGo) -> None:
    old = build(go).folders["alpha"]
    recent = old.with_name("recent")
    recent.mkdir()
    month_ago = time.time() - 31 * 24 * 3600
    (go.sources / "alpha" / "go.sum").write_text("", "utf-8")
    os.utime(old, (month_ago, month_ago))
    build(go)
    assert not old.exists()
    assert recent.exists()


def test_using_a_build_keeps_it_from_making_room(go: FakeGo) -> None:
    folder = build(go).folders["alpha"]
    os.utime(folder, (0, 0))
    build(go)
    assert time.time() - folder.stat().st_mtime < 3600


def test_a_failure_names_the_component_the_last_words_of_go_and_where_the_rest_is(go: FakeGo) -> None:
    go.fails("beta", "\n".join(f"line {number}" for number in range(40)))
    sentence = refusal(lambda: build(go))
    log = go.cache / "logs" / "beta.log"
    assert re.match(r"Building beta 3\.6\.16 failed after \d+ s; ", sentence)
    assert str(log) in sentence
    assert sentence.endswith("line 38\nline 39")
    assert "line 10\n" not in sentence
    assert "line 0\n" in log.read_text("utf-8")


def test_after_a_failure_the_finished_components_stay_and_the_rest_goes_on(go: FakeGo) -> None:
    go.fails("beta", "no")
    refusal(lambda: build(go))
    assert [path.rsplit("/", 1)[1] for path in go.built()] == ["one", "two"]
    go.works_again("beta")
    go.forget_calls()
    build(go)
    assert go.calls() == ["beta"]


def test_a_program_that_go_did_not_make_is_not_passed_off_as_built(go: FakeGo) -> None:
    go.forgets("two")
    assert "should have made one, two and made one" in refusal(lambda: build(go))
    assert go.built() == []


def test_what_is_not_built_is_answered_with_the_command_that_builds_it(go: FakeGo) -> None:
    assert refusal(binaries.find_binaries) == (
        f"The test bed is not built (looked in {go.cache / 'components'}): run `make testbed` first."
    )


def test_a_cache_from_elsewhere_serves_a_machine_without_go(go: FakeGo) -> None:
    built = build(go)
    go.program.unlink()
    assert binaries.find_binaries().path("one") == built.path("one")


def test_a_wrong_name_is_answered_with_the_right_ones(go: FakeGo) -> None:
    built = build(go)
    assert "beta-3.6, one, two" in refusal(lambda: built.path("kubelte"))
    assert "alpha, beta" in refusal(lambda: built.version("gamma"))


def test_a_cache_that_cannot_be_written_is_named(go: FakeGo) -> None:
    go.cache.write_text("a file where the folder should be", "utf-8")
    sentence = refusal(lambda: build(go))
    assert str(go.cache) in sentence
    assert "TANGRAM_TESTBED_CACHE" in sentence


def test_a_disk_that_refuses_is_reported_in_a_sentence(go: FakeGo) -> None:
    go.cache.mkdir()
    (go.cache / "logs").touch()
    assert re.fullmatch(
        rf"Building into {go.cache}/components failed: .*logs.*\.", refusal(lambda: build(go))
    )


def test_needs_of_the_machine_are_seen_to_even_where_everything_is_built(
    go: FakeGo, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(go)
    monkeypatch.setattr(debian, "TO_RUN", (debian.Need("`ip`", ("iproute2",), lambda: False),))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "The test bed needs `ip`" in refusal(lambda: build(go))
