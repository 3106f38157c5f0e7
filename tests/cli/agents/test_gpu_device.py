"""`tangram gpu-device`: what its command line makes of the agent's settings."""

from pathlib import Path

import pytest

from builders.commands import run
from tangram.cli.agents import gpu_device as command
from tangram.services.gpu_device.launch import Launch, launch_text, read_launch

KUBECONFIG = """apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
"""


def launched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *words: str) -> Launch:
    """What the agent would run with."""
    begun: list[Launch] = []

    def become(launch: Launch) -> int:
        begun.append(launch)
        return 0

    monkeypatch.setattr(command, "become", become)
    file = tmp_path / "kubeconfig"
    file.write_text(KUBECONFIG)
    answer = run("gpu-device", "--node-name", "gpu-1", "--kubeconfig", str(file), *words)
    assert answer.status == 0, answer.err
    (launch,) = begun
    return launch


def test_the_namespace_of_the_config_map_reaches_the_agent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    launch = launched(monkeypatch, tmp_path, "--config-namespace", "kube-system", "--config", "/config")
    assert launch.settings.config_namespace == "kube-system"
    assert launch.settings.config_folder == Path("/config")
    assert read_launch(launch_text(launch)) == launch


@pytest.mark.parametrize(
    ("words", "vendors"),
    [
        pytest.param((), ["metax", "mthreads"], id="usual"),
        pytest.param(("--vendors", "mthreads"), ["mthreads"], id="one"),
        pytest.param(("--vendors", "mthreads, metax"), ["mthreads", "metax"], id="both"),
    ],
)
def test_the_agent_is_told_whose_cards_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...], vendors: list[str]
) -> None:
    launch = launched(monkeypatch, tmp_path, *words)
    assert list(launch.settings.vendors) == vendors
    assert read_launch(launch_text(launch)) == launch


@pytest.mark.parametrize("text", ["", "nvidia", "generic", "metax,,mthreads", "metax,metax"])
def test_vendors_that_are_none_are_refused_with_what_to_write(text: str) -> None:
    answer = run("gpu-device", "--node-name", "gpu-1", f"--vendors={text}")
    assert answer.status == 2
    assert "it is metax or mthreads, or both separated by a comma; write one of these." in answer.err


def test_without_one_no_config_map_is_followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert launched(monkeypatch, tmp_path).settings.config_namespace == ""


@pytest.mark.parametrize("text", ["Kube-System", "kube system", "a/b", "-a", "a" * 64, "kube.system"])
def test_a_namespace_that_is_none_is_refused_with_what_to_write(text: str) -> None:
    answer = run("gpu-device", "--node-name", "gpu-1", f"--config-namespace={text}")
    assert answer.status == 2
    assert f"--config-namespace: read '{text}" in answer.err
    assert "; write " in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "file"),
    [
        pytest.param((), "/etc/containerd/config.toml", id="usual"),
        pytest.param(("--root", "/proc"), "/proc/etc/containerd/config.toml", id="below the root"),
        pytest.param(
            ("--root", "/proc", "--runtime-config", "/host/etc/config.toml"),
            "/host/etc/config.toml",
            id="given",
        ),
    ],
)
def test_the_runtimes_file_is_read_where_it_is_said_to_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...], file: str
) -> None:
    assert launched(monkeypatch, tmp_path, *words).settings.runtime_file == Path(file)


def test_help_explains_the_option_and_shows_it() -> None:
    text = " ".join(run("gpu-device", "--help").out.replace("│", " ").split())
    assert "Follow the ConfigMap metax-device-config, or device-config, in this namespace" in text
    assert "tangram gpu-device --config-namespace kube-system" in text
