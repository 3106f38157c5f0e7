"""What a container is given, row by row of the manual (M106-M113), and every sentence on the way."""

from collections.abc import Callable
from pathlib import Path

import pytest

from builders.docker_hosts import IMAGE, DockerHost, read_all, snapshot_of
from builders.simulated import make_driver
from tangram.services.docker_host.additions import mount_value
from tangram.services.docker_host.errors import HostError
from tangram.services.docker_host.maca import Folder
from tangram.units.memory import from_gib

MACA = "type=bind,source=HOST/opt/maca-3,target=/opt/maca,readonly"
DRIVER = "type=bind,source=HOST/opt/mxdriver-3,target=/opt/mxdriver,readonly"
ENV = ["--env", "MACA_PATH=/opt/maca", "--env", "LD_LIBRARY_PATH=/opt/maca/lib:/opt/mxdriver/lib"]
SDK = ["--mount", MACA, "--mount", DRIVER, *ENV]


def node_words(*numbers: int) -> list[str]:
    paths = [
        "/dev/mxcd",
        *(path for at in numbers for path in (f"/dev/dri/card{at + 1}", f"/dev/dri/renderD{128 + at}")),
    ]
    return [word for path in paths for word in ("--device", path)]


def refusal(host: DockerHost, *words: str) -> str:
    with pytest.raises(HostError) as refused:
        host.added(*words)
    return str(refused.value)


def test_m106_all_cards(host: DockerHost) -> None:
    assert host.added("run", "--gpus=all", IMAGE) == [*node_words(*range(8)), *SDK]


def test_groups_that_own_the_nodes_go_by_number(host: DockerHost) -> None:
    host.groups = (44, 109)
    words = host.added("run", "--gpus=[0]", "--maca=none", IMAGE)
    assert words == [*node_words(0), "--group-add", "44", "--group-add", "109"]


def test_podman_without_root_keeps_a_persons_groups_unless_they_name_some(host: DockerHost) -> None:
    host.groups, host.rootless, host.engine.name = (44,), True, "podman"
    words = ("run", "--gpus=[0]", "--maca=none")
    assert host.added(*words, IMAGE) == [*node_words(0), "--group-add", "keep-groups"]
    assert host.added(*words, "--group-add=5", IMAGE) == node_words(0)


def test_m107_so_many_cards(host: DockerHost) -> None:
    assert host.added("run", "--gpus=2", IMAGE) == [*node_words(6, 7), *SDK]


def test_m108_cards_by_number(host: DockerHost) -> None:
    assert host.added("create", "--gpus=[0,5]", IMAGE) == [*node_words(0, 5), *SDK]


def test_m109_cards_by_serial_number(host: DockerHost) -> None:
    serial = host.snapshot.cards[3].device.serial
    assert host.added("run", f"--gpus=[{serial}]", IMAGE) == [*node_words(3), *SDK]


def test_m110_an_image_without_mxmaca_gets_the_hosts(host: DockerHost) -> None:
    assert host.added("run", "--gpus=[0]", IMAGE)[-len(SDK) :] == SDK


def test_m111_an_images_own_mxmaca_is_left_alone(host: DockerHost) -> None:
    host.engine.images[IMAGE] = ("/opt/maca", "/opt/mxdriver")
    assert host.added("run", "--gpus=[0]", IMAGE) == node_words(0)
    host.engine.images["second:1"] = ("/opt/maca",)
    assert host.added("run", "--gpus=[0]", "second:1") == [*node_words(0), "--mount", DRIVER]


def test_an_empty_folder_is_no_mxmaca(host: DockerHost) -> None:
    host.engine.images[IMAGE] = ("/opt/maca/", "/opt/mxdriver/")
    assert host.added("run", "--gpus=[0]", IMAGE) == [*node_words(0), *SDK]


def test_m112_force_mounts_the_hosts_over_it(host: DockerHost) -> None:
    host.engine.images[IMAGE] = ("/opt/maca", "/opt/mxdriver")
    assert host.added("run", "-maca-force", "--gpus=[0]", IMAGE) == [*node_words(0), *SDK]


@pytest.mark.parametrize("asked", ["--maca=2", "-maca=/opt/maca-2"])
def test_m113_another_mxmaca_is_chosen_by_version_or_place(host: DockerHost, asked: str) -> None:
    words = host.added("run", "--gpus=[0]", asked, IMAGE)
    assert words[len(node_words(0)) + 1] == "type=bind,source=HOST/opt/maca-2,target=/opt/maca,readonly"


def test_maca_for_an_image_with_its_own_says_that_it_changes_nothing(host: DockerHost) -> None:
    host.engine.images[IMAGE] = ("/opt/maca", "/opt/mxdriver")
    assert host.added("run", "--gpus=[0]", "--maca=2", IMAGE) == node_words(0)
    assert host.said == [
        f"image {IMAGE} has an MXMACA of its own, which is used: --maca-force would mount 2 over it."
    ]


def test_maca_none_mounts_nothing_and_does_not_look_at_the_image(host: DockerHost) -> None:
    assert host.added("run", "--gpus=[0]", "--maca=none", "nobody:1") == node_words(0)
    assert not any(words[0] in ("image", "create", "pull") for words in host.engine.asked)


def test_maca_without_cards_mounts_it_and_asks_no_driver(host: DockerHost) -> None:
    host.snapshot = snapshot_of({"product": "S4000"})
    assert host.added("run", "--maca=3", IMAGE) == SDK


def test_what_a_person_mounts_there_stays(host: DockerHost) -> None:
    mine = ("-v", "/my/maca:/opt/maca", "--mount", "type=bind,src=/d,dst=/opt/mxdriver/")
    assert host.added("run", "--gpus=[0]", *mine, IMAGE) == node_words(0)
    assert host.added("run", "--gpus=[0]", "--tmpfs=/opt/mxdriver:size=1m", IMAGE) == [
        *node_words(0),
        *("--mount", MACA),
        *ENV,
    ]


def test_what_a_person_sets_stays(host: DockerHost, tmp_path: Path) -> None:
    file = tmp_path / "vars"
    file.write_text("# mine\nMACA_PATH=/mine\n")
    words = host.added("run", "--gpus=[0]", "-e", "LD_LIBRARY_PATH=/x", "--env-file", str(file), IMAGE)
    assert words == [*node_words(0), "--mount", MACA, "--mount", DRIVER]


def test_an_images_library_path_is_added_to(host: DockerHost) -> None:
    host.engine.image_env = ["PATH=/bin", "LD_LIBRARY_PATH=/app:/opt/maca/lib"]
    words = host.added("run", "--gpus=[0]", IMAGE)
    assert words[-1] == "LD_LIBRARY_PATH=/app:/opt/maca/lib:/opt/mxdriver/lib"


def test_an_image_that_is_not_here_is_fetched_first_as_run_would(host: DockerHost) -> None:
    host.engine.pullable["new:1"] = ("/opt/maca", "/opt/mxdriver")
    words = ("run", "--gpus=[0]", "-q", "--platform=linux/amd64", "new:1")
    assert host.added(*words) == node_words(0)
    assert ("pull", "--platform", "linux/amd64", "--quiet", "--", "new:1") in host.engine.asked


def test_one_that_cannot_be_fetched_is_a_sentence(host: DockerHost) -> None:
    assert refusal(host, "run", "--gpus=1", "no:1") == "image 'no:1' could not be fetched; docker said why."


@pytest.mark.parametrize(("policy", "pulls"), [("never", 0), ("missing", 0), ("always", 1)])
def test_pull_is_respected(host: DockerHost, policy: str, pulls: int) -> None:
    host.engine.pullable[IMAGE] = ()
    host.added("run", "--gpus=[0]", "--pull", policy, IMAGE)
    assert sum(words[0] == "pull" for words in host.engine.asked) == pulls


def test_an_image_is_looked_into_once_and_the_container_for_it_removed(host: DockerHost) -> None:
    for _ in range(2):
        host.added("run", "--gpus=[0]", IMAGE)
    verbs = [words[0] for words in host.engine.asked]
    assert (verbs.count("create"), verbs.count("rm"), verbs.count("cp")) == (1, 1, 2)


def test_a_dry_run_fetches_nothing_and_says_so(host: DockerHost) -> None:
    host.dry_run = True
    assert host.added("run", "--gpus=[0]", "no:1") == [*node_words(0), *SDK]
    assert host.said == [
        "image no:1 is not here and --dry-run fetches nothing: taken for one without MXMACA."
    ]


def test_two_starts_at_one_moment_pick_different_cards(
    host: DockerHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = host.added("run", "--gpus=4", "--maca=none", IMAGE)
    monkeypatch.setattr("os.getpid", lambda: 1)
    assert first == node_words(4, 5, 6, 7)
    assert host.added("run", "--gpus=4", "--maca=none", IMAGE) == node_words(0, 1, 2, 3)
    assert "a container that is being started" in refusal(host, "run", "--gpus=8", IMAGE)


def test_cards_of_running_containers_are_not_idle(host: DockerHost) -> None:
    device = {"PathOnHost": "/dev/dri/renderD135", "PathInContainer": "/dev/dri/renderD135"}
    host.engine.containers = [
        {"Name": "/web", "HostConfig": {"Devices": [device]}, "Config": {"Env": ["A=1"]}}
    ]
    assert host.added("run", "--gpus=4", "--maca=none", IMAGE) == node_words(0, 1, 2, 3)
    assert "card 7 is used by container web" in refusal(host, "run", "--gpus=8", IMAGE)
    host.added("run", "--gpus=[7]", "--maca=none", IMAGE)
    assert host.said == ["card 7 is used by container web; the container shares it."]


def test_a_container_is_labelled_with_its_cards_because_not_every_engine_tells_its_nodes(
    host: DockerHost,
) -> None:
    host.added("run", "--gpus=[7,6]", "--maca=none", IMAGE)
    uuids = ",".join(host.snapshot.cards[at].device.uuid for at in (7, 6))
    assert host.labels == [f"dev.tangram.cards={uuids}"]
    labels = {"dev.tangram.cards": uuids}
    host.engine.containers = [{"Name": "web", "Config": {"Labels": labels}}, {"Id": "0123456789abcdef"}]
    assert host.added("run", "--gpus=4", "--maca=none", IMAGE) == node_words(0, 1, 2, 3)


def test_a_slice_is_its_cards_render_node_and_a_variable(host: DockerHost) -> None:
    driver = make_driver({"product": "C500", "count": 2, "sliced": True})
    made = driver.create_slice(driver.devices()[1].uuid, memory=from_gib(8), cores=25, name="notebook")
    host.snapshot = read_all(driver)
    bdf = host.snapshot.cards[1].device.bdf
    assert host.added("run", f"--gpus=[sgpu:{made.uuid}]", "--maca=none", IMAGE) == [
        *("--device", "/dev/mxcd", "--device", "/dev/dri/renderD129"),
        *("--env", f"METAX_SGPUS=sgpu={bdf}#{made.id};compute=25;vram=8192;alias=notebook"),
    ]


@pytest.mark.parametrize(
    ("info", "own", "wanted"),
    [
        pytest.param(
            {"Runtimes": {"runc": {}, "mthreads": {}}, "DefaultRuntime": "runc"},
            (),
            ["--runtime", "mthreads", "--env", "MTHREADS_VISIBLE_DEVICES=0,1"],
            id="registered",
        ),
        pytest.param(
            {"Runtimes": {"mthreads": {}}, "DefaultRuntime": "mthreads"},
            (),
            ["--env", "MTHREADS_VISIBLE_DEVICES=0,1"],
            id="default",
        ),
        pytest.param(
            {"Runtimes": {"mthreads-experimental": {}}, "DefaultRuntime": "runc"},
            ("--runtime=mthreads-experimental",),
            ["--env", "MTHREADS_VISIBLE_DEVICES=0,1"],
            id="persons-own",
        ),
    ],
)
def test_moore_threads_cards_go_by_the_vendors_variable(
    host: DockerHost, info: dict[str, object], own: tuple[str, ...], wanted: list[str]
) -> None:
    host.snapshot = snapshot_of({"product": "S4000", "count": 2})
    host.engine.info = info
    assert host.added("run", "--gpus=all", *own, IMAGE) == wanted


def test_without_the_vendors_runtime_they_are_device_nodes(host: DockerHost) -> None:
    host.snapshot = snapshot_of({"product": "S4000", "count": 1})
    (host.root / "usr" / "bin").mkdir(parents=True)
    (host.root / "usr" / "bin" / "mthreads-gmi").touch()
    nodes = host.snapshot.cards[0].device.nodes.all
    assert host.added("run", "--gpus=all", IMAGE) == [
        *(word for path in nodes for word in ("--device", path)),
        *("--mount", "type=bind,source=HOST/usr/bin/mthreads-gmi,target=/usr/bin/mthreads-gmi,readonly"),
    ]
    assert host.said[0].startswith(
        "runtime mthreads is not registered with docker: the cards are given as device"
    )


def test_maca_is_refused_for_moore_threads_cards(host: DockerHost) -> None:
    host.snapshot = snapshot_of({"product": "S4000", "count": 1})
    assert "which Moore Threads cards do not use" in refusal(host, "run", "--gpus=1", "--maca=3", IMAGE)


def test_nerdctl_cannot_look_into_images_so_the_image_has_to_say(host: DockerHost) -> None:
    host.engine.name = "nerdctl"
    assert host.added("run", "--gpus=[0]", IMAGE) == [*node_words(0), *SDK]
    assert "nerdctl cannot show what is in image" in host.said[0]
    host.engine.image_env = ["MACA_PATH=/opt/maca"]
    assert host.added("run", "--gpus=[0]", IMAGE) == node_words(0)


def no_folder(host: DockerHost) -> None:
    for link in ("maca", "mxdriver"):
        (host.root / "opt" / link).unlink()


def old_client(host: DockerHost) -> None:
    host.engine.client = "18.09.1"


def old_server(host: DockerHost) -> None:
    host.engine.server = "18.09.1"


def not_allowed(host: DockerHost) -> None:
    host.engine.trouble = "permission denied while trying to connect to the Docker daemon socket"


def no_daemon(host: DockerHost) -> None:
    host.engine.trouble = "Cannot connect to the Docker daemon at unix:///run/docker.sock. Is it running?"


def elsewhere(host: DockerHost) -> None:
    host.environment["DOCKER_HOST"] = "ssh://other"


def far_context(host: DockerHost) -> None:
    host.environment["DOCKER_CONTEXT"] = "far"
    host.engine.context_host = "tcp://10.0.0.1:2376"


@pytest.mark.parametrize(
    ("change", "words", "sentence"),
    [
        pytest.param(no_folder, ("--gpus=1",), "there is no MXMACA for the container", id="no-mxmaca"),
        pytest.param(
            None, ("--gpus=1", "--maca=9"), "is no folder on this host: the versions here are 2, 3", id="maca"
        ),
        pytest.param(None, ("--maca=../x",), "it is a version, the absolute path", id="maca-word"),
        pytest.param(old_client, ("--gpus=1",), "the Docker client here is 18.09.1", id="old-client"),
        pytest.param(old_server, ("--gpus=1",), "the Docker engine here is 18.09.1", id="old-engine"),
        pytest.param(
            not_allowed, ("--gpus=1",), "This user may not talk to the engine: run this as root", id="socket"
        ),
        pytest.param(no_daemon, ("--gpus=1",), "Cannot connect to the Docker daemon at", id="no-daemon"),
        pytest.param(
            elsewhere, ("--gpus=1",), "the engine is ssh://other, on another machine", id="elsewhere"
        ),
        pytest.param(far_context, ("--gpus=1",), "the engine is tcp://10.0.0.1:2376", id="far-context"),
        pytest.param(
            None, ("--gpus=9",), "asks for 9 cards, and 8 of 8 are idle: this host has 8", id="too-many"
        ),
        pytest.param(None, ("--gpus=[GPU-x]",), "this host has no card 'GPU-x'", id="wrong-card"),
    ],
)
def test_every_refusal_is_a_sentence(
    host: DockerHost, change: Callable[[DockerHost], None] | None, words: tuple[str, ...], sentence: str
) -> None:
    if change is not None:
        change(host)
    said = refusal(host, "run", *words, IMAGE)
    assert sentence in said
    assert said.endswith(".")


def test_a_host_option_before_the_command_counts_more_than_the_environment(host: DockerHost) -> None:
    host.environment["DOCKER_HOST"] = "ssh://other"
    assert host.added("-H", "unix:///run/docker.sock", "run", "--gpus=[0]", "--maca=none", IMAGE)
    assert "ssh://far" in refusal(host, "-Hssh://far", "run", "--gpus=[0]", IMAGE)


def test_a_place_with_commas_and_quotes_is_one_field_of_a_mount() -> None:
    assert mount_value(Folder('/a,"b', "/opt/maca")) == 'type=bind,"source=/a,""b",target=/opt/maca,readonly'
