"""What `tangram migrate hami` prints goes into real helm as it is, and means in our objects what it meant in HAMi's."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.charts.goldens import CHARTS
from builders.commands import run
from e2e.charts_kit import Helm

pytestmark = pytest.mark.smoke

EVERYTHING = {
    "metaxResourceName": "example.com/sgpu",
    "devices": {"metax": {"sgpuTopologyAware": "true"}, "mthreads": {"enabled": True, "memoryPerCard": 160}},
    "schedulerName": "gpu-scheduler",
    "legacyMetrics": True,
    "prometheus": {"enabled": True},
    "global": {"imageRegistry": "registry.example.com", "imagePullSecrets": ["mine"]},
    "scheduler": {
        "replicas": 3,
        "nodeLockExpire": "10m",
        "nodeSelector": {"pool": "system"},
        "tolerations": [{"key": "pool", "operator": "Exists"}],
        "forceOverwriteDefaultScheduler": "false",
        "defaultSchedulerPolicy": {"nodeSchedulerPolicy": "spread", "gpuSchedulerPolicy": "binpack,numa"},
        "kubeScheduler": {"imageTag": "v1.30.1", "resources": {"limits": {"cpu": 1}}},
        "extender": {
            "image": {"pullPolicy": "Always"},
            "resources": {"requests": {"cpu": "1"}},
            "extraArgs": ["-v=6"],
        },
        "certManager": {"enabled": True},
        "admissionWebhook": {"failurePolicy": "Fail", "whitelistNamespaces": ["istio-system"]},
    },
}


def rendered(folder: Path, values: object, *more: str) -> list[dict[str, Any]]:
    printed = run("migrate", "hami", "--values", "-", stdin=json.dumps(values))
    assert printed.status == 0, printed.err
    file = folder / "values.yaml"
    file.write_text(printed.out)
    made = Helm(folder).run(
        "template", "tangram", str(CHARTS / "tangram"), "-f", str(file), "--kube-version", "1.36.3", *more
    )
    assert made.returncode == 0, made.stderr
    return [thing for thing in yaml.safe_load_all(made.stdout) if thing]


def named(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = [
        thing
        for thing in objects
        if (thing["kind"], thing["metadata"]["name"]) == (kind, "tangram-scheduler")
    ]
    return found


@pytest.mark.parametrize(
    "values", [None, {}, {"scheduler": {"replicas": 1}}], ids=["null", "empty", "one replica"]
)
def test_a_plain_release_of_hamis_becomes_one_of_ours_without_agents(tmp_path: Path, values: object) -> None:
    objects = rendered(tmp_path, values)
    assert [thing["metadata"]["name"] for thing in objects if thing["kind"] == "DaemonSet"] == []
    assert named(objects, "Deployment")["spec"]["replicas"] == 2


def test_helm_takes_every_value_that_is_carried_over_and_it_arrives(tmp_path: Path) -> None:
    objects = rendered(
        tmp_path,
        EVERYTHING,
        *("--set", "certificates.issuerRef.name=mine"),
        *("--api-versions", "monitoring.coreos.com/v1", "--api-versions", "cert-manager.io/v1"),
    )
    files = named(objects, "ConfigMap")["data"]
    settings = yaml.safe_load(files["scheduler.yaml"])
    assert (settings["nodePolicy"], settings["cardPolicy"]) == ("spread", "binpack,numa")
    assert (settings["zoneAware"], settings["nodeLockSeconds"]) == (True, 600)
    assert settings["forceOverwriteDefaultScheduler"] is False
    names = yaml.safe_load(files["device-config.yaml"])
    assert (names["metax"]["resourceVCountName"], names["mthreads"]) == (
        "example.com/sgpu",
        {"memoryPerCard": [160]},
    )
    deployment = named(objects, "Deployment")["spec"]
    ours, theirs = deployment["template"]["spec"]["containers"]
    assert deployment["replicas"] == 3
    assert deployment["template"]["spec"]["imagePullSecrets"] == [{"name": "mine"}]
    assert deployment["template"]["spec"]["nodeSelector"]["pool"] == "system"
    assert {"key": "pool", "operator": "Exists"} in deployment["template"]["spec"]["tolerations"]
    assert theirs["image"] == "registry.example.com/google_containers/kube-scheduler:v1.30.1"
    assert theirs["resources"]["limits"] == {"cpu": 1}
    assert (ours["imagePullPolicy"], ours["resources"]["requests"]["cpu"]) == ("Always", "1")
    assert ours["args"][ours["args"].index("--scheduler-name") + 1] == "gpu-scheduler"
    assert ours["args"][ours["args"].index("--log-level") + 1] == "debug"
    assert "--legacy-metrics" in ours["args"]
    (hook,) = named(objects, "MutatingWebhookConfiguration")["webhooks"]
    assert hook["failurePolicy"] == "Fail"
    assert "istio-system" in json.dumps(hook["namespaceSelector"])
    assert [thing["kind"] for thing in objects if thing["kind"] in ("Certificate", "ServiceMonitor")] != []
