"""The second half of MetaX's manual followed by its commands: the GPU Operator, from the bundle to the removal, and
with it HAMi's page for MetaX, where a scheduler comes to nodes that the operator looks after.

The commands are in tests/data/manual-operator; that the page shows the same is tests/charts/test_manual_page.py. Nodes
begin with cards and nothing else: driver and MXMACA are payload images, built of files and pushed as people push them.
"""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import pytest
import pytest_asyncio
import yaml

from e2e.agent_kit import TANGRAM
from e2e.helm_kit import DRIVER, serve_cards
from e2e.manual_kit import OPERATOR_SCRIPTS, PROJECT, Person, Released, person_at, trust
from e2e.operator_kit import BARE, LOOK, ctl
from e2e.operator_view_kit import GPU, condition_of, differences, hosts, labels, offered
from e2e.payload_images_kit import built_driver, built_maca
from e2e.registry_kit import Registry, registry_in
from e2e.release_kit import NodeLook, everything, nodes_look
from e2e.scheduling_kit import poll_until
from tangram.wire import metax_labels
from tangram.wire.operator.names import MACA_PRODUCT
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.images import program_image
from testbed.manifests import SLEEP, container, is_running, pod
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("helm")

CHART = NAMESPACE = "metax-operator"
FIRST, SECOND = "n1", "n2"
DRIVER_VERSION, MACA_VERSION = "2.32.0", "3.0.0"
CARDS = 2
SLICES = 16
"""Of each card."""
SGPU = "metax-tech.com/sgpu"
SIMULATED = f"--set gpuDevice.driver={DRIVER} --set gpuLabel.driver={DRIVER} --set driver.loader={DRIVER} --timeout 5m"
"""The one addition to the manual's commands: these nodes have no cards."""
LEFT = {
    f"Namespace /{NAMESPACE}",
    f"ServiceAccount {NAMESPACE}/default",
    f"ConfigMap {NAMESPACE}/kube-root-ca.crt",
    f"ConfigMap {NAMESPACE}/driver-config",
}
"""Of an installation that is gone: its namespace, and what a person has edited."""


@dataclass(frozen=True, slots=True)
class Company:
    cluster: Cluster
    registry: Registry
    person: Person


@pytest_asyncio.fixture(scope="module")
async def company(released: Released) -> AsyncIterator[Company]:
    async with (
        Cluster.open(Options(nodes=2, services=True)) as cluster,
        registry_in(cluster.box) as registry,
    ):
        version = cluster.programs.version("kubernetes")
        scheduler = f"registry.k8s.io/kube-scheduler:{version}"
        await cluster.load_image(program_image(scheduler, cluster.programs.path("kube-scheduler")))
        person = await person_at(cluster, registry, cluster.box.folder.path / "operator", released.version)
        person.scripts = OPERATOR_SCRIPTS
        (person.folder / released.files.package.name).symlink_to(released.files.package)
        await trust(person, registry)
        for node in cluster.nodes:
            await serve_cards(cluster, node, BARE)
            lease = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{node.name}"
            await cluster.api.until(lease, bool, within=60, what=f"the Lease of {node.name}")
        yield Company(cluster, registry, person)


async def test_the_manual_leads_from_bare_nodes_to_slices_and_back(company: Company) -> None:
    cluster, person = company.cluster, company.person
    before = await nodes_look(cluster), await hosts(cluster), await everything(cluster)
    driver = await built_driver(cluster, person.folder, DRIVER_VERSION)
    maca = await built_maca(cluster, person.folder, "mxc500-maca", MACA_VERSION, MACA_VERSION)

    # Images, chart and payloads into the registry.
    unpacked = await person.follows("unpack")
    assert f"{CHART}-{person.words['VERSION']}.tgz" in unpacked.split()
    await person.follows("push-images")
    place = f"{company.registry.address}/{PROJECT}"
    assert f"Pushed: {place}/{CHART}" in await person.follows("push-charts")
    pushed = await person.follows("push-payloads", PAYLOADS=f"{driver.archive} {maca.archive}")
    assert f"{place}/{maca.image}" in pushed

    # From there to nodes that offer their cards when the command returns.
    installed = await person.follows("install", DRIVER=DRIVER_VERSION, MACA=maca.image, OPTIONS=SIMULATED)
    (release,) = re.findall(r"^NAME: (\S+)$", installed, re.MULTILINE)
    for node in (FIRST, SECOND):
        await verified(person, node, CARDS, given=0)
        assert (await ctl(cluster, node, "module"))["module"]["version"] == DRIVER_VERSION

    await virtualized(person)
    await job_runs(person)
    await maintained(person)
    await slices_are_placed(person, release)

    assert release in await person.follows("remove", RELEASE=release)
    assert await person.follows("remove-by-script") == ""
    await is_as_before(cluster, *before)


async def verified(person: Person, node: str, cards: int, given: int) -> None:
    """What the manual tells to look for in the description of a node."""
    described = await person.follows("verify", NODE=node)
    assert len(re.findall(rf"^ +{GPU}: +{cards}$", described, re.MULTILINE)) == 2, described
    assert re.search(rf"^ +{GPU} +{given} +{given}$", described, re.MULTILINE), described
    ready = ("runtime.ready=true", "driver.ready=true", "maca.ready=true", "gpu.driver.mode=cloud")
    for label in ("gpu.installed=true", "gpu.product=C500", *ready):
        assert f"metax-tech.com/{label}" in described, described


async def until_offered(cluster: Cluster, node: str, count: int, resource: str = GPU) -> None:
    def so(seen: Object) -> bool:
        return offered(seen, resource) == count

    await cluster.until_node(node, so, within=90, what=f"{node} offers {count} of {resource}")


async def virtualized(person: Person) -> None:
    """The sample of the ConfigMap, made to be about a node that there is, and the sample again."""
    cluster = person.cluster
    edit = f"sed -i 's/sample-node2:/{SECOND}:/'"
    await person.follows("virtualization", KUBE_EDITOR=edit)
    await until_offered(cluster, SECOND, 2 * CARDS)
    await verified(person, SECOND, 2 * CARDS, given=0)
    assert offered(await cluster.api.get(path_of("Node", FIRST))) == CARDS
    await person.follows("virtualization", KUBE_EDITOR=f"sed -i 's/{SECOND}:/sample-node2:/'")
    await until_offered(cluster, SECOND, CARDS)


async def job_runs(person: Person) -> None:
    """On an image without MXMACA, as the manual's job under the operator."""
    made = pod("sample", container(script=f"{LOOK}; {SLEEP}", limits={GPU: CARDS}))
    made["spec"]["nodeSelector"] = {
        "metax-tech.com/gpu.product": "C500",
        "kubernetes.io/hostname": SECOND,
    }
    (person.folder / "sample.yaml").write_text(yaml.safe_dump(made))
    await person.follows("job")
    await person.cluster.until_pod("sample", is_running)
    await verified(person, SECOND, CARDS, given=CARDS)
    seen = f"/dev/mxcd\n/opt/maca\n/opt/mxdriver\n{MACA_VERSION}\n{DRIVER_VERSION}\n"

    async def looked() -> bool:
        return await person.cluster.pod_log("sample") == seen

    await poll_until(looked, what="a job that sees MXMACA and the driver")


async def maintained(person: Person) -> None:
    """The node with the job leaves GPU service and comes back; MXMACA's mark stays for what works there meanwhile."""
    cluster = person.cluster
    await person.follows("maintenance", NODE=SECOND, PODS="sample")
    away = labels(await cluster.api.get(path_of("Node", SECOND)))
    found = {key for key in metax_labels.OURS - metax_labels.DRIVER_OWNER if key in away}
    assert found == set(), "what gpu-label wrote; driver-manager stays, and so do its labels"
    assert away[MACA_PRODUCT] == "c500"
    await person.follows("maintenance-over", NODE=SECOND)
    await until_offered(cluster, SECOND, CARDS)
    await verified(person, SECOND, CARDS, given=0)


def seed(name: str) -> Object:
    """HAMi's example for MetaX: a part of a card, for whichever scheduler the cluster gives it."""
    limits = {SGPU: 1, "metax-tech.com/vcore": 60, "metax-tech.com/vmemory": 4}
    return pod(name, container(script=f"echo $METAX_SGPUS; {SLEEP}", limits=limits))


async def slices_are_placed(person: Person, release: str) -> None:
    """The scheduler after the operator, in the same release: a pod gets its slice on a node of the operator's."""
    cluster = person.cluster
    await person.follows("scheduler", RELEASE=release)
    for node in (FIRST, SECOND):
        await until_offered(cluster, node, CARDS * SLICES, SGPU)
    status = await cluster.command([TANGRAM, "status", "operator"])
    assert status.status == 0, status.output
    assert re.search(r"^gpu-scheduler +ready", status.output, re.MULTILINE), status.output

    for name in ("seed", "beside"):
        await cluster.api.create(seed(name))
    placed = [await cluster.until_pod(name, is_running) for name in ("seed", "beside")]
    assert {one["spec"]["schedulerName"] for one in placed} == {"tangram-scheduler"}
    nodes = {one["spec"]["nodeName"] for one in placed}
    found = [each for node in sorted(nodes) for each in await slices(cluster, node)]
    assert sorted((memory, cores) for _, memory, cores in found) == [("4 GiB", 60), ("4 GiB", 60)]
    assert len({card for card, *_ in found}) == 2, "60 and 60 of one card are more than it has"
    for name in ("seed", "beside"):
        await says(cluster, name, "compute=60;vram=4096")
    await waits_for_room(cluster)
    for one in placed:
        await cluster.api.delete(path_of("Pod", one["metadata"]["name"]), grace=0)
    await poll_until(lambda: _none_left(cluster), what="the end of both slices")


async def says(cluster: Cluster, name: str, words: str) -> None:
    """A container prints these words of what it was given."""

    async def so() -> bool:
        return words in await cluster.pod_log(name)

    await poll_until(so, what=f"{name}: {words}")


async def waits_for_room(cluster: Cluster) -> None:
    """A pod that asks for more than a card has stays, and says why."""
    large = seed("large")
    large["spec"]["containers"][0]["resources"]["limits"]["metax-tech.com/vmemory"] = "65"
    await cluster.api.create(large)

    def refused(seen: Object) -> bool:
        return condition_of(seen, "PodScheduled").get("reason") == "Unschedulable"

    await cluster.until_pod("large", refused)
    await cluster.api.delete(path_of("Pod", "large"), grace=0)


async def slices(cluster: Cluster, node: str) -> list[tuple[str, str, int]]:
    """Of a node's cards as the driver has them: card, memory and percent."""
    listed = (await ctl(cluster, node, "list"))["cards"]
    return [(card["uuid"], each["memory"], each["cores"]) for card in listed for each in card["slices"]]


async def _none_left(cluster: Cluster) -> bool:
    return not [each for node in (FIRST, SECOND) for each in await slices(cluster, node)]


async def is_as_before(
    cluster: Cluster,
    nodes: Mapping[str, NodeLook],
    files: Mapping[str, Mapping[str, str]],
    objects: frozenset[str],
) -> None:
    """Nodes, files of hosts and kernels; of the cluster's objects a namespace and an edited ConfigMap are left."""
    assert await nodes_look(cluster) == nodes
    for node, now in (await hosts(cluster)).items():
        assert differences(files[node], now) == {}, node
        assert (await ctl(cluster, node, "module"))["module"] is None

    left: frozenset[str] = frozenset()

    async def gone() -> bool:
        nonlocal left
        left = await everything(cluster) - objects
        return left <= LEFT

    with suppress(AssertionError):
        await poll_until(gone, what="the end of all that was installed")
    assert left == LEFT
