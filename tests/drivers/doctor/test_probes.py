"""Every probe tells what it found, why it matters and what to do, on nodes in every state."""

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

from builders import mxsml_twin
from builders.hosts import MTHREADS, Host
from tangram.drivers.doctor import kernel, kubelet, leftovers, libraries, nodes, runtimes, tools
from tangram.drivers.doctor.findings import Finding, Findings, Outcome
from tangram.drivers.doctor.machine import Machine

BDFS = ("0000:0e:00.0", "0000:0f:00.0")
OK, WARN, FAIL, SKIP = Outcome.OK, Outcome.WARN, Outcome.FAIL, Outcome.SKIP
Look = Callable[[Machine], Findings]
Grow = Callable[[Host], None]


def look(probe: Look, root: Path) -> list[Finding]:
    return list(probe(Machine(root)))


def outcomes(found: Iterable[Finding]) -> list[tuple[str, Outcome]]:
    return [(finding.check, finding.outcome) for finding in found]


def metax(host: Host) -> None:
    host.metax(BDFS)


def mthreads(host: Host) -> None:
    host.mthreads(BDFS)


def bare_metax(host: Host) -> None:
    for number, bdf in enumerate(BDFS):
        host.card(bdf, number, bound=False)


def bare_mthreads(host: Host) -> None:
    for number, bdf in enumerate(BDFS):
        host.card(bdf, number, MTHREADS, bound=False)


def stopped_kubelet(host: Host) -> None:
    host.folder("/var/lib/kubelet")


def nothing(_: Host) -> None:
    pass


NO_LIBRARY = partial(libraries.metax_library, None, {})
NO_MTML = partial(libraries.mthreads_library, None, {})


@pytest.mark.parametrize(
    ("probe", "grow", "expected"),
    [
        pytest.param(
            kernel.metax_module,
            metax,
            [("metax-module", OK), ("metax-binding", OK), ("metax-mode", OK)],
            id="metax-module-loaded",
        ),
        pytest.param(kernel.metax_module, nothing, [("metax-module", SKIP)], id="metax-absent"),
        pytest.param(kernel.metax_module, bare_metax, [("metax-module", FAIL)], id="metax-module-missing"),
        pytest.param(kernel.metax_slicing, metax, [("metax-sgpu", OK)], id="metax-switch"),
        pytest.param(kernel.metax_slicing, bare_metax, [("metax-sgpu", WARN)], id="metax-no-switch"),
        pytest.param(kernel.metax_slicing, nothing, [], id="metax-switch-absent"),
        pytest.param(
            kernel.mthreads_module,
            mthreads,
            [("mthreads-module", OK), ("mthreads-binding", OK)],
            id="mthreads-module-loaded",
        ),
        pytest.param(kernel.mthreads_module, nothing, [("mthreads-module", SKIP)], id="mthreads-absent"),
        pytest.param(
            kernel.mthreads_module, bare_mthreads, [("mthreads-module", FAIL)], id="mthreads-module-missing"
        ),
        pytest.param(kernel.mthreads_slicing, mthreads, [("mthreads-sgpu", OK)], id="sgpu-km"),
        pytest.param(kernel.mthreads_slicing, bare_mthreads, [("mthreads-sgpu", WARN)], id="no-sgpu-km"),
        pytest.param(kernel.mthreads_slicing, nothing, [], id="sgpu-km-absent"),
        pytest.param(nodes.metax_nodes, metax, [("metax-nodes", OK)], id="metax-nodes"),
        pytest.param(nodes.metax_nodes, bare_metax, [("metax-nodes", FAIL)], id="metax-no-control-node"),
        pytest.param(nodes.metax_nodes, nothing, [], id="metax-nodes-absent"),
        pytest.param(nodes.mthreads_nodes, mthreads, [("mthreads-nodes", OK)], id="mthreads-nodes"),
        pytest.param(nodes.mthreads_nodes, bare_mthreads, [("mthreads-nodes", FAIL)], id="mthreads-no-nodes"),
        pytest.param(NO_LIBRARY, metax, [("metax-library", FAIL)], id="metax-no-library"),
        pytest.param(NO_LIBRARY, nothing, [], id="metax-library-not-needed"),
        pytest.param(NO_MTML, mthreads, [("mthreads-library", FAIL)], id="mthreads-no-library"),
        pytest.param(tools.metax_tool, metax, [("metax-tool", OK)], id="mx-smi"),
        pytest.param(tools.metax_tool, bare_metax, [("metax-tool", WARN)], id="no-mx-smi"),
        pytest.param(tools.mthreads_tool, mthreads, [("mthreads-tool", OK)], id="gmi"),
        pytest.param(tools.mthreads_tool, bare_mthreads, [("mthreads-tool", WARN)], id="no-gmi"),
        pytest.param(runtimes.container_runtime, nothing, [("container-runtime", SKIP)], id="no-runtime"),
        pytest.param(runtimes.cdi, nothing, [("cdi-folder", SKIP)], id="no-cdi"),
        pytest.param(runtimes.mthreads_toolkit, mthreads, [("mthreads-toolkit", OK)], id="toolkit"),
        pytest.param(runtimes.mthreads_toolkit, bare_mthreads, [("mthreads-toolkit", WARN)], id="no-toolkit"),
        pytest.param(runtimes.metax_runtime, metax, [("metax-runtime", OK)], id="metax-runtime"),
        pytest.param(kubelet.kubelet_sockets, nothing, [("kubelet", SKIP)], id="no-kubelet"),
        pytest.param(
            kubelet.kubelet_sockets,
            stopped_kubelet,
            [("kubelet-plugins", FAIL), ("kubelet-pod-resources", WARN)],
            id="kubelet-is-down",
        ),
        pytest.param(
            kubelet.kubelet_sockets,
            Host.kubernetes,
            [("kubelet-plugins", OK), ("kubelet-pod-resources", OK)],
            id="kubelet",
        ),
        pytest.param(kubelet.device_plugins, Host.kubernetes, [("device-plugins", OK)], id="no-plugin"),
        pytest.param(leftovers.vendor_parts, nothing, [("vendor-components", SKIP)], id="no-pods"),
        pytest.param(leftovers.vendor_parts, Host.kubernetes, [("vendor-components", OK)], id="no-leftovers"),
    ],
)
def test_what_a_probe_finds(
    tmp_path: Path, probe: Look, grow: Grow, expected: list[tuple[str, Outcome]]
) -> None:
    grow(Host(tmp_path))
    found = look(probe, tmp_path)
    assert outcomes(found) == expected
    assert all(finding.todo for finding in found if finding.outcome in (WARN, FAIL)), "a fault has a remedy"
    assert all(finding.why for finding in found)


def test_a_card_held_by_another_driver_is_told_with_its_holder(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.metax(BDFS)
    host.card("0000:1e:00.0", 2, ("0x9999", "0x120000", "vfio-pci"))
    binding = look(kernel.metax_module, tmp_path)[1]
    assert binding.outcome is WARN
    assert "1 of 3 cards" in binding.why
    assert "held by vfio-pci): 0000:1e:00.0" in binding.why


def test_the_cloud_driver_is_told_from_the_native_one(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.metax(BDFS)
    host.module("mxgvm")
    assert "cloud" in look(kernel.metax_module, tmp_path)[-1].why


def test_links_switched_off_at_loading_are_told(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.mthreads(BDFS)
    host.module("mtgpu", enable_mtlink="0")
    found = look(kernel.mthreads_module, tmp_path)[-1]
    assert (found.check, found.outcome) == ("mthreads-mtlink", WARN)


def test_a_slicing_module_that_holds_no_card_is_told(tmp_path: Path) -> None:
    Host(tmp_path).mthreads(BDFS, sliced="")
    assert outcomes(look(kernel.mthreads_slicing, tmp_path)) == [("mthreads-sgpu", WARN)]


def test_an_audio_function_is_no_card(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.mthreads(BDFS)
    host.write("/sys/bus/pci/devices/0000:0e:00.1/vendor", "0x1ed5\n")
    host.write("/sys/bus/pci/devices/0000:0e:00.1/class", "0x040100\n")
    assert "4 nodes" not in look(nodes.mthreads_nodes, tmp_path)[0].why
    assert "for 2 cards" in look(nodes.mthreads_nodes, tmp_path)[0].why


def test_a_node_the_kernel_names_and_dev_lacks_is_a_failure(tmp_path: Path) -> None:
    Host(tmp_path).metax(BDFS)
    (tmp_path / "dev/dri/renderD129").unlink()
    found = look(nodes.metax_nodes, tmp_path)
    assert outcomes(found) == [("metax-nodes", FAIL)]
    assert "/dev/dri/renderD129" in found[0].why


def test_an_old_toolkit_is_a_failure(tmp_path: Path) -> None:
    Host(tmp_path).mthreads(BDFS, toolkit="1.9.0-1")
    found = look(runtimes.mthreads_toolkit, tmp_path)
    assert outcomes(found) == [("mthreads-toolkit", FAIL)]
    assert "newer than 1.9.0" in found[0].why


def test_a_toolkit_of_unknown_version_is_to_be_looked_at(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.mthreads(BDFS)
    host.write("/var/lib/dpkg/status", "Package: bash\nVersion: 5\n")
    host.program("/usr/bin/musa/mthreads-container-runtime")
    assert outcomes(look(runtimes.mthreads_toolkit, tmp_path)) == [("mthreads-toolkit", WARN)]


@pytest.mark.parametrize(
    ("config", "outcome"),
    [
        pytest.param("version = 2\n", WARN, id="not-mentioned"),
        pytest.param("version = 2\nenable_cdi = true\n", OK, id="on"),
        pytest.param("version = 3\n", OK, id="on-by-default"),
        pytest.param("version = 3\n  enable_cdi = false\n", WARN, id="switched-off"),
        pytest.param("# enable_cdi = true\nversion = 2\n", WARN, id="only-a-comment"),
    ],
)
def test_whether_containerd_reads_cdi(tmp_path: Path, config: str, outcome: Outcome) -> None:
    Host(tmp_path).write("/etc/containerd/config.toml", config)
    assert ("cdi-enabled", outcome) in outcomes(look(runtimes.cdi, tmp_path))


def test_slices_of_moore_threads_need_their_runtime(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.mthreads(BDFS)
    host.write("/etc/docker/daemon.json", "{}")
    assert outcomes(look(runtimes.container_runtime, tmp_path)) == [("container-runtime", WARN)]
    host.write("/etc/docker/daemon.json", '{"default-runtime": "mthreads"}')
    assert outcomes(look(runtimes.container_runtime, tmp_path)) == [("container-runtime", OK)]


@pytest.mark.parametrize(
    ("sockets", "outcome"),
    [
        pytest.param(["metax-gpu.sock"], WARN, id="the-vendors-alone"),
        pytest.param(["tangram-metax.sock"], OK, id="ours-alone"),
        pytest.param(["metax-gpu.sock", "tangram-metax.sock"], FAIL, id="both"),
        pytest.param(["mt-gpu-plugin.sock", "tangram-metax.sock"], WARN, id="different-vendors"),
    ],
)
def test_two_plugins_for_the_same_cards_clash(tmp_path: Path, sockets: list[str], outcome: Outcome) -> None:
    host = Host(tmp_path)
    host.kubernetes()
    for name in sockets:
        host.socket(f"/var/lib/kubelet/device-plugins/{name}")
    assert outcomes(look(kubelet.device_plugins, tmp_path)) == [("device-plugins", outcome)]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"Data": 3}', "[" * 100_000])
def test_an_unreadable_record_of_kubelet_is_no_obstacle(tmp_path: Path, content: str) -> None:
    host = Host(tmp_path)
    host.kubernetes()
    host.write("/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint", content)
    assert outcomes(look(kubelet.device_plugins, tmp_path)) == [("device-plugins", OK)]


def test_what_kubelet_has_on_record_is_told(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.kubernetes()
    record = {"Data": {"RegisteredDevices": {"metax-tech.com/gpu": ["a"], "nvidia.com/gpu": []}}}
    host.write("/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint", json.dumps(record))
    assert look(kubelet.device_plugins, tmp_path)[0].why == "kubelet has on record metax-tech.com/gpu"


@pytest.mark.parametrize("pod", ["mt-mutating-webhook-7c9-x2x", "mt-gpu-scheduler-0", "metax-gpu-aware-lq2"])
def test_a_part_that_is_no_longer_needed_is_told(tmp_path: Path, pod: str) -> None:
    Host(tmp_path).kubernetes(pod, "coredns-1")
    found = look(leftovers.vendor_parts, tmp_path)
    assert outcomes(found) == [("vendor-components", WARN)]
    assert pod in found[0].why


def test_a_static_pod_is_found_by_its_manifest(tmp_path: Path) -> None:
    Host(tmp_path).write("/etc/kubernetes/manifests/mt-gpu-scheduler.yaml")
    assert outcomes(look(leftovers.vendor_parts, tmp_path)) == [("vendor-components", WARN)]


def test_a_file_that_is_no_library_is_told_with_the_loaders_words(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.metax(BDFS)
    host.write("/opt/mxdriver/lib/libmxsml.so", "no library at all")
    found = look(NO_LIBRARY, tmp_path)
    assert outcomes(found) == [("metax-library", FAIL)]
    assert "cannot be loaded" in found[0].why


def test_the_library_that_the_driver_would_load_is_the_one_examined(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "libmtml.so.2").write_text("no library at all")
    host = Host(tmp_path / "host")
    mthreads(host)
    probe = partial(libraries.mthreads_library, None, {"MTML_LIBRARY_PATH": str(mine)})
    (found, _) = look(probe, host.root)
    assert (found.check, found.outcome) == ("mthreads-library", FAIL)
    assert str(mine / "libmtml.so.2") in found.why


def older_library(tmp_path: Path, *left_out: str) -> Finding:
    """What is found of MetaX's library without those functions."""
    library = mxsml_twin.Twin(tmp_path, mxsml_twin.c500(1), left_out=left_out).library
    return look(partial(libraries.metax_library, str(library), {}), tmp_path)[0]


@pytest.fixture
def twins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(mxsml_twin.RULES, "")
    monkeypatch.setenv(mxsml_twin.SYSFS, "")


@pytest.mark.usefixtures("twins")
@pytest.mark.parametrize(
    "left_out",
    [
        pytest.param(("mxSmlGetProcessInfo_v3",), id="one-step"),
        pytest.param(("mxSmlGetProcessInfo_v3", "mxSmlGetSingleGpuProcess_v3"), id="v3-of-both-kinds"),
        pytest.param(
            ("mxSmlGetProcessInfo_v3", "mxSmlGetSingleGpuProcess_v3", "mxSmlGetSingleGpuProcess_v2"),
            id="only-the-first-form",
        ),
    ],
)
def test_an_older_form_of_a_function_stands_in_however_old(tmp_path: Path, left_out: tuple[str, ...]) -> None:
    found = older_library(tmp_path, *left_out)
    assert (found.check, found.outcome) == ("metax-library", OK)
    assert "older ones in place of the rest" in found.why


@pytest.mark.usefixtures("twins")
def test_functions_without_any_older_form_are_missed_by_name(tmp_path: Path) -> None:
    found = older_library(
        tmp_path,
        "mxSmlGetProcessInfo_v3",
        "mxSmlGetSingleGpuProcess_v3",
        "mxSmlGetSingleGpuProcess_v2",
        "mxSmlGetSingleGpuProcess",
    )
    assert found.outcome is WARN
    assert "lacks 4 of" in found.why
