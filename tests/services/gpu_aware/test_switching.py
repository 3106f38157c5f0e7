"""Which files switching gpu-aware on and off would change, and to what."""

from pathlib import Path

import pytest

from builders.scheduler_manifests import BARE, KUBEADM, MANIFESTS
from tangram.services.gpu_aware.manifest_lines import enabled
from tangram.services.gpu_aware.switching import Files, Plan, switch_off, switch_on
from tangram.wire.errors import WireError
from tangram.wire.kubescheduler_config import configuration_text

MANIFEST = Path("/etc/kubernetes/manifests/kube-scheduler.yaml")
CONFIG = "/etc/metax/extender.yaml"
BACKUP = Path("/etc/metax/kube-scheduler.yaml.before-gpu-aware")
URL = "http://10.96.0.20:8080"
OURS = configuration_text(URL, "/etc/kubernetes/scheduler.conf")


def files(
    manifest: str = KUBEADM, config: str | None = None, backup: str | None = None, path: str = CONFIG
) -> Files:
    return Files(manifest_path=MANIFEST, manifest=manifest, config_path=path, config=config, backup=backup)


def contents(plan: Plan) -> dict[str, str | None]:
    return {str(change.path): change.after for change in (*plan.shown, *plan.unshown)}


def test_on_writes_the_configuration_the_manifest_and_a_copy_of_it_elsewhere() -> None:
    plan = switch_on(files(), URL)
    assert contents(plan) == {CONFIG: OURS, str(MANIFEST): enabled(KUBEADM, CONFIG), str(BACKUP): KUBEADM}
    assert [change.path for change in plan.shown] == [Path(CONFIG), MANIFEST]


def test_the_kubeconfig_is_the_one_the_manifest_names() -> None:
    moved = KUBEADM.replace("--kubeconfig=/etc/kubernetes/scheduler.conf", "--kubeconfig=/srv/scheduler.conf")
    assert contents(switch_on(files(moved), URL))[CONFIG] == configuration_text(URL, "/srv/scheduler.conf")


def test_on_again_is_nothing_to_do_with_or_without_the_address() -> None:
    done = files(enabled(KUBEADM, CONFIG), OURS, KUBEADM)
    assert switch_on(done, URL) == switch_on(done, None) == Plan()


def test_a_new_address_changes_the_configuration_alone() -> None:
    plan = switch_on(files(enabled(KUBEADM, CONFIG), OURS), "http://127.0.0.1:8080/")
    assert contents(plan) == {CONFIG: OURS.replace(URL, "http://127.0.0.1:8080")}


def test_the_manuals_own_version_is_brought_up_to_date() -> None:
    assert contents(switch_on(files(config=OURS.replace("/v1", "/v1beta3")), None))[CONFIG] == OURS


def test_a_configuration_that_was_tuned_is_left_as_it_is() -> None:
    tuned = OURS.replace("500", "1000")
    assert CONFIG not in contents(switch_on(files(config=tuned), URL))
    with pytest.raises(WireError, match="says more than we wrote"):
        switch_on(files(config=tuned), "http://elsewhere:8080")


@pytest.mark.parametrize(
    ("given", "url", "sentence"),
    [
        pytest.param(files(), None, "no address of gpu-aware is given", id="no address"),
        pytest.param(files(), "gpu-aware:8080", "it is http:// or https://", id="no URL"),
        pytest.param(files(config="kind: ConfigMap"), URL, "it is somebody's own", id="another file"),
        pytest.param(files(config="a: ["), URL, "cannot be read", id="no YAML"),
        pytest.param(files(path="extender.yaml"), URL, "it is a whole path", id="a relative path"),
        pytest.param(files(path="/etc/a b.yaml"), URL, "it is a whole path", id="a blank in the path"),
        pytest.param(
            files(path=str(MANIFEST.with_name("extender.yaml"))),
            URL,
            "takes every file for a pod",
            id="beside it",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_written(
    given: Files, url: str | None, sentence: str
) -> None:
    with pytest.raises(WireError) as refused:
        switch_on(given, url)
    assert sentence in refused.value.sentence


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in MANIFESTS.items()])
def test_off_gives_back_the_very_bytes_from_before(text: str) -> None:
    on = contents(switch_on(files(text), URL))
    plan = switch_off(files(on[str(MANIFEST)] or "", on[CONFIG], on[str(BACKUP)]))
    assert contents(plan) == {str(MANIFEST): text, str(BACKUP): None}
    assert plan.remark == f"{CONFIG} stays; nothing uses it any more"


def test_off_takes_out_our_lines_alone_when_somebody_changed_the_manifest_since() -> None:
    since = enabled(KUBEADM, CONFIG).replace("v1.30.4", "v1.31.0")
    plan = switch_off(files(since, OURS, KUBEADM))
    assert contents(plan) == {str(MANIFEST): KUBEADM.replace("v1.30.4", "v1.31.0")}


def test_a_copy_that_is_no_manifest_is_not_trusted() -> None:
    plan = switch_off(files(enabled(KUBEADM, CONFIG), OURS, "nonsense"))
    assert contents(plan) == {str(MANIFEST): KUBEADM}


def test_off_where_it_is_not_on_is_nothing_to_do() -> None:
    assert switch_off(files()) == Plan()


def test_the_patch_shows_every_line_and_a_missing_end() -> None:
    patch = switch_on(files(BARE), URL).patch()
    assert patch.startswith(f"--- /dev/null\n+++ {CONFIG}\n@@ -0,0 +1,12 @@\n+apiVersion: ")
    assert f"--- {MANIFEST}\n+++ {MANIFEST}\n" in patch
    assert "-    - --leader-elect=false\n\\ No newline at end of file\n" in patch
    assert "+    - --config=/etc/metax/extender.yaml\n" in patch
