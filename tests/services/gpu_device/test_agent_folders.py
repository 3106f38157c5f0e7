"""MXMACA in containers through the whole agent: who sees it, which version, and that it stays the same."""

import json
from pathlib import Path

from builders.agent_api import pod
from builders.agent_runs import GPU, MT_GPU, AgentRun, agent_on
from builders.api_server import Object
from builders.waiting import until
from tangram.services.gpu_device.delivery import Delivery

CARDS = {"product": "C500", "count": 2}
MACA = "tangram.dev/maca"


def installed(run: AgentRun, *versions: str) -> Path:
    """A host with these versions, the last the default; the next agent shows them to containers."""
    opt = run.folder / "opt"
    for version in versions:
        (opt / f"maca-{version}").mkdir(parents=True)
        (opt / "maca").unlink(missing_ok=True)
        (opt / "maca").symlink_to(f"maca-{version}")
    run.adjust(container_folders=("/opt/maca", "/opt/mxdriver"), folder_root=run.folder)
    return opt


def mounts(run: AgentRun, made: Object) -> list[Object]:
    claim = run.grant_of(made).claim
    (path,) = (run.folder / "cdi").glob(f"*{claim}*")
    return json.loads(path.read_text())["devices"][0]["containerEdits"].get("mounts", [])


async def test_a_container_with_cards_sees_mxmaca_read_only_and_keeps_its_version() -> None:
    async with agent_on(CARDS, begin=False) as run:
        opt = installed(run, "2.29.0.1", "2.30.0.2")
        run.start()
        await run.offered(GPU, 2)
        made = run.api.bind(pod("p", {GPU: 1}))
        await run.pods.run(made)
        given = [
            {
                "hostPath": "/opt/maca-2.30.0.2",
                "containerPath": "/opt/maca",
                "options": ["ro", "nosuid", "nodev", "rbind", "rprivate"],
            }
        ]
        assert mounts(run, made) == given
        (opt / "maca").unlink()
        (opt / "maca").symlink_to("maca-2.29.0.1")
        await run.stop()
        run.start()
        await run.offered(GPU, 2)
        # Somebody removed the file, so everything is gone through again.
        for path in (run.folder / "cdi").glob("*.json"):
            path.unlink()
        await run.pods.start_container(made, "c0")
        assert mounts(run, made) == given
        other = run.api.bind(pod("q", {GPU: 1}, annotations={MACA: "image"}))
        await run.pods.run(other)
        assert mounts(run, other) == []


async def test_a_version_that_the_node_lacks_is_refused_and_the_pod_is_told() -> None:
    async with agent_on(CARDS, begin=False) as run:
        opt = installed(run, "2.29.0.1")
        run.start()
        await run.offered(GPU, 2)
        made = run.api.bind(pod("p", {GPU: 1}, annotations={MACA: "2.31.0.4"}))
        await run.pods.admit(made)
        assert "[maca-absent]" in await run.refused(made)
        await until(lambda: any("2.31.0.4" in event["message"] for event in run.api.events("p")))
        (opt / "maca-2.31.0.4").mkdir()
        await run.pods.start_container(made, "c0")
        assert mounts(run, made)[0]["hostPath"] == "/opt/maca-2.31.0.4"


async def test_containers_of_other_vendors_and_without_cdi_get_no_folder() -> None:
    async with agent_on({"product": "S4000", "sliced": False}, begin=False) as run:
        installed(run, "2.29.0.1")
        run.start()
        await run.offered(MT_GPU, 1)
        made = run.api.bind(pod("p", {MT_GPU: 1}))
        await run.pods.run(made)
        assert mounts(run, made) == []
    async with agent_on(CARDS, begin=False) as run:
        installed(run, "2.29.0.1")
        run.adjust(delivery=Delivery.DIRECT)
        run.start()
        await run.offered(GPU, 2)
        await run.pods.run(run.api.bind(pod("p", {GPU: 1})))
        assert run.grants() == {}


async def test_a_grant_of_before_there_were_folders_stays_what_it_is() -> None:
    async with agent_on(CARDS) as run:
        await run.offered(GPU, 2)
        made = run.api.bind(pod("p", {GPU: 1}))
        await run.pods.run(made)
        (path,) = (run.folder / "cdi").glob("*.json")
        before = path.read_text()
        assert "mounts" not in before
        await run.stop()
        installed(run, "2.29.0.1")
        run.start()
        await run.offered(GPU, 2)
        path.unlink()
        await run.pods.start_container(made, "c0")
        assert path.read_text() == before


async def test_what_a_container_mounts_itself_at_that_place_goes_before() -> None:
    async with agent_on(CARDS, begin=False) as run:
        installed(run, "2.29.0.1")
        run.start()
        await run.offered(GPU, 2)
        mine = pod("p", {GPU: 1})
        mine["spec"]["containers"][0]["volumeMounts"] = [{"name": "own", "mountPath": "/opt/maca"}, 3]
        made = run.api.bind(mine)
        await run.pods.run(made)
        assert mounts(run, made) == []
