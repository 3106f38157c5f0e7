"""`tangram driver-manager` from its command line: what is refused, and a start to an end on a simulated node."""

from pathlib import Path

import pytest

from builders.commands import run

USUAL = ("--node-name", "gpu-1", "--driver-payload", "reg/driver-image:2.32.0", "--log-dir", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--driver-payload", "x"), "no node is named"),
        (("--node-name", "gpu-1"), "no --driver-payload is given: name the image of the driver"),
        (
            (*USUAL, "--deploy-policy", "Sometimes"),
            "driver.deployPolicy is 'Sometimes': it is one of IfNotPresent",
        ),
        ((*USUAL, "--firmware-upgrade", "PreferCloud"), "there is no public interface to write the firmware"),
        ((*USUAL, "--firmware-effect", "Now"), "--firmware-effect is 'Now': it is WaitReboot, NextReboot"),
        ((*USUAL, "--firmware-virtualization"), "there is no public interface to switch virtualization on"),
        ((*USUAL, "--device-as-root-group"), "decided by its udev rules"),
        ((*USUAL, "--loader", "magic"), "the loader is 'magic'"),
        ((*USUAL, "--driver", "magic"), "the driver is 'magic'"),
        ((*USUAL, "--host-root", "nowhere"), "--host-root is 'nowhere', which is no folder"),
        ((*USUAL, "--maca-cleanup", "All"), "--maca-cleanup is 'All': it is Never"),
        ((*USUAL, "--maca-keep", "-1"), "--maca-keep is '-1'"),
        ((*USUAL, "--config-namespace", "No_"), "--config-namespace: "),
        ((*USUAL, "--timeout", "x"), "--timeout: read 'x"),
        ((*USUAL, "--public-key", "nowhere"), "--public-key: nowhere cannot be read"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.delenv("NODE_NAME", raising=False)
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "current-context: it\ncontexts: [{name: it, context: {cluster: it}}]\n"
        "clusters: [{name: it, cluster: {server: 'http://127.0.0.1:1'}}]\n"
    )
    answer = run("driver-manager", "--kubeconfig", str(kubeconfig), "--metrics-address", "", *arguments)
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert sentence in answer.err
