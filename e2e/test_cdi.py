"""How containerd comes to know what a CDI name means, and when it goes on believing what is no longer true."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from e2e.nodes_kit import (
    ALLOWED,
    DEVICES,
    FORBIDDEN,
    cdi_folder,
    clear_specs,
    devices_in,
    granting_names,
    looking_at_devices,
    make_devices,
    openings_in,
    spec_of,
    start_pod,
    touch,
    until_refused,
    words_of,
    write,
)
from e2e.restarts_kit import NODE, PATIENCE, calls_of, container_status, plugin_of, room_of, until_offered
from tangram.wire.cdi import CdiMount, spec_file_name, spec_text
from testbed import node
from testbed.cluster import Cluster
from testbed.manifests import container, is_running, pod
from testbed.plugin import ScriptedPlugin
from testbed.plugin_behaviours import cdi_name, granting, in_turn
from testbed.plugin_records import Call, Grant

UNRESOLVED = "CreateContainerError"
BURST = 40
SAY = 'echo "meaning=$MEANING"'


@pytest.fixture
def resource(unique: Callable[[str], str]) -> str:
    return f"tangram.dev/{unique('cdi')}"


@pytest_asyncio.fixture
async def plugin(cluster: Cluster, resource: str) -> AsyncIterator[ScriptedPlugin]:
    """A plugin with devices enough for every test here; no spec is left behind."""
    async with plugin_of(cluster, resource, [f"{resource[-8:]}-{one}" for one in range(BURST)]) as running:
        await until_offered(cluster, running)
        yield running
    clear_specs(cluster)


@pytest.fixture
def name_of(unique: Callable[[str], str]) -> Callable[[str], str]:
    """Makes CDI names that no other test gives a meaning."""
    return lambda word: f"tangram.dev/test={unique(word)}"


async def meaning_of(cluster: Cluster, plugin: ScriptedPlugin, pod_name: str, *names: str) -> str:
    """Run a pod whose container is granted these CDI names, and return what they meant to it."""
    plugin.script.allocate = granting_names(*names)
    await start_pod(cluster, pod_name, plugin.resource, script=SAY)
    return (await words_of(cluster, pod_name)).removeprefix("meaning=")


@pytest.mark.smoke
async def test_a_spec_written_in_pre_start_gives_each_container_its_own_devices_and_no_others(
    cluster: Cluster, unique: Callable[[str], str], plugin: ScriptedPlugin
) -> None:
    """Allocate answers a name that means nothing yet. Two pods get two cards; neither can open the other's."""
    wanted = {
        unique("metax"): ("/dev/mxcd", "/dev/dri/renderD128"),
        unique("mthreads"): ("/dev/mtgpu.1", "/dev/dri/renderD129"),
    }
    given: dict[tuple[str, ...], str] = {}
    started: set[tuple[str, ...]] = set()
    left = dict(wanted)

    async def allocate(call: Call) -> tuple[Grant, ...]:
        name = given[call.ids[0]] = cdi_name(call)
        kind, _, device = name.partition("=")
        assert not (cdi_folder(cluster) / spec_file_name(kind, device)).exists()
        return (Grant(cdi_names=(name,)),)

    async def pre_start(call: Call) -> None:
        if call.ids[0] in started:
            # containerd had not yet heard of the spec, and the kubelet tries again.
            return
        started.add(call.ids[0])
        card, nodes = left.popitem()
        (room_of(cluster).lib / card).write_text(f"about {card}", encoding="utf-8")
        mount = CdiMount(host_path=f"/var/lib/{card}", container_path="/card", options=("ro", "bind"))
        write(cluster, spec_of(given[call.ids[0]], {"CARD": card}, nodes=nodes, mounts=[mount]))

    await make_devices(cluster)
    plugin.script.allocate, plugin.script.pre_start = allocate, pre_start
    script = f'exec 2>&1; echo "card=$CARD"; cat /card; echo; echo x > /card; {looking_at_devices()}'
    names = [unique("left"), unique("right")]
    await asyncio.gather(*(start_pod(cluster, one, plugin.resource, script=script) for one in names))
    cards: list[str] = []
    for one in names:
        words = await words_of(cluster, one)
        card = words.splitlines()[0].removeprefix("card=")
        cards.append(card)
        assert f"about {card}" in words
        assert "Read-only file system" in words
        assert devices_in(words) == {path: DEVICES[path] for path in wanted[card]}
        assert openings_in(words) == {
            path: ALLOWED if path in wanted[card] else FORBIDDEN for path in DEVICES
        }
    assert sorted(cards) == sorted(wanted)


@pytest.mark.smoke
async def test_a_cdi_name_that_means_nothing_only_delays_and_every_attempt_asks_pre_start_again(
    cluster: Cluster, unique: Callable[[str], str], plugin: ScriptedPlugin, name_of: Callable[[str], str]
) -> None:
    waiting, name = unique("waiting"), name_of("later")
    plugin.script.allocate = granting_names(name)
    await start_pod(cluster, waiting, plugin.resource, script=SAY)
    message = await until_refused(cluster, waiting, UNRESOLVED)
    assert f"unresolvable CDI devices {name}" in message
    write(cluster, spec_of(name, {"MEANING": "late"}))
    await touch(cluster, waiting)
    assert await words_of(cluster, waiting) == "meaning=late"
    assert len(calls_of(plugin, "Allocate")) == 1
    assert len(calls_of(plugin, "PreStartContainer")) >= 2


async def test_a_cdi_name_in_an_annotation_of_the_answer_is_as_good(
    cluster: Cluster, unique: Callable[[str], str], plugin: ScriptedPlugin, name_of: Callable[[str], str]
) -> None:
    name, annotated = name_of("annotated"), unique("annotated")
    write(cluster, spec_of(name, {"MEANING": "noted"}))
    plugin.script.allocate = granting(annotations={"cdi.k8s.io/tangram": name}, cdi=False)
    await start_pod(cluster, annotated, plugin.resource, script=SAY)
    assert await words_of(cluster, annotated) == "meaning=noted"


async def test_a_spec_replaced_by_a_rename_within_the_folder_is_believed(
    cluster: Cluster, unique: Callable[[str], str], plugin: ScriptedPlugin, name_of: Callable[[str], str]
) -> None:
    name = name_of("reused")
    write(cluster, spec_of(name, {"MEANING": "old"}))
    assert await meaning_of(cluster, plugin, unique("before"), name) == "old"
    write(cluster, spec_of(name, {"MEANING": "new"}), replace=True)
    # containerd hears of it in its own time. It hears in order, so whoever knows the later name knows the new meaning.
    later = name_of("marker")
    write(cluster, spec_of(later, {"MARKER": "1"}))
    assert await meaning_of(cluster, plugin, unique("after"), name, later) == "new"


async def test_a_spec_moved_in_from_another_folder_is_not_noticed_until_something_else_happens_there(
    cluster: Cluster, unique: Callable[[str], str], plugin: ScriptedPlugin, name_of: Callable[[str], str]
) -> None:
    """Neither over an old file, whose meaning stays, nor as a new one, which stays unknown."""
    reused, fresh = name_of("reused"), name_of("fresh")
    old = write(cluster, spec_of(reused, {"MEANING": "old"}))
    assert await meaning_of(cluster, plugin, unique("before"), reused) == "old"

    elsewhere = room_of(cluster).run / "elsewhere.json"
    for spec, target in (
        (spec_of(reused, {"MEANING": "new"}), old),
        (spec_of(fresh, {"MEANING": "fresh"}), cdi_folder(cluster) / "fresh.json"),
    ):
        elsewhere.write_text(spec_text(spec), encoding="utf-8")
        elsewhere.replace(target)
    assert await meaning_of(cluster, plugin, unique("stale"), reused) == "old"
    plugin.script.allocate = granting_names(fresh)
    unknown = unique("unknown")
    await start_pod(cluster, unknown, plugin.resource, script=SAY)
    await until_refused(cluster, unknown, UNRESOLVED, fresh)

    write(cluster, spec_of(name_of("anything"), {"A": "1"}))
    await touch(cluster, unknown)
    assert await words_of(cluster, unknown) == "meaning=fresh"
    assert await meaning_of(cluster, plugin, unique("after"), reused) == "new"


async def test_a_removed_spec_leaves_running_containers_alone_and_refuses_new_ones(
    cluster: Cluster, unique: Callable[[str], str], plugin: ScriptedPlugin, name_of: Callable[[str], str]
) -> None:
    name, runs, refused = name_of("gone"), unique("runs"), unique("refused")
    plugin.script.allocate = granting_names(name)
    path = write(cluster, spec_of(name, {"MEANING": "short-lived"}))
    await start_pod(cluster, runs, plugin.resource)
    before = await cluster.until_pod(runs, is_running, within=PATIENCE)
    path.unlink()
    marker = name_of("marker")
    write(cluster, spec_of(marker, {"MARKER": "1"}))
    await meaning_of(cluster, plugin, unique("marker"), marker)

    plugin.script.allocate = granting_names(name)
    await start_pod(cluster, refused, plugin.resource)
    await until_refused(cluster, refused, UNRESOLVED, name)
    after = await cluster.until_pod(runs, is_running, within=PATIENCE)
    assert after["status"]["containerStatuses"] == before["status"]["containerStatuses"]


async def test_bad_specs_are_refused_one_by_one_and_good_ones_beside_them_hold(
    cluster: Cluster, unique: Callable[[str], str], plugin: ScriptedPlugin, name_of: Callable[[str], str]
) -> None:
    """A file counts by its ending, hidden or not; two files that name one device leave nobody with it."""
    folder = cdi_folder(cluster)

    def put(file: str, text: str) -> None:
        unfinished = folder / f"{file}.unfinished"
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(folder / file)

    def meaning(word: str) -> str:
        return spec_text(spec_of(name_of(word), {"MEANING": word}))

    put("garbage.json", "{no json")
    put("unknown-field.json", json.dumps({**json.loads(meaning("unknown-field")), "extra": 1}))
    put("without-ending.txt", meaning("without-ending"))
    put("twice-1.json", meaning("twice"))
    put("twice-2.json", meaning("twice"))
    put(".hidden.json", meaning("hidden"))
    put("good.yaml", meaning("yaml"))
    put("good.json", meaning("good"))

    # The containers of a pod are allocated in their order.
    believed, refused = ("good", "yaml", "hidden"), ("unknown-field", "without-ending", "twice")
    words = (*believed, *refused)
    plugin.script.allocate = in_turn(*(granting_names(name_of(word)) for word in words))
    looks = unique("looks")
    containers = [container(word, script=SAY, limits={plugin.resource: 1}) for word in words]
    await cluster.api.create(pod(looks, *containers, node=NODE))
    for word in refused:
        await until_refused(cluster, looks, UNRESOLVED, name_of(word), container_name=word)
    (folder / "twice-2.json").unlink()
    await touch(cluster, looks)
    ended = await cluster.until_pod(
        looks, lambda seen: "terminated" in container_status(seen, "twice").get("state", {}), within=PATIENCE
    )
    over = [one["name"] for one in ended["status"]["containerStatuses"] if "terminated" in one["state"]]
    assert sorted(over) == sorted([*believed, "twice"])
    for word in over:
        assert (await cluster.pod_log(looks, word)).strip() == f"meaning={word}"


async def test_a_burst_of_40_pods_with_specs_renamed_within_the_folder_mixes_up_none(
    cluster: Cluster, unique: Callable[[str], str], plugin: ScriptedPlugin
) -> None:
    names: list[str] = []
    given: dict[tuple[str, ...], str] = {}

    async def allocate(call: Call) -> tuple[Grant, ...]:
        # The ids of a pod that is over may come again; names never do.
        name = given[call.ids[0]] = cdi_name(call)
        names.append(name)
        return (Grant(cdi_names=(name,), env={"GRANTED": name}),)

    async def pre_start(call: Call) -> None:
        name = given[call.ids[0]]
        write(cluster, spec_of(name, {"MEANING": name}), replace=True)

    plugin.script.allocate, plugin.script.pre_start = allocate, pre_start
    pods = [unique(f"burst-{number}") for number in range(BURST)]
    script = 'echo "$GRANTED $MEANING"'
    await asyncio.gather(*(start_pod(cluster, one, plugin.resource, script=script) for one in pods))
    said = [(await words_of(cluster, one)).split() for one in pods]
    assert sorted(granted for granted, _ in said) == sorted(names)
    assert [meant for _, meant in said] == [granted for granted, _ in said]


async def test_a_spec_whose_class_is_a_single_letter_ends_containerd_and_ends_it_again_at_its_start(
    cluster: Cluster, unique: Callable[[str], str]
) -> None:
    """A slip of the CDI library that containerd carries. Tangram never writes such a kind."""
    (names,) = cluster.nodes
    deadly = cdi_folder(cluster) / "deadly.json"
    unfinished = cdi_folder(cluster) / "deadly.unfinished"
    spec = {
        "cdiVersion": "0.6.0",
        "kind": "tangram.dev/x",
        "devices": [{"name": "a", "containerEdits": {"env": ["A=1"]}}],
    }
    command = node.containerd(
        cluster.programs, room_of(cluster), names, cluster.options, cluster.programs.cni_folder
    )

    async def start() -> None:
        environment = node.containerd_environment(cluster.programs)
        await cluster.box.start(names.containerd, command, room=names.name, env=environment)

    seen = len(cluster.box.log(names.containerd))
    try:
        unfinished.write_text(json.dumps(spec), encoding="utf-8")
        unfinished.replace(deadly)
        for again in (True, False):
            async with asyncio.timeout(PATIENCE):
                assert await cluster.box.wait(names.containerd) == 2
            assert "slice bounds out of range" in cluster.box.log(names.containerd)[seen:]
            seen = len(cluster.box.log(names.containerd))
            if again:
                await start()
    finally:
        deadly.unlink(missing_ok=True)
        await cluster.box.stop(names.containerd)
        await start()
    alive = unique("alive")
    await cluster.api.create(pod(alive))
    await cluster.until_pod(alive, is_running, within=PATIENCE)
