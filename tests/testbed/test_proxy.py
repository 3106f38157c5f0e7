"""kube-proxy of a room: where it speaks to, and what of the machine it leaves alone."""

import json
from pathlib import Path

import pytest

from testbed import proxy
from testbed.controlplane import make_credentials
from testbed.errors import BedError
from testbed.firstprocess import CONTROL
from testbed.options import Options
from testbed.places import ClusterFolder


class Programs:
    def path(self, name: str) -> Path:
        return Path("/programs") / name


def test_the_configuration_sets_nothing_that_belongs_to_the_machine(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path, "box")
    room = folder.of_room("n1")
    for each in (room, folder.of_room(CONTROL)):
        each.make()
    folder.certificates.mkdir()
    command = proxy.command(Programs(), folder, make_credentials(folder), room, "n1")
    file = room.etc / "kube-proxy.json"
    settings = json.loads(file.read_text())
    assert command[:2] == [Path("/programs/kube-proxy"), f"--config={file}"]
    assert set(settings["conntrack"].values()) == {0, "0s"}
    assert (settings["mode"], settings["hostnameOverride"]) == ("nftables", "n1")
    user = json.loads(Path(settings["clientConnection"]["kubeconfig"]).read_text())["users"][0]["user"]
    assert Path(user["client-key"]).exists()


def test_the_control_plane_keeps_its_own_address_on_the_way_to_services() -> None:
    assert proxy.route(CONTROL)[-5:] == ["10.0.0.0/24", "dev", "box0", "src", "192.0.2.1"]
    assert proxy.route("n1")[-3:] == ["10.0.0.0/24", "via", "192.0.2.1"]


def test_services_without_a_node_are_refused() -> None:
    with pytest.raises(BedError, match="ask for 'nodes' too"):
        Options(nodes=0, services=True)
