"""The charts, rendered by real helm in every case that people may choose, and taken by a real API server."""

import json
import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from builders.charts.cases import (
    CHARTS,
    EXTENSIONS,
    NEWEST,
    NOTED,
    OPERATOR,
    TANGRAM,
    Case,
    case_named,
    cases,
)
from builders.charts.goldens import CHARTS as FOLDER
from builders.charts.goldens import (
    GOLDENS,
    ROOT,
    Object,
    by_key,
    golden_file,
    keep,
    objects_of,
    without_version,
    written,
)
from e2e.charts_kit import Helm
from testbed.binaries import find_binaries
from testbed.cluster import Cluster
from testbed.options import Options

CRD = ROOT / "deploy" / "crds" / "gpu.metax-tech.com_clusteroperators.yaml"
REFRESH = "TANGRAM_REFRESH" in os.environ
ALL = [pytest.param(case, id=f"{case.chart}-{case.name}") for chart in CHARTS for case in cases(chart)]

pytestmark = pytest.mark.smoke


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(tmp_path_factory.mktemp("helm"))


@pytest.mark.parametrize("case", ALL)
def test_helm_makes_of_a_case_what_is_kept_of_it(helm: Helm, case: Case) -> None:
    objects = helm.render(case)
    if REFRESH:
        keep(case, objects)
    assert golden_file(case).read_text("utf-8") == written(case, objects)
    assert by_key(objects_of(case)) == by_key(objects)


@pytest.mark.parametrize("case", ALL)
def test_helm_finds_nothing_wrong_with_a_case(helm: Helm, case: Case) -> None:
    found = helm.lint(case)
    assert (found.returncode, found.stdout.strip(), found.stderr.strip()) == (0, "", "")


@pytest.mark.parametrize(
    ("chart", "name"),
    [pytest.param(chart, name, id=f"{chart}-{name}") for chart in CHARTS for name in NOTED[chart]],
)
def test_people_read_after_an_installation_what_is_kept(helm: Helm, chart: str, name: str) -> None:
    file = GOLDENS / chart / "notes" / f"{name}.txt"
    said = without_version(chart, helm.notes(case_named(chart, name)))
    if REFRESH:
        file.parent.mkdir(exist_ok=True)
        file.write_text(said, "utf-8")
    assert said == file.read_text("utf-8")


NO_SUCH = "value must be 'left out: there is no such option; here are "
MACA_IMAGES = (
    "at '/maca/payload/images': value must be 'a list of images by name and tag without registry, each once and named "
    "after its product, such as maca-c500:2.18.0.3-ubuntu18.04-amd64, mxn100-maca:TAG or maca-native:TAG; on the "
    "command line {IMAGE1,IMAGE2}'"
)


@pytest.mark.parametrize(
    ("chart", "given", "sentence"),
    [
        pytest.param(
            TANGRAM,
            "regsitry=x",
            f"at '/regsitry': {NO_SUCH}certificates, cleanup, dashboard, deployExtenderGPUAware, device, devices, "
            "gpuAware, gpuDevice, gpuLabel, imagePullSecrets, log, monitoring, pullPolicy, registry and scheduler'",
            id="an option misspelled",
        ),
        pytest.param(
            TANGRAM,
            "scheduler.replica=3",
            f"at '/scheduler/replica': {NO_SUCH}clientCA, config, deviceConfig, enabled, kubeScheduler, "
            "legacyMetrics, log, name, nodeSelector, profiles, replicas, resources, tolerations, trustedAccounts, "
            "trustedAgentAccounts and webhook'",
            id="one inside another",
        ),
        pytest.param(
            TANGRAM,
            "devices.nvidia.enabled=true",
            f"at '/devices/nvidia': {NO_SUCH}metax and mthreads'",
            id="a vendor of HAMi's",
        ),
        pytest.param(
            TANGRAM,
            "device.mthreads.memoryPerCard=96",
            f"at '/device/mthreads/memoryPerCard': {NO_SUCH}enabled'",
            id="an option of HAMi's",
        ),
        pytest.param(
            TANGRAM,
            "scheduler.log.dir=/x",
            f"at '/scheduler/log/dir': {NO_SUCH}format and level'",
            id="an option that only others have",
        ),
        pytest.param(
            EXTENSIONS,
            "gpuLabel.enabled=false",
            f"at '/gpuLabel/enabled': {NO_SUCH}driver, driverMode, log, productNames and resources'",
            id="an option of the other chart",
        ),
        pytest.param(
            EXTENSIONS,
            "log.level=verbose",
            "at '/log/level': value must be one of 'debug', 'info', 'warning', 'warn', 'error', 'fatal'",
            id="no level",
        ),
        pytest.param(
            EXTENSIONS,
            "log.maxAge=26",
            "at '/log/maxAge': value must be 'a number of weeks, days or hours, such as 1w, 7d or 168h'",
            id="a time without its unit",
        ),
        pytest.param(
            EXTENSIONS,
            "pullPolicy=always",
            "at '/pullPolicy': value must be one of 'IfNotPresent', 'Always', 'Never'",
            id="a policy in small letters",
        ),
        pytest.param(
            EXTENSIONS,
            "gpuDevice.healthyInterval=-1",
            "at '/gpuDevice/healthyInterval': value must be 'a whole number of seconds up to 3600, or 0 for no health "
            "checks'",
            id="less than nothing",
        ),
        pytest.param(
            EXTENSIONS,
            "gpuAware.scoreWeight=heavy",
            "at '/gpuAware/scoreWeight': value must be 'a number from 0 to 999999 with at most six decimals, such as "
            '"1.0"\'',
            id="a weight that is no number",
        ),
        pytest.param(
            TANGRAM,
            "imagePullSecrets={my-registry}",
            "at '/imagePullSecrets': value must be 'a list of Secrets by name, such as [{name: my-registry}]'",
            id="names where references belong",
        ),
        pytest.param(
            EXTENSIONS,
            "log.dir=/var/log/../metax",
            "at '/log/dir': value must be 'a folder of the node by its whole path without .. in it, such as "
            "/var/log/metax, or an empty text for no files'",
            id="a folder that the API server would refuse half way",
        ),
        pytest.param(
            EXTENSIONS,
            "gpuLabel.log.dir=/",
            "at '/gpuLabel/log/dir': value must be 'a folder of the node by its whole path without .. in it, such as "
            "/var/log/metax, or an empty text for no files'",
            id="the whole host as a folder",
        ),
        pytest.param(
            EXTENSIONS,
            "gpuDevice.resources.limits.memroy=1Gi",
            "at '/gpuDevice/resources/limits': value must be 'amounts of cpu, memory and ephemeral-storage, such as "
            "cpu: 100m and memory: 128Mi'",
            id="an amount of nothing",
        ),
        pytest.param(
            EXTENSIONS,
            "gpuDevice.driver=nvml",
            "at '/gpuDevice/driver': value must be 'auto, mxsml, mx-smi, sysfs, mtml or gmi, the latter five also with "
            "a colon and the path of what they use'",
            id="a driver that nobody knows",
        ),
        pytest.param(
            EXTENSIONS,
            "gpuDevice.nodeSelector.ready=true",
            "at '/gpuDevice/nodeSelector': value must be 'labels of nodes, each a text, such as gpu-served-by: "
            'tangram; for numbers and true write quotes, as in "1"\'',
            id="a label that is no text",
        ),
        pytest.param(
            TANGRAM,
            "scheduler.tolerations[0].effect=NoStart",
            "at '/scheduler/tolerations': value must be 'a list of tolerations as in a pod, each with any of key, "
            "operator, value, effect and tolerationSeconds'",
            id="an effect that nobody knows",
        ),
        pytest.param(
            TANGRAM,
            "scheduler.profiles.hami=maybe",
            "at '/scheduler/profiles/hami': value must be one of 'auto', true, false",
            id="neither on nor off",
        ),
        pytest.param(
            TANGRAM,
            "scheduler.config.nodePolicy=random",
            "at '/scheduler/config/nodePolicy': value must be one of 'binpack', 'spread', 'frag'",
            id="a policy that nobody knows",
        ),
        pytest.param(
            TANGRAM,
            "monitoring.serviceMonitor.interval=often",
            "at '/monitoring/serviceMonitor/interval': value must be 'a time such as 30s or 1m'",
            id="no time",
        ),
        pytest.param(
            TANGRAM,
            "certificates.source=cert-manager",
            "certificates.source is cert-manager and certificates.issuerRef.name is empty: an Issuer signs the "
            "certificate; write certificates.issuerRef.name, and certificates.issuerRef.kind=ClusterIssuer if it is "
            "one.",
            id="an option without the one it needs",
        ),
        pytest.param(
            TANGRAM,
            "scheduler.kubeScheduler.enabled=false",
            "scheduler.kubeScheduler.enabled is false and scheduler.clientCA is empty: nobody could call tangram then; "
            "write the name of a ConfigMap of this namespace whose ca.crt has signed the certificate that your "
            "kube-scheduler calls with (docs/install.md).",
            id="a scheduler that nobody calls",
        ),
        pytest.param(
            TANGRAM,
            "devices.metax.enabled=false,device.mthreads.enabled=false",
            "devices.metax.enabled and devices.mthreads.enabled are both false: nothing would be served then; leave "
            "one of them out.",
            id="no vendor",
        ),
        pytest.param(
            TANGRAM,
            "devices.metax.enabled=false,deployExtenderGPUAware=true",
            "deployExtenderGPUAware is true and devices.metax.enabled is false: gpu-aware weighs the cards of MetaX "
            "alone; leave one of the two out.",
            id="weights of cards that are left alone",
        ),
        pytest.param(
            TANGRAM,
            "scheduler.kubeScheduler.imageTag=v1.36.3,scheduler.kubeScheduler.image.tag=v1.36.4",
            "scheduler.kubeScheduler.imageTag is v1.36.3 and scheduler.kubeScheduler.image.tag is v1.36.4: they are "
            "two spellings of one option; leave one of them out.",
            id="a version in two spellings",
        ),
        pytest.param(
            EXTENSIONS,
            "gpuLabel.productNames=long",
            "at '/gpuLabel/productNames': value must be one of 'library', 'short'",
            id="an unknown spelling",
        ),
        pytest.param(
            OPERATOR,
            "pullPolicy=Always",
            "driver.payload.version is empty and driver.deployPolicy is IfNotPresent: the driver comes from image "
            "driver-image, whose tag must be given; write --set driver.payload.version=TAG, or "
            "driver.deployPolicy=Never if all nodes have their driver.",
            id="a driver of no version",
        ),
        pytest.param(
            OPERATOR,
            "driver.deployPolicy=Sometimes",
            "at '/driver/deployPolicy': value must be one of 'IfNotPresent', 'Always', 'Never', 'IfNewer', "
            "'PreferCloud', 'PreferHost', 'PreferNewer', 'IfNotExist'",
            id="a policy of drivers that nobody knows",
        ),
        pytest.param(
            OPERATOR,
            "driver.payload.version=7",
            "at '/driver/payload/version': value must be 'the tag of an image as a text, such as 2.32.0-amd64 "
            "(--set-string for a tag that is a number)'",
            id="a tag that is a number",
        ),
        pytest.param(
            OPERATOR,
            "driver.payload.name=driver-image:2.32.0",
            "at '/driver/payload/name': value must be 'the name of an image without registry and tag, such as "
            "driver-image'",
            id="a name with its tag",
        ),
        pytest.param(
            OPERATOR,
            "driver.payload.registry=https://r.example.com/gpu",
            "at '/driver/payload/registry': value must be 'DOMAIN/PROJECT of a registry, such as "
            "harbor.example.com/gpu, or an empty text for that of all images'",
            id="a registry as an address",
        ),
        pytest.param(
            OPERATOR,
            "maca.payload.images=maca-c500:2.18.0.3",
            MACA_IMAGES,
            id="one image where a list belongs",
        ),
        pytest.param(
            OPERATOR,
            "maca.payload.images={cr.metax-tech.com/library/maca-c500}",
            MACA_IMAGES,
            id="an image without its tag",
        ),
        pytest.param(
            OPERATOR,
            "maca.payload.images={maca-x900:2.18.0.3}",
            MACA_IMAGES,
            id="an image for a product that nobody knows",
        ),
        pytest.param(
            OPERATOR,
            "driver.upgradePolicy.maxUnavailable=0",
            "at '/driver/upgradePolicy/maxUnavailable': value must be 'a number of nodes from 1 on, or a percentage "
            "from 1% to 100%'",
            id="no node at a time",
        ),
        pytest.param(
            OPERATOR,
            "runtime.log.rotationTime=1y",
            "at '/runtime/log/rotationTime': value must be 'a number of weeks, days or hours, such as 1w, 7d or 168h'",
            id="years of logs",
        ),
        pytest.param(
            OPERATOR,
            "dataExporter.deploy=true",
            f"at '/dataExporter': {NO_SUCH}certificates, cleanup, deployExtenderGPUAware, driver, gpuAware, "
            "gpuDevice, gpuLabel, gpuScheduler, imagePullSecrets, log, maca, operator, pullPolicy, registry, runtime "
            "and scheduler'",
            id="a block of the vendor that is not here",
        ),
        pytest.param(
            OPERATOR,
            "driver.fwUpgradePolicy=PreferCloud,driver.payload.version=v1",
            "driver.fwUpgradePolicy is PreferCloud: there is no public interface by which the firmware of a card could "
            "be written; update the firmware by hand (mx-smi -u, see MetaX's guide), and write Never.",
            id="firmware",
        ),
        pytest.param(
            OPERATOR,
            "driver.fwEnableVirt=true,driver.payload.version=v1",
            "driver.fwEnableVirt is true: there is no public interface by which virtualization could be switched on in "
            "firmware; update the firmware by hand (mx-smi -u, see MetaX's guide), and write false.",
            id="virtualization in firmware",
        ),
        pytest.param(
            OPERATOR,
            "driver.deviceAsRootGroup=true,driver.payload.version=v1",
            "driver.deviceAsRootGroup is true: who owns the device nodes of a host is decided by its udev rules, which "
            "would undo it; write such a rule on the hosts, and false here.",
            id="device nodes of another group",
        ),
    ],
)
def test_a_wrong_option_is_answered_with_a_sentence(
    helm: Helm, chart: str, given: str, sentence: str
) -> None:
    ended = helm.run("template", "x", str(FOLDER / chart), "--set", given)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.count(sentence) == 1, ended.stderr
    assert ended.stderr.count("value must be") + ended.stderr.count("execution error") == 1, ended.stderr


@pytest.mark.parametrize(
    ("chart", "options"),
    [
        pytest.param(
            TANGRAM, ("scheduler.deviceConfig", "scheduler.nodeSelector", "scheduler.tolerations"), id=TANGRAM
        ),
        pytest.param(EXTENSIONS, (), id=EXTENSIONS),
        pytest.param(OPERATOR, ("operator.nodeSelector", "operator.tolerations"), id=OPERATOR),
    ],
)
def test_what_is_empty_may_be_taken_away_too(helm: Helm, chart: str, options: tuple[str, ...]) -> None:
    shared = ("imagePullSecrets", "gpuDevice.deviceConfig", "gpuDevice.nodeSelector")
    needed = ("--set", "driver.payload.version=v1") if chart == OPERATOR else ()
    chosen = ("template", chart, str(FOLDER / chart), *needed)
    taken = helm.run(*chosen, "--set", ",".join(f"{option}=null" for option in (*shared, *options)))
    assert (taken.returncode, taken.stderr) == (0, "")
    assert taken.stdout == helm.run(*chosen).stdout


@pytest.mark.parametrize(
    ("version", "tag"),
    [
        pytest.param("v1.31.4", "v1.31.4", id="as released"),
        pytest.param("v1.31.4+k3s1", "v1.31.4", id="k3s"),
        pytest.param("v1.31.4-eks-a1b2c3", "v1.31.4", id="EKS"),
        pytest.param("v1.31.4-gke.1182000", "v1.31.4", id="GKE"),
        pytest.param("v1.37.0-rc.1", "v1.37.0-rc.1", id="before its release"),
        pytest.param("v1.37.0-alpha.2.15+0123abc", "v1.37.0-alpha.2", id="built by somebody"),
    ],
)
def test_kube_scheduler_is_of_the_clusters_version_whoever_built_that(
    helm: Helm, version: str, tag: str
) -> None:
    made = helm.run("template", "x", str(FOLDER / TANGRAM), "--kube-version", version)
    assert f'image: "registry.k8s.io/kube-scheduler:{tag}"\n' in made.stdout


def test_the_scheduler_runs_on_linux_whatever_is_selected(helm: Helm) -> None:
    chosen = ("--set", r"scheduler.nodeSelector.kubernetes\.io/os=windows")
    made = helm.run("template", "x", str(FOLDER / TANGRAM), *chosen)
    assert made.returncode == 0
    assert "windows" not in made.stdout


def test_a_cluster_that_is_too_old_is_refused_with_what_is_needed(helm: Helm) -> None:
    for chart in CHARTS:
        ended = helm.run("template", "x", str(FOLDER / chart), "--kube-version", "1.22.17")
        assert ended.returncode == 1
        assert (
            "chart requires kubeVersion: >=1.23.0-0 which is incompatible with Kubernetes v1.22.17"
            in ended.stderr
        )


@pytest_asyncio.fixture(scope="module")
async def plain() -> AsyncIterator[Cluster]:
    """A cluster without nodes of any kind: only its API server is asked."""
    async with Cluster.open(Options(nodes=0)) as running:
        for file in (GOLDENS / "definitions.yaml", CRD):
            defined = await running.kubectl("apply", "-f", str(file))
            assert defined.status == 0, defined.errors
        for name in (
            "clusteroperators.gpu.metax-tech.com",
            "servicemonitors.monitoring.coreos.com",
            "podmonitors.monitoring.coreos.com",
            "certificates.cert-manager.io",
        ):
            ready = await running.kubectl(
                "wait", "--for=condition=Established", f"crd/{name}", "--timeout=30s"
            )
            assert ready.status == 0, ready.errors
        yield running


def distinct(version: str) -> dict[str, Object]:
    """Every object of every case for clusters of that version once, whatever it is called."""
    found: dict[str, Object] = {}
    for case in (each for chart in CHARTS for each in cases(chart)):
        if case.kube == version:
            found |= {json.dumps(thing, sort_keys=True): thing for thing in objects_of(case)}
    return found


async def test_a_real_api_server_takes_every_object_of_every_case_and_knows_each_field(
    plain: Cluster,
) -> None:
    assert f"v{NEWEST}" == find_binaries().version("kubernetes")
    things = list(distinct(NEWEST).values())
    for namespace in sorted({each["metadata"].get("namespace", "default") for each in things}):
        # Some of the things are such namespaces, and apply warns of one that it has not made.
        made = await plain.kubectl("create", "namespace", namespace, "--save-config")
        assert made.status == 0 or "already exists" in made.errors
    text = "\n---\n".join(json.dumps(each) for each in things)
    taken = await plain.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=text)
    assert (taken.status, taken.errors) == (0, "")
    assert len(taken.output.splitlines()) == len(things)


async def test_a_real_api_server_would_refuse_a_misspelled_field_of_every_kind(plain: Cluster) -> None:
    kinds = {each["kind"]: each for each in distinct(NEWEST).values() if "spec" in each}
    for kind, thing in kinds.items():
        wrong = thing | {
            "spec": thing["spec"] | {"selektor": {}},
            "metadata": thing["metadata"] | {"name": "wrong"},
        }
        refused = await plain.kubectl(
            "apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=json.dumps(wrong)
        )
        assert "selektor" in refused.errors, kind
