"""Runtime metax on a host: registered once, healed, undone to the byte; what fails leaves the host as it was."""

import json
from pathlib import Path

import pytest

from builders.runtime_hosts import COMMENTED, CONTAINERD, FACTS, V3, RuntimeHost
from tangram.services.container_runtime.keeping import Facts
from tangram.services.container_runtime.programs import Running
from tangram.services.container_runtime.settings import CdiMode, EngineKind
from tangram.wire.operator import names
from tangram.wire.operator.node_states import Phase, RuntimeState
from tangram.wire.runtime_config.containerd import with_metax
from tangram.wire.runtime_config.wishes import Wish

DOCKER = Facts(kubelet="v1.23.1", runtime="docker://20.10.7")
CRIO = Facts(kubelet="v1.34.1", runtime="cri-o://1.34.0")
CRIO_FILE = "/etc/crio/crio.conf.d/99-metax.conf"


def test_the_runtime_is_registered_once_and_nothing_is_done_again(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    outcome = one.keeper.keep(FACTS)
    assert outcome.state == RuntimeState(phase=Phase.READY, engine="containerd", version="2.3.7", way="cdi")
    assert outcome.changed == "runtime metax is registered with containerd in /etc/containerd/config.toml"
    assert one.text().startswith(COMMENTED)
    assert one.restarter.restarts == 1
    assert one.restarter.in_force == one.text().encode()
    assert json.loads(one.text(f"{names.RUNTIME_JOURNAL}/runtime.json")) == {
        "runtime": "runc",
        "folders": ["/opt/maca", "/opt/mxdriver"],
    }
    program = one.root / names.RUNTIME_PROGRAM.lstrip("/")
    assert (program.read_bytes(), program.stat().st_mode & 0o777) == (b"\x7fELF our program", 0o755)
    left = one.files()
    assert one.keeper.keep(FACTS).changed == ""
    assert one.restarter.restarts == 1
    assert one.files() == left


def test_mode_of_the_file_stays(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    (one.root / CONTAINERD.lstrip("/")).chmod(0o640)
    one.keeper.keep(FACTS)
    assert (one.root / CONTAINERD.lstrip("/")).stat().st_mode & 0o777 == 0o640


def test_removing_gives_every_byte_back_and_leaves_no_file(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    one.keeper.keep(FACTS)
    outcome = one.keeper.remove(FACTS)
    assert outcome.state == RuntimeState(phase=Phase.REMOVED, engine="containerd", version="2.3.7")
    assert one.files() == one.before
    assert not (one.root / "var/lib/metax").exists()
    assert one.restarter.in_force == COMMENTED.encode()
    assert one.restarter.restarts == 2
    assert one.keeper.remove(FACTS).state.phase is Phase.REMOVED
    assert one.restarter.restarts == 2


def test_a_file_that_was_not_there_is_made_and_removed_again(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, None)
    assert one.keeper.keep(FACTS).state.phase is Phase.READY
    assert one.text().count("version = 3") == 1
    one.keeper.remove(FACTS)
    assert one.files() == {}
    assert list(one.root.iterdir()) == [one.root / "var"]


def test_containerd_1_gets_the_format_it_reads(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, None)
    state = one.keeper.keep(Facts(kubelet="v1.28.0", runtime="containerd://1.6.9")).state
    assert (state.phase, state.way) == (Phase.READY, "wrapper")
    assert "version = 2" in one.text()
    assert "io.containerd.grpc.v1.cri" in one.text()


def test_a_link_of_the_host_is_followed_as_the_host_would(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, None)
    one.write(COMMENTED, "/opt/etc/real.toml")
    (one.root / "etc/containerd").mkdir(parents=True)
    (one.root / "etc/containerd/config.toml").symlink_to("/opt/etc/real.toml")
    assert one.keeper.keep(FACTS).state.phase is Phase.READY
    assert "metax" in one.text("/opt/etc/real.toml")
    assert (one.root / "etc/containerd/config.toml").is_symlink()
    one.keeper.remove(FACTS)
    assert one.text("/opt/etc/real.toml") == COMMENTED


def test_without_cdi_the_runtime_becomes_the_default(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, cdi_mode=CdiMode.ENV)
    assert one.keeper.keep(FACTS).state.way == "wrapper"
    assert one.config()["default_runtime_name"] == "metax"
    one.settings = type(one.settings)(
        node=one.settings.node, host_root=one.root, program=one.settings.program, cdi_mode=CdiMode.CDI
    )
    assert one.keeper.keep(FACTS).state.way == "cdi"
    assert one.config()["default_runtime_name"] == "runc"
    one.keeper.remove(FACTS)
    assert one.files() == one.before


def test_cdi_is_refused_where_nobody_reads_it(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, cdi_mode=CdiMode.CDI)
    state = one.keeper.keep(Facts(kubelet="v1.28.0", runtime="containerd://1.6.9")).state
    assert (state.phase, state.code) == (Phase.FAILED, "cdi-not-read")
    assert one.files() == one.before


def test_a_runtime_whose_version_is_not_known_just_now_is_taken_for_what_it_was(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    silent = Facts(kubelet="v1.34.1", runtime="containerd://Unknown")
    state = one.keeper.keep(silent).state
    assert (state.phase, state.code) == (Phase.WAITING, "version-unknown")
    assert one.files() == one.before
    one.keeper.keep(FACTS)
    assert one.keeper.keep(silent).state.way == "cdi"
    assert one.restarter.restarts == 1


# ---- what others do to it


def test_our_lines_come_back_when_somebody_takes_them_out(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    one.keeper.keep(FACTS)
    ours = one.text()
    one.write(COMMENTED.replace("SystemdCgroup = true", "SystemdCgroup = false"))
    outcome = one.keeper.keep(FACTS)
    assert outcome.changed
    assert one.restarter.restarts == 2
    assert one.text() == ours.replace("SystemdCgroup = true", "SystemdCgroup = false")
    one.keeper.remove(FACTS)
    assert one.text() == COMMENTED.replace("SystemdCgroup = true", "SystemdCgroup = false")


def test_lines_of_others_that_change_need_no_restart_and_survive_the_removal(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    one.keeper.keep(FACTS)
    one.write(f"{one.text()}[debug]\nlevel = 'info'\n")
    edited = one.text()
    assert one.keeper.keep(FACTS).changed == ""
    assert one.text() == edited
    outcome = one.keeper.remove(FACTS)
    assert "somebody edited since" in outcome.changed
    assert one.text() == f"{COMMENTED}[debug]\nlevel = 'info'\n"


def test_a_file_that_became_unreadable_is_said_and_left_alone(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    one.keeper.keep(FACTS)
    one.write(one.text() + "[oops")
    broken = one.files()
    state = one.keeper.keep(FACTS).state
    assert (state.phase, state.code) == (Phase.FAILED, "config-invalid")
    assert "/etc/containerd/config.toml is no TOML" in state.why
    assert one.keeper.remove(FACTS).state.code == "config-invalid"
    assert {**one.files(), "x": b""}.items() >= broken.items()


def test_a_file_that_containerd_itself_calls_wrong_is_said(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    one.programs.refuses = lambda _words, _text: "containerd: root must not be a number"
    state = one.keeper.keep(FACTS).state
    assert (state.code, "root must not be a number" in state.why) == ("config-invalid", True)


def test_a_runtime_of_that_name_in_an_imported_file_is_named(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, 'imports = ["conf.d/*.toml"]\n' + COMMENTED)
    one.write(f"version = 3\n[{V3}.runtimes.metax]\n", "/etc/containerd/conf.d/vendor.toml")
    state = one.keeper.keep(FACTS).state
    assert (state.code, "conf.d/vendor.toml" in state.why) == ("runtime-taken", True)


def test_an_imported_file_that_undoes_us_is_noticed(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    one.programs.prints = lambda text: text.replace("mx-container-runtime", "other")
    state = one.keeper.keep(FACTS).state
    assert state.code == "config-overridden"
    assert one.text() == COMMENTED


def test_a_program_of_somebody_else_at_our_place_comes_back_in_the_end(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    one.write("theirs", names.RUNTIME_PROGRAM)
    before = one.files()
    one.keeper.keep(FACTS)
    assert one.text(names.RUNTIME_PROGRAM) != "theirs"
    one.keeper.remove(FACTS)
    assert one.files() == before


def test_the_program_stays_while_containers_need_it(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    one.keeper.keep(FACTS)
    bundle = "/run/containerd/io.containerd.runtime.v2.task/k8s.io/abc"
    one.write(names.RUNTIME_PROGRAM, f"{bundle}/runtime")
    state = one.keeper.remove(FACTS).state
    assert (state.phase, state.code) == (Phase.REMOVED, "in-use")
    assert "1 containers" in state.why
    assert one.text() == COMMENTED
    assert one.text(names.RUNTIME_PROGRAM)
    (one.root / bundle.lstrip("/") / "runtime").unlink()
    assert one.keeper.remove(FACTS).state.code == ""
    assert one.files() == one.before


# ---- what fails


def test_a_validator_that_refuses_leaves_everything_as_it_is(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    one.programs.refuses = lambda _words, text: "containerd: no metax here" if "metax" in text else ""
    outcome = one.keeper.keep(FACTS)
    assert (outcome.state.phase, outcome.state.code) == (Phase.FAILED, "validator-refused")
    assert outcome.state.why.endswith("containerd: no metax here")
    assert one.text() == COMMENTED
    assert one.restarter.restarts == 0
    assert not any("tangram" in name for name in one.files())


def test_without_a_validator_our_own_reading_stands_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = RuntimeHost(tmp_path)
    one.programs.there.clear()
    assert one.keeper.keep(FACTS).state.phase is Phase.READY
    assert "our own reading stands alone" in caplog.text


def test_a_restart_that_fails_puts_the_old_file_back_and_is_not_repeated_at_once(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    one.restarter.fails = lambda content: "containerd died" if b"metax" in (content or b"") else ""
    keeper = one.keeper
    state = keeper.keep(FACTS).state
    assert (state.phase, state.code) == (Phase.FAILED, "restart-failed")
    assert state.why == (
        "containerd died; /etc/containerd/config.toml is as it was before, and containerd answers"
    )
    assert one.text() == COMMENTED
    assert one.restarter.in_force == COMMENTED.encode()
    assert one.restarter.restarts == 2
    assert keeper.keep(FACTS).state == state
    assert one.restarter.restarts == 2
    one.restarter.fails = lambda _content: ""
    one.now += 601
    assert keeper.keep(FACTS).state.phase is Phase.READY
    one.keeper.remove(FACTS)
    assert one.files() == one.before


def test_a_file_that_its_engine_writes_anew_is_not_fought_over(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    keeper = one.keeper

    def write_anew(_content: bytes | None) -> str:
        one.write(COMMENTED)
        return ""

    one.restarter.fails = write_anew
    state = keeper.keep(FACTS).state
    assert (state.phase, state.code) == (Phase.FAILED, "config-generated")
    one.now += 10**6
    assert keeper.keep(FACTS).state == state
    assert one.restarter.restarts == 1
    one.keeper.remove(FACTS)
    assert one.files() == one.before


def test_the_files_of_k3s_are_not_touched_but_lines_in_its_template_count(tmp_path: Path) -> None:
    path = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
    one = RuntimeHost(tmp_path, path=path, containerd_config=path)
    assert one.keeper.keep(FACTS).state.code == "config-generated"
    assert one.text() == COMMENTED
    one.write(with_metax(COMMENTED, Wish(program=names.RUNTIME_PROGRAM)))
    assert one.keeper.keep(FACTS).state.phase is Phase.READY
    assert one.restarter.restarts == 0


def test_a_restart_that_is_left_to_people_is_waited_for(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, may_restart=False)
    state = one.keeper.keep(FACTS).state
    assert (state.phase, state.code) == (Phase.WAITING, "restart-needed")
    assert "systemctl restart containerd" in state.why
    one.restarter.by_hand = True
    assert one.keeper.keep(FACTS).state.phase is Phase.READY
    assert one.restarter.restarts == 0


def test_a_removal_whose_restart_is_left_to_people_keeps_the_program_until_then(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, may_restart=False, cdi_mode=CdiMode.ENV)
    one.restarter.by_hand = True
    assert one.keeper.keep(FACTS).state.phase is Phase.READY
    (one.root / f"{names.RUNTIME_JOURNAL}/journal.json".lstrip("/")).unlink()
    one.restarter.by_hand = False
    for _ in range(2):
        state = one.keeper.remove(FACTS).state
        assert (state.phase, state.code) == (Phase.WAITING, "restart-needed")
        assert "has runtime metax no more, which containerd has yet to read" in state.why
        assert (one.text(), names.RUNTIME_PROGRAM.lstrip("/") in one.files()) == (COMMENTED, True)
    one.restarter.by_hand = True
    assert one.keeper.remove(FACTS).state.phase is Phase.REMOVED
    assert one.files() == one.before


def test_people_are_told_what_can_be_seen_to_have_been_done(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, "{}\n", "/etc/docker/daemon.json", may_restart=False)
    assert "run systemctl restart docker on this node" in one.keeper.keep(DOCKER).state.why


def test_an_engine_that_the_node_has_no_more_is_not_waited_for(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, "{}\n", "/etc/docker/daemon.json")
    one.keeper.keep(DOCKER)
    one.write(COMMENTED, CONTAINERD)
    one.restarter.gone = EngineKind.DOCKER
    assert one.keeper.keep(FACTS).state.phase is Phase.READY
    assert one.text() == "{}\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('version = 3\nimports = ["/a\\u0000/b"]\n', id="an import that is no path"),
        pytest.param(f"version = 3\n{'.'.join(['a'] * 4000)} = 1\n", id="nested without end"),
        pytest.param("version = 3\n[[plugins]]\n", id="plugins as a list"),
        pytest.param("\ufeffversion = 3\n", id="a byte order mark"),
    ],
)
def test_odd_files_end_in_a_state_and_come_back_as_they_were(tmp_path: Path, text: str) -> None:
    one = RuntimeHost(tmp_path, text)
    one.programs.there.clear()
    assert one.keeper.keep(FACTS).state.phase in (Phase.READY, Phase.FAILED)
    assert one.keeper.remove(FACTS).state.phase in (Phase.REMOVED, Phase.FAILED)
    assert one.text() == text


def test_a_program_that_the_image_lacks_is_said(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    one.settings.program.unlink()
    assert one.keeper.keep(FACTS).state.code == "program-missing"
    assert one.files() == one.before


def test_several_containerd_are_not_guessed_between(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path)
    one.programs.processes = (Running(program="/usr/bin/containerd", arguments=("--config", "/etc/a.toml")),)
    one.write(COMMENTED, "/etc/a.toml")
    assert one.keeper.keep(FACTS).state.phase is Phase.READY
    assert "metax" in one.text("/etc/a.toml")
    one.programs.processes += (Running(program="/x/containerd", arguments=("--config=/etc/b.toml",)),)
    assert one.keeper.keep(FACTS).state.code == "config-several"


@pytest.mark.parametrize(
    ("facts", "engine", "code"),
    [
        (FACTS, EngineKind.DOCKER, "engine-mismatch"),
        (Facts(runtime="rkt://1.0"), None, "engine-unknown"),
        (Facts(), None, "engine-unknown"),
    ],
)
def test_an_engine_that_cannot_be_told_is_said(
    tmp_path: Path, facts: Facts, engine: EngineKind | None, code: str
) -> None:
    one = RuntimeHost(tmp_path, engine=engine)
    assert one.keeper.keep(facts).state.code == code
    assert one.files() == one.before
    assert one.keeper.remove(Facts()).state.phase is Phase.REMOVED


# ---- the other engines


def test_crio_gets_a_file_of_its_own_and_loses_it_again(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, None, CRIO_FILE)
    one.write("[crio.runtime]\ndefault_runtime = 'crun'\n", "/etc/crio/crio.conf.d/10-crun.conf")
    one.programs.there.add("crio")
    before = one.files()
    state = one.keeper.keep(CRIO).state
    assert (state.phase, state.way) == (Phase.READY, "cdi")
    assert "runtime_path" in one.text()
    assert one.programs.ran[-1][1] == "--config-dir"
    assert json.loads(one.text(f"{names.RUNTIME_JOURNAL}/runtime.json"))["runtime"] == "crun"
    assert one.keeper.keep(CRIO).changed == ""
    one.write("# edited\n")
    assert one.keeper.keep(CRIO).changed
    one.keeper.remove(CRIO)
    assert one.files() == before


def test_a_file_of_crio_that_is_somebody_elses_is_left_alone(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, "[crio.runtime.runtimes.metax]\nruntime_path = '/opt/vendor'\n", CRIO_FILE)
    assert one.keeper.keep(CRIO).state.code == "runtime-taken"
    assert one.keeper.remove(CRIO).state.phase is Phase.REMOVED
    assert one.files() == one.before


def test_the_file_of_crio_goes_without_our_notes_too(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, None, CRIO_FILE)
    one.keeper.keep(CRIO)
    (one.root / f"{names.RUNTIME_JOURNAL}/journal.json".lstrip("/")).unlink()
    assert one.keeper.remove(CRIO).state.phase is Phase.REMOVED
    assert one.files() == one.before


def test_the_program_stays_while_a_container_of_crio_needs_it(tmp_path: Path) -> None:
    one = RuntimeHost(tmp_path, None, CRIO_FILE)
    one.keeper.keep(CRIO)
    one.programs.processes = (
        Running(program="/usr/bin/conmon", arguments=("-c", "1", "-r", names.RUNTIME_PROGRAM)),
    )
    state = one.keeper.remove(CRIO).state
    assert (state.code, "1 containers" in state.why) == ("in-use", True)


def test_docker_gets_the_runtime_as_its_default_and_its_bytes_back(tmp_path: Path) -> None:
    text = '{\n  "log-driver": "json-file",\n  "default-runtime": "runc"\n}\n'
    one = RuntimeHost(tmp_path, text, "/etc/docker/daemon.json")
    one.programs.there = {"dockerd"}
    assert one.keeper.keep(DOCKER).state == RuntimeState(
        phase=Phase.READY, engine="docker", version="20.10.7", way="wrapper"
    )
    assert json.loads(one.text())["default-runtime"] == "metax"
    assert one.keeper.keep(DOCKER).changed == ""
    one.write(one.text().replace("json-file", "local"))
    assert one.keeper.keep(DOCKER).changed == ""
    one.keeper.remove(DOCKER)
    assert one.text() == text.replace("json-file", "local")


# ---- crashes


class Killed(BaseException):
    """The process ends here and now."""


def _steps(monkeypatch: pytest.MonkeyPatch, one: RuntimeHost, die_at: int) -> list[str]:
    """Every touch of the host counts as a step; at one of them the process is killed, before or in the middle."""
    done: list[str] = []

    def step(name: str) -> None:
        done.append(name)
        if len(done) == die_at:
            raise Killed(name)

    host, restarter = type(one.host), type(one.restarter)
    write, remove, restart = host.write, host.remove, restarter.restart

    def written(self: object, path: str, content: bytes, mode: int = 0o644) -> None:
        step(f"write {path}")
        write(self, path, content, mode)  # pyright: ignore[reportArgumentType] - the host's own
        step(f"wrote {path}")

    def removed(self: object, path: str) -> None:
        step(f"remove {path}")
        remove(self, path)  # pyright: ignore[reportArgumentType] - the host's own

    def restarted(self: object, engine: object) -> None:
        step("restart")
        restart(self, engine)  # pyright: ignore[reportArgumentType] - the restarter's own
        step("restarted")

    monkeypatch.setattr(host, "write", written)
    monkeypatch.setattr(host, "remove", removed)
    monkeypatch.setattr(restarter, "restart", restarted)
    return done


def test_killed_between_any_two_steps_it_ends_the_same(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight = RuntimeHost(tmp_path_factory.mktemp("straight"))
    straight.keeper.keep(FACTS)
    for die_at in range(1, 60):
        one = RuntimeHost(tmp_path_factory.mktemp("killed"))
        with monkeypatch.context() as patch:
            _steps(patch, one, die_at)
            try:
                one.keeper.keep(FACTS)
            except Killed:
                over = False
            else:
                over = True
        assert one.text() in (COMMENTED, straight.text())
        assert one.keeper.keep(FACTS).state.phase is Phase.READY
        assert one.files() == straight.files()
        assert one.restarter.in_force == straight.text().encode()
        with monkeypatch.context() as patch:
            _steps(patch, one, die_at)
            try:
                one.keeper.remove(FACTS)
            except Killed:
                over = False
        assert one.text() in (COMMENTED, straight.text())
        assert one.keeper.remove(FACTS).state.phase is Phase.REMOVED
        assert one.files() == one.before
        assert one.restarter.in_force == COMMENTED.encode()
        if over:
            return
    raise AssertionError("there were more steps than anybody thought of")


@pytest.mark.parametrize("file", ["config.toml", "journal.json", "config.before", "mx-container-runtime"])
def test_a_full_disk_leaves_the_host_as_it_was_and_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    one = RuntimeHost(tmp_path)
    replace = Path.replace

    def full(self: Path, target: Path) -> Path:
        if Path(target).name == file:
            raise OSError(28, "No space left on device", str(target))
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        state = one.keeper.keep(FACTS).state
    assert (state.phase, state.code) == (Phase.FAILED, "host-unwritable")
    assert "No space left on device" in state.why
    assert one.text() == COMMENTED
    assert one.restarter.restarts == 0
    assert one.keeper.keep(FACTS).state.phase is Phase.READY
    one.keeper.remove(FACTS)
    assert one.files() == one.before
