"""A node of the box is a host to those who work on hosts: its folders, its containerd, its systemctl."""

import signal
from collections.abc import AsyncIterator

import pytest_asyncio

from e2e.release_kit import life_of
from testbed.api import Object, path_of
from testbed.box import Box
from testbed.cluster import Cluster
from testbed.manifests import container, is_over, is_running, pod
from testbed.node import CONTAINERD_FILE
from testbed.options import Options

ODD = "# kept by hand: do not touch\n\n"


def dressed(text: str) -> str:
    """As people keep files: comments, blank lines, spaces before and after."""
    return ODD + text.replace('snapshotter = "overlayfs"', '\t snapshotter   =  "overlayfs"  # as everywhere')


@pytest_asyncio.fixture(scope="module")
async def bed() -> AsyncIterator[Cluster]:
    """One node, its containerd configured in the older format, with containers that are started again at once."""
    options = Options(nodes=1, containerd_version=2, containerd_dress=dressed, hurry=True)
    async with Cluster.open(options) as running:
        yield running


def on_the_host(name: str, script: str) -> Object:
    """A pod that works on its node as an installer does."""
    made = container(script=f"chroot /host /bin/sh -c '{script}'")
    made["securityContext"] = {"privileged": True}
    made["volumeMounts"] = [{"name": "host", "mountPath": "/host", "mountPropagation": "HostToContainer"}]
    return pod(name, made, hostPID=True, volumes=[{"name": "host", "hostPath": {"path": "/"}}])


async def said(cluster: Cluster, name: str, script: str) -> str:
    """What such a pod printed: into a file of the node, because containerd loses what is said while it restarts."""
    await cluster.api.create(on_the_host(name, f"exec > /run/{name}.said 2>&1\n{script}"))
    await cluster.until_pod(name, is_over)
    return (cluster.room(cluster.nodes[0]).run / f"{name}.said").read_text("utf-8")


async def test_a_pod_works_on_the_files_of_its_node(bed: Cluster) -> None:
    room = bed.room(bed.nodes[0])
    script = f"""
        hostname; cat {CONTAINERD_FILE}; ls -A /opt
        mkdir /opt/maca-1 && echo one > /opt/maca-1/version && ln -s maca-1 /opt/maca && echo mine > /etc/mine
        mkdir -p /var/lib/metax /etc/containerd/conf.d
    """
    printed = await said(bed, "worker", script)
    text = (room.containerd / CONTAINERD_FILE.name).read_text("utf-8")
    assert text.startswith(f"{ODD}version = 2")
    assert printed == f"worker\n{text}"
    assert (room.opt / "maca" / "version").read_text("ascii") == "one\n"
    assert (room.lib / "metax").is_dir()
    assert (room.containerd / "conf.d").is_dir()
    assert await said(bed, "later", "cat /etc/mine /opt/maca/version; rm -r /opt/*") == "mine\none\n"


async def test_systemctl_restarts_containerd_under_running_pods(bed: Cluster) -> None:
    stays = pod("stays", restartPolicy="Always")
    await bed.api.create(stays)
    before = await bed.until_pod("stays", is_running)
    (old,) = [one["pid"] for one in await bed.box.programs() if one["name"] == "containerd-n1"]
    script = """
        systemctl is-active containerd; systemctl restart containerd.service; echo $?
        systemctl restart docker; echo $?
    """
    printed = await said(bed, "restarter", script)
    assert printed == "active\n0\nFailed to restart docker.service: Unit docker.service not found.\n5\n"
    (new,) = [one["pid"] for one in await bed.box.programs() if one["name"] == "containerd-n1"]
    assert new != old
    await bed.api.create(pod("after"))
    await bed.until_pod("after", is_running)
    assert life_of(await bed.api.get(path_of("Pod", "stays"))) == life_of(before)


async def test_a_containerd_that_cannot_read_its_file_fails_the_restart(bed: Cluster) -> None:
    file = bed.room(bed.nodes[0]).containerd / CONTAINERD_FILE.name
    good = file.read_text("utf-8")
    file.write_text(f"{good}\n[[[\n", encoding="utf-8")
    script = f"""
        systemctl restart containerd; echo $?; systemctl is-active containerd; echo $?
        sed -i "/^\\[\\[\\[/d" {CONTAINERD_FILE}; systemctl restart containerd; echo $?
    """
    printed = await said(bed, "breaker", script)
    assert printed.splitlines() == [
        "Job for containerd.service failed because the control process exited with error code.",
        'See "systemctl status containerd.service" and "journalctl -xeu containerd.service" for details.',
        *("1", "inactive", "3", "0"),
    ]


async def test_a_container_that_fails_is_started_again_within_seconds(bed: Cluster) -> None:
    await bed.api.create(pod("failing", container(script="exit 1"), restartPolicy="Always"))

    def often(seen: Object) -> bool:
        return any(one["restartCount"] >= 5 for one in seen["status"].get("containerStatuses", []))

    await bed.until_pod("failing", often, within=40)


async def test_a_program_is_started_again_with_the_words_it_had() -> None:
    async with Box.open() as box:
        await box.add_room("n1", 1)
        script = "echo $WORD; exec sleep 1000"
        await box.start("containerd-n1", ["/bin/sh", "-c", script], room="n1", env={"WORD": "again"})
        await box.start("ctl", ["/usr/bin/systemctl", "stop", "containerd"], room="n1")
        assert await box.wait("ctl") == 0
        assert await box.wait("containerd-n1") == -signal.SIGTERM
        await box.start("ctl", ["/usr/bin/systemctl", "restart", "elsewhere"], room="n1")
        assert await box.wait("ctl") == 5
