"""The manual of MetaX followed by its commands, with the corrections of our page and no others.

Once without a registry, and once with one, from the bundle to the removal. In this order: a kubelet does not take by
one name an image that it has pulled by another. The commands are in tests/data/manual; that the page shows the same is
tests/charts/test_manual_page.py.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
import yaml

from e2e.agent_kit import TANGRAM
from e2e.helm_kit import DRIVER, serve_cards
from e2e.manual_kit import (
    MANAGEMENT,
    MANIFEST,
    PROJECT,
    STATIC_PODS,
    WORKER,
    Person,
    Released,
    person_at,
    prepare,
)
from e2e.registry_kit import Registry, registry_in
from e2e.release_kit import NodeLook, everything, lives, nodes_look, pods_of, resources_left
from e2e.scheduling_kit import poll_until
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, is_running, pod
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("helm")

CHART = "metax-gpu-extensions"
NAMESPACE = CHART
GPU = "metax-tech.com/gpu"
INSTALLED = f"{GPU}.installed"
EXTENDERS = "/etc/metax/extender.yaml"
CARDS = {
    MANAGEMENT: "tangram: cards/v1\ncards: [{product: C500, count: 4, links: pairs}]\n",
    WORKER: "tangram: cards/v1\ncards: [{product: C500, count: 4}]\n",
}
"""As many here as there, but only the first node's are joined."""
SIMULATED = f"--set gpuDevice.driver={DRIVER} --set gpuLabel.driver={DRIVER}"
"""The one addition to the manual's commands: these nodes have no cards."""
OF_THE_MANUAL = "--set gpuLabel.log.format=text --set deployExtenderGPUAware=true"
OF_THE_PAGE = "metax-gpu"
"""Where the manual looks for gpu-aware, which is in the namespace of the release."""


def left_of(*namespaces: str) -> set[str]:
    """What Kubernetes makes in a namespace, which stays."""
    return {
        f"{kind}{separator}{name}"
        for each in namespaces
        for kind, separator, name in (
            ("Namespace", " /", each),
            ("ServiceAccount", " ", f"{each}/default"),
            ("ConfigMap", " ", f"{each}/kube-root-ca.crt"),
        )
    }


@dataclass(frozen=True, slots=True)
class Company:
    cluster: Cluster
    registry: Registry
    released: Released

    async def somebody(self, name: str) -> Person:
        """With the downloaded bundle in a folder of their own."""
        folder = self.cluster.box.folder.path / name
        person = await person_at(self.cluster, self.registry, folder, self.released.version)
        (folder / self.released.files.package.name).symlink_to(self.released.files.package)
        return person


@pytest_asyncio.fixture(scope="module")
async def company(released: Released) -> AsyncIterator[Company]:
    async with (
        Cluster.open(Options(nodes=2, services=True, kubelet=STATIC_PODS)) as cluster,
        registry_in(cluster.box) as registry,
    ):
        made = Company(cluster, registry, released)
        await prepare(await made.somebody("administrator"), registry)
        for node in cluster.nodes:
            await serve_cards(cluster, node, CARDS[node.name])
        # The last that a new cluster makes by itself: what comes later came with an installation.
        for node in cluster.nodes:
            lease = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{node.name}"
            await cluster.api.until(lease, bool, within=60, what=f"the Lease of {node.name}")
        yield made


async def until_served(cluster: Cluster, node: str) -> None:
    def served(seen: Object) -> bool:
        amounts = (seen["status"][kind].get(GPU) for kind in ("capacity", "allocatable"))
        return set(amounts) == {"4"} and seen["metadata"]["labels"].get(INSTALLED) == "true"

    await cluster.until_node(node, served, what=f"{node} serves 4 cards")


async def verified(person: Person, node: str, given: int) -> None:
    """What the manual tells to look for in the description of a node."""
    described = await person.follows("verify", NODE=node)
    assert len(re.findall(rf"^ +{GPU}: +4$", described, re.MULTILINE)) == 2
    assert re.search(rf"^ +{GPU} +{given} +{given}$", described, re.MULTILINE), described
    for label in ("gpu.installed=true", "gpu.product=C500", "gpu.vfnum=0", "driver.ready=true"):
        assert f"metax-tech.com/{label}" in described


async def node_of(cluster: Cluster, name: str) -> str:
    """Where kube-scheduler puts the manual's job, two cards and its nodeSelector, which runs from then on."""
    job = pod(name, container(limits={GPU: 2}), scheduler="default-scheduler")
    job["spec"]["nodeSelector"] = {"metax-tech.com/gpu.vfnum": "0", "metax-tech.com/gpu.product": "C500"}
    await cluster.api.create(job)
    return (await cluster.until_pod(name, is_running))["spec"]["nodeName"]


async def is_as_before(
    cluster: Cluster, nodes: dict[str, NodeLook], objects: frozenset[str], *namespaces: str
) -> None:
    """But for namespaces, and for the zeros that kubelets keep."""
    assert await nodes_look(cluster) == nodes
    assert await everything(cluster) - objects == left_of(*namespaces)
    given = (await cluster.api.get(path_of("Node", MANAGEMENT)))["status"]["allocatable"]
    others = [name for name in given if not name.startswith("metax-tech.com/")]
    assert set((await resources_left(cluster, others)).values()) == {"0"}


def release_in(printed: str) -> str:
    (found,) = re.findall(r"^NAME: (\S+)$", printed, re.MULTILINE)
    return found


async def weight(person: Person, name: str) -> str:
    """What gpu-aware goes by, asked through its Service."""
    where = f"/api/v1/namespaces/{NAMESPACE}/services/gpu-aware-service:8080/proxy/metrics"
    counted = await person.types(f"kubectl get --raw {where}")
    (found,) = re.findall(rf'^tangram_gpu_aware_weight{{weight="{name}"}} (\S+)$', counted, re.MULTILINE)
    return found


async def until_weight(person: Person, name: str, value: str) -> None:
    async def so() -> bool:
        return await weight(person, name) == value

    await poll_until(so, within=15, what=f"{name} at {value}")


async def test_without_a_registry_images_are_loaded_and_the_chart_is_installed_from_its_file(
    company: Company,
) -> None:
    cluster, person = company.cluster, await company.somebody("without-a-registry")
    nodes, objects = await nodes_look(cluster), await everything(cluster)
    await person.follows("unpack")
    for node in cluster.nodes:
        await person.follows("load-images", on=node.name)
    installed = await person.follows("install-from-file", OPTIONS=SIMULATED)
    for node in cluster.nodes:
        await until_served(cluster, node.name)
        await verified(person, node.name, 0)
    pods = await pods_of(cluster, NAMESPACE)
    assert {one["image"] for seen in pods.values() for one in seen["spec"]["containers"]} == {
        company.released.record.image
    }
    assert release_in(installed) in await person.follows("remove-by-script")
    await is_as_before(cluster, nodes, objects, NAMESPACE)
    await person.follows("remove-by-script")
    await person.types(f"kubectl delete namespace {NAMESPACE}")
    await forget_the_image(person)


async def forget_the_image(person: Person) -> None:
    """So that it must be pulled again."""
    listed = "ctr -n k8s.io images list | awk"
    for node in person.cluster.nodes:
        await person.types(
            f"digest=$({listed} -v name=tangram.dev/cloud/tangram:$VERSION '$1 == name {{print $3}}')\n"
            f"{listed} -v digest=$digest '$3 == digest {{print $1}}' | xargs ctr -n k8s.io images remove --sync",
            on=node.name,
        )


async def test_with_a_registry_the_manual_leads_from_the_bundle_to_the_removal(company: Company) -> None:
    cluster, person = company.cluster, await company.somebody("with-a-registry")
    place = f"{company.registry.address}/{PROJECT}"
    nodes, objects = await nodes_look(cluster), await everything(cluster)

    # Images and chart into the registry.
    unpacked = await person.follows("unpack")
    assert {
        f"metax-k8s-images.{person.words['VERSION']}.run",
        f"{CHART}-{person.words['VERSION']}.tgz",
    } <= set(unpacked.split())
    pushed = await person.follows("push-images")
    assert "Login Succeeded" in pushed
    assert "Broken pipe" not in pushed
    assert f"Pushed: {place}/{CHART}" in await person.follows("push-charts")

    # Installed from there: every container runs the image that the nodes have pulled.
    installed = await person.follows("install", OPTIONS=f"{OF_THE_MANUAL} {SIMULATED}")
    assert "tangram gpu-aware enable" in installed
    for node in cluster.nodes:
        await until_served(cluster, node.name)
    pods = await pods_of(cluster, NAMESPACE)
    assert len(pods) == 5
    assert {one["imageID"] for seen in pods.values() for one in seen["status"]["containerStatuses"]} == {
        f"{place}/tangram@sha256:{company.released.record.digest}"
    }
    fetched = re.findall(
        r"^(\S+) .*\"GET /v2/cloud/tangram/blobs/", cluster.box.log("registry"), re.MULTILINE
    )
    assert set(fetched) == {node.address for node in cluster.nodes}
    logs = cluster.room(cluster.nodes[0]).log / "metax"
    as_json = {
        part: (logs / f"{part}.log").read_text().splitlines()[-1].startswith("{")
        for part in ("gpu-label", "gpu-device")
    }
    assert as_json == {"gpu-label": False, "gpu-device": True}
    await verified(person, MANAGEMENT, 0)

    # gpu-aware: kube-scheduler counts, until it is told to ask who knows which cards are joined.
    assert await node_of(cluster, "counted") == WORKER
    await person.types(f"cp {MANIFEST} own.yaml")
    await enable_gpu_aware(person)
    assert await node_of(cluster, "asked") == MANAGEMENT

    release = release_in(installed)
    training = await lives(cluster)
    await weights_change(person, release)
    beside = await person.is_refused(f"helm install t ./k8s/tangram-$VERSION.tgz -n {NAMESPACE}")
    assert f"in namespace {NAMESPACE} (chart {CHART}) runs gpu-" in beside
    await person.follows("gpu-aware-off")
    await person.types(f"cmp own.yaml {MANIFEST}")

    await maintained(person, "counted")

    assert release in (removed := await person.follows("remove", RELEASE=release))
    assert GPU in removed
    assert await lives(cluster) == {name: one for name, one in training.items() if name == "asked"}
    await is_as_before(cluster, nodes, objects, NAMESPACE, OF_THE_PAGE)
    await person.types(f"kubectl delete pod asked; kubectl delete namespace {NAMESPACE} {OF_THE_PAGE}")


async def enable_gpu_aware(person: Person) -> None:
    """By hand, on the node that has the manifest; our command makes the same of a copy, on another."""
    cluster, name = person.cluster, f"kube-scheduler-{MANAGEMENT}"
    before = (await pods_of(cluster, "kube-system"))[name]["metadata"]["uid"]
    await person.follows("gpu-aware")
    by_hand = await person.types(f"cat {EXTENDERS}")
    address = yaml.safe_load(by_hand)["extenders"][0]["urlPrefix"]
    # The address that the manual's command prints is the Service's in its namespace, and leads to the release's pods.
    alias = (await cluster.api.get(path_of("Service", "gpu-aware-plugin", namespace=OF_THE_PAGE)))["spec"]
    assert (address, alias.get("selector")) == (f"http://{alias['clusterIP']}:8080", None)
    slices = "kubectl get endpointslices --output=jsonpath={.items[*].endpoints[*].addresses[0]} --namespace"
    there, real = (
        f"{slices} {OF_THE_PAGE}",
        f"{slices} {NAMESPACE} -l kubernetes.io/service-name=gpu-aware-service",
    )
    assert (await person.types(there)).split() == (await person.types(real)).split() != []
    enable = f"{TANGRAM} gpu-aware enable --manifest copy.yaml --extender-url {address} --yes"
    await person.types(f"cp own.yaml copy.yaml; {enable}", on=WORKER)
    assert yaml.safe_load(await person.types(f"cat {EXTENDERS}", on=WORKER)) == yaml.safe_load(by_hand)
    assert told(await person.types("cat copy.yaml")) == told(await person.types(f"cat {MANIFEST}"))
    await cluster.until_pod(
        name,
        lambda seen: is_running(seen) and seen["metadata"]["uid"] != before,
        namespace="kube-system",
        what="kube-scheduler running by the new manifest",
    )


def told(manifest: str) -> Object:
    """What a static pod's manifest says, with the lists whose order says nothing in one order."""
    read: Object = yaml.safe_load(manifest)
    (main,) = read["spec"]["containers"]
    main["command"].sort()
    for named in (main["volumeMounts"], read["spec"]["volumes"]):
        named.sort(key=str)
    return read


async def weights_change(person: Person, release: str) -> None:
    """By hand with T3 and then by values: nothing is restarted."""
    cluster = person.cluster
    alive = await lives(cluster, NAMESPACE)
    await person.follows("weights", KUBE_EDITOR="sed -i 's/score: .*/score: \"2.5\"/'")
    await until_weight(person, "score", "2.5")
    chart = f"oci://$DOMAIN/$PROJECT/{CHART}"
    upgrade = (
        f"helm upgrade {release} {chart} -n {NAMESPACE} --wait --reuse-values --set gpuAware.scoreWeight=4"
    )
    assert 'conflict with "kubectl-edit"' in await person.is_refused(upgrade)
    await person.types(f"{upgrade} --force-conflicts")
    await until_weight(person, "score", "4.0")
    assert await lives(cluster, NAMESPACE) == alive

    # Changed otherwise, the one gpu-aware is replaced although its own pods are asked about, too.
    await person.types(f"{upgrade} --set gpuAware.log.level=debug")
    assert {name for name in await lives(cluster, NAMESPACE) if name in alive} == {
        name for name in alive if "gpu-aware" not in name
    }


async def maintained(person: Person, busy: str) -> None:
    """The worker leaves GPU service and comes back; a pod with cards was on it."""
    cluster = person.cluster
    await person.follows("maintenance", NODE=WORKER, PODS=busy)
    away = await cluster.api.get(path_of("Node", WORKER))
    assert not any(key.startswith("metax-tech.com/") for key in away["metadata"]["labels"])
    on_it = [
        name
        for name, seen in (await pods_of(cluster, NAMESPACE)).items()
        if seen["spec"]["nodeName"] == WORKER
    ]
    assert [name.rpartition("-")[0] for name in on_it] == ["metax-gpu-label"]
    await person.follows("maintenance-over", NODE=WORKER)
    await until_served(cluster, WORKER)
    await verified(person, WORKER, 0)
