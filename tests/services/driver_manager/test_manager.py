"""A driver from its payload to a node: installed, replaced, rolled back, split and removed, over a fake kernel."""

from pathlib import Path

import pytest

from builders.driver_hosts import BDFS, KERNEL, FusedDisk, Host
from tangram.drivers.modules.protocol import LoaderCode, LoaderError
from tangram.services.driver_manager.facts import Wish
from tangram.services.driver_manager.problems import ProblemError
from tangram.wire.operator import names
from tangram.wire.operator.node_states import Phase, Source
from tangram.wire.operator.policies import DeployPolicy


def installed(host: Host, version: str = "2.32.0") -> Host:
    host.stage(version)
    host.run()
    assert host.state.running == version
    return host


def test_a_bare_node_gets_the_driver_of_its_payload_without_a_turn(host: Host) -> None:
    host.stage("2.32.0")
    host.run()
    assert host.state.phase is Phase.READY
    assert (host.state.running, host.state.wanted, host.state.source) == ("2.32.0", "2.32.0", Source.CLOUD)
    assert host.labels[names.DRIVER_READY] == "true"
    assert host.labels[names.DRIVER_MODE] == "cloud"
    assert host.opt() == {"mxdriver": "-> mxdriver-2.32.0", "mxdriver-2.32.0": ""}
    folder = host.root / "opt/mxdriver"
    assert (folder / "bin/mx-smi").read_text().endswith("2.32.0\n")
    assert (folder / "lib/libmxsml.so").read_text() == "2.32.0"
    assert (folder / f"modules/{KERNEL}/metax.ko").is_file()
    assert host.doer.journal.change is None


def test_nothing_begins_before_the_runtime_is_ready(host: Host) -> None:
    host.labels.clear()
    host.stage("2.32.0")
    host.run()
    assert (host.state.phase, host.state.code) == (Phase.WAITING, "runtime-not-ready")
    assert host.kernel.calls == []
    host.labels[names.RUNTIME_READY] = "true"
    host.run()
    assert host.state.running == "2.32.0"


def test_a_restart_of_the_process_changes_nothing(host: Host) -> None:
    installed(host)
    calls = list(host.kernel.calls)
    host.start()
    host.run()
    assert host.kernel.calls == calls
    assert host.state.phase is Phase.READY


def test_after_a_restart_of_the_machine_our_driver_is_loaded_again_even_without_its_payload(
    host: Host,
) -> None:
    installed(host)
    host.image = "reg/gone:1"
    host.reboot()
    host.run()
    assert (host.state.running, host.state.source, host.state.phase) == ("2.32.0", Source.CLOUD, Phase.READY)


def test_a_working_driver_is_replaced_only_in_its_turn(host: Host) -> None:
    installed(host)
    host.stage("2.33.0")
    host.start()
    host.run()
    assert host.state.needs_turn
    assert (host.state.running, host.state.wanted, host.state.phase) == ("2.32.0", "2.33.0", Phase.WAITING)
    assert host.labels[names.DRIVER_READY] == "true"
    host.turn("2.33.0")
    host.run()
    assert (host.state.running, host.state.phase, host.state.needs_turn) == ("2.33.0", Phase.READY, False)
    assert host.opt() == {"mxdriver": "-> mxdriver-2.33.0", "mxdriver-2.33.0": ""}
    assert host.kernel.calls == ["load 2.32.0", "unload 2.32.0", "load 2.33.0"]


def test_the_node_is_not_ready_while_its_driver_changes(host: Host) -> None:
    installed(host)
    host.stage("2.33.0")
    host.turn("2.33.0")
    host.start()
    host.states.clear()
    host.run()
    phases = [state.phase for state in host.states]
    assert Phase.WORKING in phases
    assert phases[-1] is Phase.READY


def test_pods_that_hold_cards_are_waited_for_and_named(host: Host) -> None:
    installed(host)
    host.stage("2.33.0")
    host.turn("2.33.0")
    host.kernel.holders = ("ml/train-0",)
    host.start()
    host.run()
    assert (host.state.code, host.state.running) == ("cards-busy", "2.32.0")
    assert "ml/train-0" in host.pending
    assert host.labels[names.DRIVER_READY] == "true"
    host.kernel.holders = ()
    host.run()
    assert host.state.running == "2.33.0"
    assert host.pending == ""
    assert host.kernel.violations == []


def test_a_kubelet_that_does_not_answer_counts_as_busy(host: Host) -> None:
    installed(host)
    host.stage("2.33.0")
    host.turn("2.33.0")
    host.busy_trouble = "the kubelet did not say"
    host.start()
    host.run()
    assert (host.state.code, host.state.running) == ("cards-unknown", "2.32.0")


def test_a_driver_that_fails_its_verification_is_rolled_back_and_not_tried_again(host: Host) -> None:
    installed(host)
    host.stage("2.33.0")
    host.kernel.broken.add("2.33.0")
    host.turn("2.33.0")
    host.start()
    host.run(200)
    assert (host.state.phase, host.state.running, host.state.wanted) == (Phase.FAILED, "2.32.0", "2.33.0")
    assert host.state.code == "verify-failed"
    assert f"is not well with card {BDFS[1]} (it did not start)" in host.state.why
    assert host.labels[names.DRIVER_READY] == "true"
    assert host.opt()["mxdriver"] == "-> mxdriver-2.32.0"
    tried = list(host.kernel.calls)
    host.run()
    host.start()
    host.run()
    host.no_turn()
    host.run()
    assert host.kernel.calls == tried
    assert host.state.needs_turn
    host.kernel.broken.clear()
    host.turn("2.33.0")
    host.run()
    assert (host.state.phase, host.state.running) == (Phase.READY, "2.33.0")


def test_a_driver_that_the_kernel_refuses_is_rolled_back_with_the_kernels_words(host: Host) -> None:
    installed(host)
    host.stage("2.33.0")
    host.kernel.errors["load 2.33.0"] = LoaderError(LoaderCode.WRONG_KERNEL, "Invalid module format")
    host.turn("2.33.0")
    host.start()
    host.run()
    assert (host.state.phase, host.state.code, host.state.running) == (Phase.FAILED, "wrong-kernel", "2.32.0")
    assert "Invalid module format" in host.state.why


def test_a_module_that_stays_busy_is_left_and_said(host: Host) -> None:
    installed(host)
    host.stage("2.33.0")
    host.kernel.errors["unload"] = LoaderError(LoaderCode.BUSY, "in use")
    host.turn("2.33.0")
    host.start()
    host.run(400)
    assert (host.state.phase, host.state.code, host.state.running) == (Phase.FAILED, "module-busy", "2.32.0")
    assert host.labels[names.DRIVER_READY] == "true"


def test_a_gpu_device_that_does_not_leave_ends_the_change(host: Host) -> None:
    installed(host)
    host.stage("2.33.0")
    host.stays = True
    host.turn("2.33.0")
    host.start()
    host.run(800)
    assert (host.state.phase, host.state.code, host.state.running) == (
        Phase.FAILED,
        "gpu-device-stays",
        "2.32.0",
    )


def test_a_roll_back_that_fails_is_tried_until_it_works(host: Host) -> None:
    installed(host)
    host.stage("2.33.0")
    host.kernel.errors["load"] = LoaderError(LoaderCode.FAILED, "the kernel is sulking")
    host.turn("2.33.0")
    host.start()
    host.run(30)
    stuck = [state for state in host.states if state.code == "rollback-failed"]
    assert {(state.phase, state.running) for state in stuck} == {(Phase.FAILED, "")}
    assert "driver 2.32.0 does not come back: the kernel is sulking" in stuck[0].why
    assert host.labels[names.DRIVER_READY] == "false"
    host.kernel.errors.clear()
    host.now += 30
    host.run()
    assert (host.state.phase, host.state.running) == (Phase.FAILED, "2.32.0")
    assert host.labels[names.DRIVER_READY] == "true"


def test_pods_that_came_in_the_last_moment_stop_the_change(host: Host) -> None:
    installed(host)
    host.stage("2.33.0")
    host.turn("2.33.0")
    host.start()
    while host.doer.journal.change is None:
        host.run(1)
    host.kernel.holders = ("ml/late",)
    host.run()
    assert (host.state.running, host.state.code) == ("2.32.0", "cards-busy")
    assert host.kernel.calls == ["load 2.32.0"]
    assert host.labels[names.DRIVER_READY] == "true"


def test_a_driver_that_somebody_loads_meanwhile_is_not_pulled(host: Host) -> None:
    host.stage("2.32.0")
    host.start()
    while host.doer.journal.change is None:
        host.run(1)
    host.kernel.loaded_version = host.kernel.host = "2.30.0"
    host.run()
    assert host.kernel.calls == []
    assert (host.state.running, host.state.source) == ("2.30.0", Source.HOST)


def test_a_payload_of_the_same_version_with_other_content_is_said_and_left(host: Host) -> None:
    installed(host)
    host.stage("2.32.0", requires=("drm", "ttm"))
    host.start()
    host.run()
    assert (host.state.phase, host.state.code) == (Phase.READY, "payload-changed")
    assert host.kernel.calls == ["load 2.32.0"]


# ---- a driver of the host's own


def test_a_host_with_a_driver_is_left_alone(host: Host) -> None:
    host.kernel.host = host.kernel.loaded_version = "2.31.0"
    host.stage("2.32.0")
    host.run()
    assert (host.state.phase, host.state.running, host.state.source) == (Phase.READY, "2.31.0", Source.HOST)
    assert host.labels[names.DRIVER_MODE] == "native"
    assert host.state.wanted == ""
    assert host.opt() == {}


def test_a_driver_of_the_host_that_is_not_loaded_is_loaded(host: Host) -> None:
    host.policy = DeployPolicy.NEVER
    host.kernel.host = "2.31.0"
    host.run()
    assert (host.state.running, host.state.source) == ("2.31.0", Source.HOST)


def test_never_on_a_bare_host_says_what_to_do(host: Host) -> None:
    host.policy = DeployPolicy.NEVER
    host.run()
    assert (host.state.phase, host.state.code) == (Phase.FAILED, "no-driver")


def with_own_folder(host: Host) -> Host:
    host.policy = DeployPolicy.ALWAYS
    host.kernel.host = host.kernel.loaded_version = "2.31.0"
    own = host.root / "opt/mxdriver"
    own.mkdir()
    (own / "theirs").write_text("theirs")
    host.stage("2.32.0")
    return host


def test_what_the_host_has_is_moved_aside_and_comes_back_with_its_driver(host: Host) -> None:
    with_own_folder(host)
    host.turn("2.32.0")
    host.run()
    assert host.state.running == "2.32.0"
    assert host.opt() == {"mxdriver": "-> mxdriver-2.32.0", "mxdriver-2.32.0": "", "mxdriver.host": ""}
    host.policy = DeployPolicy.NEVER
    host.image = ""
    host.start()
    host.run()
    assert (host.state.wanted, host.state.needs_turn) == ("2.31.0", True)
    host.turn("2.31.0")
    host.run()
    assert (host.state.running, host.state.source) == ("2.31.0", Source.HOST)
    assert (host.root / "opt/mxdriver/theirs").read_text() == "theirs"
    assert "mxdriver.host" not in host.opt()


def test_a_replacement_that_fails_leaves_the_host_as_it_was(host: Host) -> None:
    with_own_folder(host)
    host.kernel.broken.add("2.32.0")
    host.turn("2.32.0")
    host.run(200)
    assert (host.state.phase, host.state.running, host.state.source) == (Phase.FAILED, "2.31.0", Source.HOST)
    assert (host.root / "opt/mxdriver/theirs").read_text() == "theirs"


def test_a_driver_that_could_not_be_brought_back_is_not_replaced(host: Host) -> None:
    host.policy = DeployPolicy.ALWAYS
    host.kernel.loaded_version = "2.31.0"
    host.stage("2.32.0")
    host.turn("2.32.0")
    host.run()
    assert (host.state.code, host.state.running) == ("host-driver-unreloadable", "2.31.0")


# ---- bad payloads


@pytest.mark.parametrize(
    ("more", "code", "sentence"),
    [
        pytest.param(
            {"corrupt": True}, "payload-corrupt", "another checksum than its description", id="corrupt"
        ),
        pytest.param(
            {"architecture": "arm64"}, "wrong-architecture", "is for arm64, and this machine is", id="machine"
        ),
    ],
)
def test_a_payload_that_cannot_be_used_is_a_sentence_and_leaves_nothing(
    host: Host, more: dict[str, object], code: str, sentence: str
) -> None:
    host.stage("2.32.0", **more)  # pyright: ignore[reportArgumentType] - a row names what it is about
    host.run()
    assert (host.state.phase, host.state.code) == (Phase.FAILED, code)
    assert sentence in host.state.why
    assert host.opt() == {}
    assert host.kernel.calls == []


def test_a_payload_for_another_kernel_names_both(host: Host) -> None:
    host.stage("2.32.0")
    host.kernel.release = "6.1.0"
    host.run()
    assert host.state.code == "wrong-kernel"
    assert f"has modules for {KERNEL}, and this node runs 6.1.0" in host.state.why


def test_a_payload_that_does_not_fit_is_said_though_the_driver_before_it_goes_on(host: Host) -> None:
    installed(host)
    host.stage("2.33.0", architecture="arm64")
    host.start()
    host.run()
    assert (host.state.phase, host.state.running, host.state.code) == (
        Phase.READY,
        "2.32.0",
        "wrong-architecture",
    )
    assert "2.33.0 is for arm64" in host.state.why
    assert host.kernel.calls == ["load 2.32.0"]


def test_a_full_disk_is_said_with_numbers_and_tried_again(host: Host) -> None:
    host.stage("2.32.0")
    host.disk.full = True
    host.run()
    assert host.state.code == "disk-full"
    assert "needs 65 MiB in /opt and 1 MiB are free" in host.state.why
    assert host.opt() == {}
    host.disk.full = False
    host.now += 60
    host.run()
    assert host.state.running == "2.32.0"


@pytest.mark.parametrize("how", ["a file", "a circle", "a device"])
def test_a_folder_of_drivers_that_is_none_is_said_and_waited_for(host: Host, how: str) -> None:
    host.stage("2.32.0")
    host.start()
    place = host.root / "opt"
    place.rmdir()
    if how == "a file":
        place.write_text("")
    else:
        place.symlink_to("opt" if how == "a circle" else "/dev/null")
    host.run()
    assert "the files of this host cannot be looked at" in host.manager.unready
    assert [event.reason for event in host.events] == ["DriverFailed"]
    with pytest.raises(ProblemError, match="cannot be looked at"):
        host.start()
    place.unlink()
    place.mkdir()
    host.run()
    assert host.state.running == "2.32.0"


def test_an_old_driver_that_somebody_uses_stays_without_haste(host: Host) -> None:
    installed(host)
    host.stage("2.33.0")
    host.start()
    host.users["mxdriver-2.32.0"] = "process 7 (exporter)"
    host.turn("2.33.0")
    host.run()
    assert host.state.running == "2.33.0"
    assert "mxdriver-2.32.0" in host.opt()
    before = host.now
    host.run()
    assert host.now - before > 60
    host.users.clear()
    host.run()
    assert "mxdriver-2.32.0" not in host.opt()


def test_a_payload_that_is_not_there_is_waited_for(host: Host) -> None:
    host.image = "reg/cloud/driver-image:2.32.0"
    host.run()
    assert (host.state.phase, host.state.code) == (Phase.WAITING, "payload-absent")
    host.stage("2.32.0")
    host.run()
    assert host.state.running == "2.32.0"


def test_signed_payloads_only_where_a_key_is_given(host: Host) -> None:
    host.stage("2.32.0")
    host.signed_by = lambda _text, signature: signature == b"good"
    host.run()
    assert host.state.code == "signature-missing"
    folder = next(host.payloads.iterdir())
    (folder / "payload.sig").write_bytes(b"bad")
    host.run()
    assert host.state.code == "signature-bad"
    (folder / "payload.sig").write_bytes(b"good")
    host.run()
    assert host.state.running == "2.32.0"


# ---- virtual functions and parameters


def test_cards_are_split_without_a_turn_and_joined_again(host: Host) -> None:
    installed(host)
    host.wish = Wish(functions=2)
    host.run()
    assert host.kernel.split == dict.fromkeys(BDFS, 2)
    assert (host.state.functions, host.state.phase) == (2, Phase.READY)
    assert host.allocatable["metax-tech.com/gpu"] == "4"
    host.wish = Wish()
    host.run()
    assert host.state.functions == 0


def test_a_split_waits_for_busy_cards_and_says_so(host: Host) -> None:
    installed(host)
    host.kernel.holders = ("ml/a", "ml/b")
    host.wish = Wish(functions=4)
    host.run()
    assert (
        "a split into 4 virtual functions waits for pods that hold cards of this node: ml/a, ml/b"
        in host.pending
    )
    assert host.labels[names.DRIVER_READY] == "true"
    host.kernel.holders = ()
    host.run()
    assert host.state.functions == 4
    assert host.kernel.violations == []


def test_more_functions_than_a_card_has_are_refused_with_what_it_offers(host: Host) -> None:
    installed(host)
    host.kernel.most = 4
    host.wish = Wish(functions=8)
    host.run()
    assert (host.state.phase, host.state.code) == (Phase.READY, "functions-unsupported")
    assert f"card {BDFS[0]} offers 4 at most" in host.state.why
    assert host.state.functions == 0


def test_a_split_that_fails_half_way_is_taken_back(host: Host) -> None:
    installed(host)
    host.wish = Wish(functions=2)
    host.kernel.errors[f"split {BDFS[1]}"] = LoaderError(LoaderCode.NO_FUNCTIONS, "no SR-IOV in the BIOS")
    host.run()
    assert (host.state.phase, host.state.code) == (Phase.READY, "functions-unsupported")
    assert host.kernel.split == dict.fromkeys(BDFS, 0)
    tried = list(host.kernel.calls)
    host.run()
    assert host.kernel.calls == tried


def test_a_split_is_made_in_the_end_whichever_write_of_it_found_no_room(tmp_path: Path) -> None:
    for number in range(1, 16):
        host = installed(Host(tmp_path / str(number)))
        host.disk.refuse_at(number)
        host.wish = Wish(functions=2)
        host.run(120)
        host.now += 100
        host.run(120)
        assert (host.state.code, host.state.functions) == ("", 2), number


def test_functions_are_set_again_after_a_restart_of_the_machine_and_with_a_new_driver(host: Host) -> None:
    installed(host)
    host.wish = Wish(functions=2)
    host.run()
    host.reboot()
    host.run()
    assert host.state.functions == 2
    host.stage("2.33.0")
    host.turn("2.33.0")
    host.start()
    host.run()
    assert (host.state.running, host.state.functions) == ("2.33.0", 2)


def test_what_was_last_legible_counts_over_a_restart(host: Host) -> None:
    installed(host)
    host.wish = Wish(functions=2)
    host.run()
    host.wish = None
    host.start()
    host.run()
    assert host.state.functions == 2


def test_new_parameters_reload_the_driver_when_the_cards_are_idle(host: Host) -> None:
    installed(host)
    host.kernel.holders = ("ml/a",)
    host.wish = Wish(parameters={"gpu_model": "1"})
    host.run()
    assert host.kernel.parameters == {}
    assert "a change of the module's parameters waits" in host.pending
    host.kernel.holders = ()
    host.run()
    assert host.kernel.parameters == {"gpu_model": "1"}
    assert host.state.phase is Phase.READY


def test_parameters_that_the_module_refuses_are_taken_back(host: Host) -> None:
    installed(host)
    host.kernel.errors["parameter x"] = LoaderError(LoaderCode.REFUSED, "no parameter 'x'")
    host.wish = Wish(parameters={"x": "1"})
    host.run()
    assert host.kernel.parameters == {}
    assert (host.state.phase, host.state.code) == (Phase.READY, "module-refused")


def test_parameters_for_a_driver_of_the_host_are_said_to_be_its_own(host: Host) -> None:
    host.kernel.host = host.kernel.loaded_version = "2.31.0"
    host.stage("2.32.0")
    host.wish = Wish(parameters={"x": "1"})
    host.run()
    assert host.state.code == "parameters-of-host"


# ---- removal


def test_removal_leaves_the_host_as_it_was(host: Host) -> None:
    before = {str(path.relative_to(host.root)) for path in host.root.rglob("*")}
    image = host.stage("2.32.0")
    staged = {str(path.relative_to(host.root)) for path in host.payloads.rglob("*")}
    host.run()
    host.wish = Wish(functions=2)
    host.run()
    host.remove()
    host.run()
    assert host.state.phase is Phase.REMOVED
    assert host.kernel.loaded_version is None
    assert names.DRIVER_READY not in host.labels
    assert {str(path.relative_to(host.root)) for path in host.root.rglob("*")} == before | staged
    assert image


def test_what_failed_before_a_removal_does_not_stand_in_its_way(host: Host) -> None:
    installed(host)
    host.stage("2.33.0")
    host.disk.full = True
    host.start()
    host.run(3)
    assert host.state.code == "disk-full"
    host.remove()
    host.run()
    assert (host.state.phase, host.state.why, host.kernel.loaded_version) == (Phase.REMOVED, "", None)


def test_removal_brings_the_hosts_own_driver_and_folder_back(host: Host) -> None:
    with_own_folder(host)
    host.turn("2.32.0")
    host.run()
    host.remove()
    host.run()
    assert host.state.phase is Phase.REMOVED
    assert host.kernel.loaded_version == "2.31.0"
    assert host.opt() == {"mxdriver": ""}


def test_removal_leaves_what_somebody_put_in_the_place_of_our_link_and_says_what_did_not_come_back(
    host: Host,
) -> None:
    with_own_folder(host)
    host.turn("2.32.0")
    host.run()
    (host.root / "opt/mxdriver").unlink()
    (host.root / "opt/mxdriver").mkdir()
    host.remove()
    host.run()
    assert host.state.phase is Phase.REMOVED
    assert (
        "/opt/mxdriver.host stays, because somebody else has put something to /opt/mxdriver" in host.state.why
    )
    assert host.opt() == {"mxdriver": "", "mxdriver.host": ""}


def test_removal_from_a_disk_that_refuses_is_said_and_tried_again(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(host)

    def refuses(_disk: object, path: str) -> None:
        raise OSError(30, "Read-only file system", path)

    with monkeypatch.context() as patched:
        patched.setattr(FusedDisk, "remove", refuses)
        host.remove()
        host.run()
        assert (host.state.phase, host.state.code) == (Phase.WORKING, "removing")
        assert "Read-only file system" in host.state.why
    host.run()
    assert (host.state.phase, host.opt()) == (Phase.REMOVED, {})


def test_removal_leaves_a_driver_in_use_loaded_and_says_who_uses_it(host: Host) -> None:
    installed(host)
    host.kernel.holders = ("ml/train-0",)
    host.users["mxdriver-2.32.0"] = "process 7 (python)"
    host.remove()
    host.run()
    assert host.state.phase is Phase.REMOVED
    assert "ml/train-0" in host.state.why
    assert "/opt/mxdriver-2.32.0 stays, process 7 (python) uses it" in host.state.why
    assert host.kernel.loaded_version == "2.32.0"
    assert host.kernel.violations == []


def test_an_unreadable_journal_is_set_aside_and_what_runs_is_known_by_its_link(host: Host) -> None:
    installed(host)
    journal = host.root / "var/lib/metax/driver-manager/journal.json"
    journal.write_text("{half")
    host.start()
    assert "could not be read" in host.recovered.remark
    host.run()
    assert (host.state.running, host.state.source) == ("2.32.0", Source.CLOUD)
    assert host.kernel.calls == ["load 2.32.0"]
    assert (Path(journal.parent) / "journal.unreadable").read_text() == "{half"


def test_without_its_journal_the_hosts_folder_still_comes_back(host: Host) -> None:
    with_own_folder(host)
    (host.root / "opt/mxdriver").rename(host.root / "opt/mxdriver.host")
    host.kernel.reboot()
    host.start()
    assert host.recovered.journal.aside
    host.remove()
    host.run()
    assert host.opt() == {"mxdriver": ""}


def test_a_node_that_the_api_server_does_not_have_is_said(host: Host) -> None:
    host.start()
    host.forget()
    host.run()
    assert host.manager.unready == "the API server has not told about node gpu-1 yet, or it has no such node"
