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
VERSION = "1.30"
OURS = configuration_text(URL, "/etc/kubernetes/scheduler.conf", (1, 30))


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
    assert contents(switch_on(files(moved), URL))[CONFIG] == configuration_text(
        URL, "/srv/scheduler.conf", (1, 30)
    )


def test_on_again_is_nothing_to_do_with_or_without_the_address() -> None:
    done = files(enabled(KUBEADM, CONFIG), OURS, KUBEADM)
    assert switch_on(done, URL) == switch_on(done, None) == Plan()


def test_a_new_address_changes_the_configuration_alone() -> None:
    plan = switch_on(files(enabled(KUBEADM, CONFIG), OURS), "http://127.0.0.1:8080/")
    assert contents(plan) == {CONFIG: OURS.replace(URL, "http://127.0.0.1:8080")}
    assert "only when it starts" in plan.remark


def versioned(text: str, version: str) -> str:
    return text.replace("kubescheduler.config.k8s.io/v1\n", f"kubescheduler.config.k8s.io/{version}\n")


def scheduler(tag: str) -> str:
    """Kubeadm's manifest with another version."""
    return KUBEADM.replace("v1.30.4", tag)


@pytest.mark.parametrize(
    ("tag", "version"),
    [("v1.22.17", "v1beta2"), ("v1.23.17", "v1beta3"), ("v1.24.17", "v1beta3"), ("v1.25.0", "v1")],
)
def test_the_configuration_has_the_version_that_this_kube_scheduler_reads(tag: str, version: str) -> None:
    assert contents(switch_on(files(scheduler(tag)), URL))[CONFIG] == versioned(OURS, version)


@pytest.mark.parametrize(
    ("tag", "before", "after"),
    [
        pytest.param("v1.30.4", "v1beta3", "v1", id="the manual's, gone since"),
        pytest.param("v1.26.1", "v1beta3", "v1", id="the manual's, still read"),
        pytest.param("v1.24.17", "v1", "v1beta3", id="ours, not read yet"),
        pytest.param("v1.24.17", "v1beta2", "v1beta3", id="an older one"),
    ],
)
def test_a_configuration_as_we_would_write_it_gets_the_version_for_this_kube_scheduler(
    tag: str, before: str, after: str
) -> None:
    plan = switch_on(files(scheduler(tag), config=versioned(OURS, before)), None)
    assert contents(plan)[CONFIG] == versioned(OURS, after)


def test_the_version_a_person_names_counts_before_the_tag() -> None:
    assert contents(switch_on(files(), URL, "v1.24.1"))[CONFIG] == versioned(OURS, "v1beta3")


@pytest.mark.parametrize(
    ("manifest", "version", "code"),
    [
        pytest.param(BARE, None, "scheduler-version-unknown", id="a digest alone"),
        pytest.param(scheduler("latest"), None, "scheduler-version-unknown", id="latest"),
        pytest.param(KUBEADM.replace(":v1.30.4", ""), None, "scheduler-version-unknown", id="no tag"),
        pytest.param(scheduler("v1.21.14"), None, "scheduler-too-old", id="too old"),
        pytest.param(BARE, "1.21", "scheduler-too-old", id="named and too old"),
        pytest.param(BARE, "newest", "scheduler-version", id="named and no version"),
    ],
)
def test_a_kube_scheduler_whose_version_cannot_be_known_or_used_is_left_alone(
    manifest: str, version: str | None, code: str
) -> None:
    with pytest.raises(WireError) as refused:
        switch_on(files(manifest), URL, version)
    assert refused.value.code == code


def test_a_configuration_that_was_tuned_is_left_as_it_is() -> None:
    tuned = OURS.replace("500", "1000")
    assert CONFIG not in contents(switch_on(files(config=tuned), URL))
    still_read = files(scheduler("v1.28.0"), config=versioned(tuned, "v1beta3"))
    assert CONFIG not in contents(switch_on(still_read, URL))
    with pytest.raises(WireError, match="says more than we wrote"):
        switch_on(files(config=tuned), "http://elsewhere:8080")


@pytest.mark.parametrize(
    ("tag", "before", "wanted"), [("v1.30.4", "v1beta3", "v1"), ("v1.24.17", "v1", "v1beta3")]
)
def test_a_tuned_configuration_that_is_not_read_is_refused_with_the_version_to_write(
    tag: str, before: str, wanted: str
) -> None:
    tuned = versioned(OURS.replace("500", "1000"), before)
    with pytest.raises(WireError) as refused:
        switch_on(files(scheduler(tag), config=tuned), URL)
    assert refused.value.code == "config-of-others"
    assert f"write apiVersion: kubescheduler.config.k8s.io/{wanted} there" in refused.value.sentence


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
    on = contents(switch_on(files(text), URL, VERSION))
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
    patch = switch_on(files(BARE), URL, VERSION).patch()
    assert patch.startswith(f"--- /dev/null\n+++ {CONFIG}\n@@ -0,0 +1,12 @@\n+apiVersion: ")
    assert f"--- {MANIFEST}\n+++ {MANIFEST}\n" in patch
    assert "-    - --leader-elect=false\n\\ No newline at end of file\n" in patch
    assert "+    - --config=/etc/metax/extender.yaml\n" in patch
