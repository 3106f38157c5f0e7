"""The kubeconfig of a sandbox needs no other file, and tells its port to the next sandbox."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from tangram.daemon.certificates import issue
from tangram.kube.connection import from_kubeconfig
from tangram.sandbox.kubeconfig import kubeconfig_text, port_in


def test_our_own_client_reaches_the_server_it_names(tmp_path: Path) -> None:
    issued = issue(("127.0.0.1",), "test", now=dt.datetime.now(dt.UTC), life=dt.timedelta(days=1))
    file = tmp_path / "kubeconfig"
    file.write_text(kubeconfig_text("https://127.0.0.1:16443", issued.authority, "secret"), "utf-8")
    found = from_kubeconfig(file)
    assert (found.server, found.token) == ("https://127.0.0.1:16443", "secret")
    assert len(found.tls.get_ca_certs()) == 1 if found.tls else False
    assert port_in(file) == 16443


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"a: [", id="no yaml"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(b"clusters: []", id="no cluster"),
        pytest.param(b"clusters: {a: b}", id="a map"),
        pytest.param(b"clusters: [{cluster: {server: nowhere}}]", id="no address"),
        pytest.param(b"clusters: [{cluster: {server: 'https://a:99999'}}]", id="no port"),
        pytest.param(b"clusters: [{cluster: {server: 'https://[::1'}}]", id="half an address"),
        pytest.param(b"clusters: [{cluster: {server: 7}}]", id="a number"),
    ],
)
def test_any_other_file_names_no_port(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "kubeconfig"
    file.write_bytes(content)
    assert port_in(file) == 0


def test_a_file_that_is_not_there_names_no_port(tmp_path: Path) -> None:
    assert port_in(tmp_path / "none") == 0
