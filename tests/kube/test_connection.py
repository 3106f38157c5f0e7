"""Which API server, and who we are to it: found in the usual order, refused with a sentence where it cannot work."""

import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from tangram.kube.connection import Connection, find_connection, from_kubeconfig, in_cluster
from tangram.kube.errors import NoConnection
from testbed.certificates import Authority


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> tuple[Authority, Path, Path]:
    authority = Authority(tmp_path_factory.mktemp("pki"), "ca")
    pair = authority.issue("user", "admin", groups=["system:masters"])
    return authority, pair.certificate, pair.key


def write(path: Path, cluster: dict[str, Any], user: dict[str, Any] | None = None, **fields: Any) -> Path:  # noqa: ANN401 - any field of a kubeconfig
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "research"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user or {}}],
        **fields,
    }
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def test_certificates_may_be_files_beside_the_kubeconfig_or_inside_it(
    tmp_path: Path, pki: tuple[Authority, Path, Path]
) -> None:
    authority, certificate, key = pki
    (tmp_path / "ca.crt").write_bytes(authority.certificate.read_bytes())
    files = write(
        tmp_path / "files",
        {"server": "https://192.0.2.1:6443/", "certificate-authority": "ca.crt"},
        {"client-certificate": str(certificate), "client-key": str(key)},
    )
    inline = write(
        tmp_path / "inline",
        {"server": "https://192.0.2.1:6443", "certificate-authority-data": data(authority.certificate)},
        {"client-certificate-data": data(certificate), "client-key-data": data(key)},
    )
    for path in (files, inline):
        connection = from_kubeconfig(path)
        assert (connection.server, connection.namespace) == ("https://192.0.2.1:6443", "research")
        assert connection.tls is not None
        assert connection.tls.verify_mode is ssl.CERT_REQUIRED
        assert len(connection.tls.get_ca_certs()) == 1


def test_a_token_may_be_written_down_or_in_a_file_and_is_never_printed(tmp_path: Path) -> None:
    written = from_kubeconfig(write(tmp_path / "a", {"server": "http://127.0.0.1:1"}, {"token": "secret"}))
    assert written.token == "secret"  # noqa: S105 - the test's own
    assert "secret" not in repr(written)
    in_file = from_kubeconfig(write(tmp_path / "b", {"server": "http://127.0.0.1:1"}, {"tokenFile": "t"}))
    assert in_file.token_file == tmp_path / "t"


def test_a_pod_uses_its_own_account_and_an_ipv6_address_is_bracketed(
    tmp_path: Path, pki: tuple[Authority, Path, Path]
) -> None:
    (tmp_path / "ca.crt").write_bytes(pki[0].certificate.read_bytes())
    (tmp_path / "token").write_text("t", encoding="ascii")
    (tmp_path / "namespace").write_text("tangram\n", encoding="ascii")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    connection = in_cluster(environment, tmp_path)
    assert (connection.server, connection.namespace) == ("https://[fd00::1]:443", "tangram")
    assert connection.token_file == tmp_path / "token"


def test_the_usual_order_is_flag_then_pod_then_variable_then_home(tmp_path: Path) -> None:
    named = {name: write(tmp_path / name, {"server": f"http://{name}:1"}) for name in ("flag", "variable")}
    home = tmp_path / ".kube" / "config"
    home.parent.mkdir()
    write(home, {"server": "http://home:1"})
    variable = {"HOME": str(tmp_path), "KUBECONFIG": f"{tmp_path}/missing:{named['variable']}"}

    def server(connection: Connection) -> str:
        return connection.server

    assert server(find_connection(named["flag"], variable)) == "http://flag:1"
    assert server(find_connection(None, variable)) == "http://variable:1"
    assert server(find_connection(None, {"HOME": str(tmp_path)})) == "http://home:1"
    with pytest.raises(NoConnection, match="has no token: the pod needs a service account"):
        find_connection(None, variable | {"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    with pytest.raises(NoConnection, match="no such file exists"):
        find_connection(None, {"KUBECONFIG": "/nowhere/x"})
    with pytest.raises(NoConnection, match="name a kubeconfig with --kubeconfig"):
        find_connection(None, {"HOME": "/nowhere"})


SERVER = {"server": "https://192.0.2.1"}


@pytest.mark.parametrize(
    ("cluster", "user", "fields", "sentence"),
    [
        pytest.param(SERVER, {"exec": {"command": "x"}}, {}, "signs in with 'exec'", id="a helper program"),
        pytest.param({"server": "192.0.2.1"}, {}, {}, "write https://HOST:PORT", id="no scheme"),
        pytest.param({"server": "https://"}, {}, {}, "write https://HOST:PORT", id="no host"),
        pytest.param({"server": "https://[::1"}, {}, {}, "write https://HOST:PORT", id="half an address"),
        pytest.param({"server": "https://it:six"}, {}, {}, "write https://HOST:PORT", id="no port"),
        pytest.param(
            {"server": "https://a:b@it"}, {}, {}, "has server with somebody's name in it,", id="password"
        ),
        pytest.param(SERVER, {}, {"current-context": ""}, "has no current-context", id="no context"),
        pytest.param(SERVER, {}, {"clusters": []}, "no such entry in its clusters", id="no cluster"),
        pytest.param(
            SERVER | {"certificate-authority-data": "%%%"}, {}, {}, "is not base64", id="authority not base64"
        ),
        pytest.param(
            SERVER | {"certificate-authority-data": "eHg="},
            {},
            {},
            "cannot be used",
            id="authority no certificate",
        ),
        pytest.param(
            SERVER | {"certificate-authority": "gone"}, {}, {}, "cannot be read", id="authority missing"
        ),
    ],
)
def test_a_kubeconfig_that_cannot_work_is_refused_with_a_sentence(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], fields: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(NoConnection, match=sentence):
        from_kubeconfig(write(tmp_path / "config", cluster, user, **fields))


@pytest.mark.parametrize(("text", "sentence"), [("{", "is not YAML"), ("- 1", "is not a mapping")])
def test_a_file_that_is_no_kubeconfig_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "config").write_text(text, encoding="utf-8")
    with pytest.raises(NoConnection, match=sentence):
        from_kubeconfig(tmp_path / "config")
