"""`tangram dashboard`: what it runs with, and a sentence for everything it cannot run with."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.certificates import self_signed
from builders.commands import run
from tangram.cli.agents import dashboard
from tangram.daemon.endpoints import Address
from tangram.web.launch import Launch
from tangram.web.proxies import OAUTH2_PROXY
from tangram.web.reception import Way

KUBECONFIG = (
    "current-context: it\ncontexts: [{{name: it, context: {{cluster: it, user: it, namespace: here}}}}]\n"
    "clusters: [{{name: it, cluster: {{server: 'http://127.0.0.1:1'}}}}]\n"
    "users: [{{name: it, user: {user}}}]\n"
)
SERVER = ("--server", "https://127.0.0.1:9443")


@pytest.fixture(autouse=True)
def launched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Launch]:
    """Nobody's own cluster is asked by a test, and nothing runs: what would is listed."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "config").write_text(KUBECONFIG.format(user="{token: abc}"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    found: list[Launch] = []

    def note(launch: Launch) -> int:
        found.append(launch)
        return 0

    monkeypatch.setattr(dashboard, "run", note)
    return found


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(("--address", "8080"), "--address is '8080': it is HOST:PORT", id="no host"),
        pytest.param(("--address", ""), "--address is empty", id="no address"),
        pytest.param((), "--server is not given, and this is no pod", id="no scheduler"),
        pytest.param(("--server", "http://x:1"), "it is https://HOST:PORT", id="plain scheduler"),
        pytest.param((*SERVER, "--server-ca", "nowhere"), "--server-ca names nowhere", id="no authority"),
        pytest.param((*SERVER, "--token-file", "nowhere"), "--token-file names nowhere", id="no token file"),
        pytest.param((*SERVER, "--kubeconfig", "nowhere"), "the kubeconfig nowhere", id="no kubeconfig"),
        pytest.param((*SERVER, "--tls-cert", "x"), "--tls-key is missing", id="half a pair"),
        pytest.param((*SERVER, "--tls-key", "x"), "--tls-cert is missing", id="the other half"),
        pytest.param((*SERVER, "--sign-in", "guess"), "it is token, proxy or none", id="no such way"),
        pytest.param(
            (*SERVER, "--sign-in", "none", "--address", ":8088"),
            "write --address 127.0.0.1:8088, or --sign-in token",
            id="everybody from everywhere",
        ),
        pytest.param(
            (*SERVER, "--sign-in", "proxy"), "needs a way to know the proxy", id="a proxy nobody knows"
        ),
        pytest.param(
            (*SERVER, "--sign-in", "proxy", "--proxy-ca", "x"),
            "--proxy-ca needs --tls-cert and --tls-key",
            id="a certificate without TLS",
        ),
        pytest.param(
            (*SERVER, "--proxy-address", "127.0.0.1:1"),
            "count with --sign-in proxy alone",
            id="a proxy that is not asked",
        ),
        pytest.param(
            (*SERVER, "--sign-in", "proxy", "--proxy-address", "127.0.0.1:1", "--proxy-headers", "mine"),
            "it is kubernetes or oauth2-proxy",
            id="unknown headers",
        ),
        pytest.param(
            (*SERVER, "--sign-in", "proxy", "--proxy-address", "127.0.0.1:1", "--proxy-user-header", "a b"),
            "which is no name of a header",
            id="no header",
        ),
        pytest.param((*SERVER, "--log-level", "loud"), "--log-level is 'loud'", id="no level"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(
    launched: list[Launch], arguments: tuple[str, ...], sentence: str
) -> None:
    answer = run("dashboard", *arguments)
    assert answer.status == 2
    assert answer.out == ""
    assert sentence in answer.err
    assert answer.err.startswith("tangram: ")
    assert answer.err.count("\n") == 1
    assert launched == []


def test_an_account_without_a_token_has_to_be_given_one(launched: list[Launch], tmp_path: Path) -> None:
    (tmp_path / "config").write_text(KUBECONFIG.format(user="{}"))
    assert "give one with --token-file" in run("dashboard", *SERVER).err
    (tmp_path / "token").write_text("abc")
    assert run("dashboard", *SERVER, "--token-file", "token").status == 0
    assert launched[0].settings.token_file == Path("token")


def test_as_it_is_it_serves_this_machine_and_asks_for_tokens(launched: list[Launch]) -> None:
    assert run("dashboard", *SERVER).status == 0
    settings = launched[0].settings
    assert settings.address == Address("127.0.0.1", 8088)
    assert settings.ways.way is Way.TOKEN
    assert not settings.ways.actions
    assert settings.history is None
    assert settings.certificate is None


def test_in_a_pod_the_scheduler_is_the_one_of_its_own_namespace(
    launched: list[Launch], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert run("dashboard", "--kubeconfig", str(tmp_path / "config")).status == 0
    assert launched[0].settings.server == "https://tangram-scheduler.here.svc:9443"


def test_a_proxy_in_the_same_pod(launched: list[Launch], tmp_path: Path) -> None:
    pair = self_signed(tmp_path)
    arguments = ("--sign-in", "proxy", "--proxy-address", "127.0.0.1:8089", "--proxy-headers", "oauth2-proxy")
    assert run("dashboard", *SERVER, *arguments, "--server-ca", str(pair), "--actions").status == 0
    settings = launched[0].settings
    assert settings.proxy_address == Address("127.0.0.1", 8089)
    assert settings.ways.proxy == OAUTH2_PROXY
    assert settings.ways.actions


def test_a_proxy_by_its_certificate(launched: list[Launch]) -> None:
    files = ("--tls-cert", "a", "--tls-key", "b", "--proxy-ca", "c", "--proxy-name", "gate")
    assert run("dashboard", *SERVER, "--sign-in", "proxy", *files, "--address", ":8443").status == 0
    rules = launched[0].settings.ways.proxy
    assert rules.by_certificate
    assert rules.common_names == frozenset({"gate"})
