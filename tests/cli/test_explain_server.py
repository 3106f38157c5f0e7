"""`tangram explain --server`: the running scheduler's answer, and a token that goes nowhere else."""

import asyncio
import datetime as dt
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from syrupy.assertion import SnapshotAssertion

from builders import scheduling
from builders.commands import Answer, run
from tangram.daemon.certificates import issue, server_context
from tangram.services.scheduler.desk import Caller
from tangram.services.scheduler.explaining import Explaining
from tangram.services.scheduler.verdicts import Stage, Verdict, Verdicts

BIG = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 70}
ISSUED = issue(
    ("tangram-scheduler.kube-system.svc",),
    "test",
    now=dt.datetime.now(dt.UTC),
    life=dt.timedelta(days=1),
)


class Scheduler:
    """A scheduler's outside door in little: its real answers, behind its real kind of certificate."""

    def __init__(self, folder: Path) -> None:
        self.world = scheduling.World(scheduling.node("gpu-1"))
        self.verdicts = Verdicts()
        self._explaining = Explaining(self.world.state, self.verdicts)
        self.folder = folder
        self.url = ""
        self.requests: list[tuple[str, str, str]] = []
        self.instead: web.Response | None = None

    async def handle(self, request: web.Request) -> web.Response:
        self.requests.append((request.method, request.path_qs, request.headers.get("Authorization", "")))
        if self.instead is not None:
            return self.instead
        asked = request.query.getall("namespace")
        caller = Caller("ann", may_see_all=False, namespaces=frozenset(asked))
        if request.method == "GET":
            reply = await self._explaining.pod(asked[0], request.query["pod"], caller)
        else:
            reply = await self._explaining.manifest(await request.read(), caller)
        return web.Response(body=reply.body, status=reply.status, content_type=reply.kind)

    async def explain(self, *arguments: str) -> Answer:
        token, authority = self.folder / "token", self.folder / "ca.crt"
        token.write_text("secret\n")
        authority.write_bytes(ISSUED.authority)
        options = ["--server", self.url, "--server-ca", str(authority), "--token-file", str(token)]
        return await asyncio.to_thread(run, "explain", *arguments, *options)

    async def sentence(self, *arguments: str) -> str:
        answer = await self.explain(*arguments)
        assert (answer.status, answer.out) == (2, "")
        assert answer.err.count("\n") == 1
        return answer.err.removeprefix("tangram: ").strip()


@asynccontextmanager
async def serving(folder: Path) -> AsyncGenerator[Scheduler]:
    scheduler = Scheduler(folder)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", scheduler.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=server_context(ISSUED.pair))
    await site.start()
    scheduler.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield scheduler
    finally:
        await runner.cleanup()


async def test_the_schedulers_answer_has_its_last_verdict_and_the_queue(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    async with serving(tmp_path) as scheduler:
        made = scheduler.world.create(scheduling.pod("train", BIG, namespace="ai"))
        ref = scheduler.world.state.read_pod(made).ref
        scheduler.verdicts.note(
            ref,
            Verdict(
                at=1_700_000_000.0,
                stage=Stage.FILTER,
                sentence="none of 1 node fits",
                word="X",
                words={"X": 1},
            ),
        )
        answer = await scheduler.explain("train", "-n", "ai")
        assert (answer.status, answer.err) == (1, "")
        assert answer.out == snapshot
        assert scheduler.requests == [("GET", "/explain?namespace=ai&pod=train", "Bearer secret")]
        report = json.loads((await scheduler.explain("train", "-n", "ai", "-o", "json")).out)
    assert report["source"] == "scheduler"
    assert report["pods"][0]["turn"] == {"place": 1, "of": 1}


async def test_manifests_are_sent_with_the_namespaces_they_are_for(tmp_path: Path) -> None:
    first, second = scheduling.pod("one"), scheduling.pod("two", BIG, namespace="web")
    del first["metadata"]["namespace"]
    documents = [{"kind": "Pod", **first}, {"kind": "PodList", "items": [second]}]
    (tmp_path / "new.yaml").write_text(yaml.safe_dump_all(documents))
    async with serving(tmp_path) as scheduler:
        answer = await scheduler.explain(
            "-f", str(tmp_path / "new.yaml"), "-n", "ai", "--node", "gpu-1", "-o", "json"
        )
        assert scheduler.requests[0][:2] == ("POST", "/explain?namespace=ai&namespace=web&node=gpu-1")
    found: list[dict[str, Any]] = json.loads(answer.out)["pods"]
    assert [(each["pod"], each["verdict"]) for each in found] == [("ai/one", "fits"), ("web/two", "waits")]
    assert answer.status == 1


async def test_what_the_scheduler_refuses_is_said_in_its_words(tmp_path: Path) -> None:
    async with serving(tmp_path) as scheduler:
        assert "answers 404: no pod ai/nothing is here" in await scheduler.sentence("nothing", "-n", "ai")
        for status in (401, 403, 503):
            scheduler.instead = web.json_response({"Error": "because of reasons."}, status=status)
            assert f"answers {status}: because of reasons." in await scheduler.sentence("p", "-n", "ai")
        scheduler.instead = web.Response(text="<html>", status=502)
        assert "answers 502: <html>." in await scheduler.sentence("p", "-n", "ai")


@pytest.mark.parametrize(
    "body", [b"[]", b"{}", b"hello", b'{"cluster": 1, "pods": []}'], ids=["list", "empty", "text", "shape"]
)
async def test_an_answer_that_is_no_explanation_is_not_believed(tmp_path: Path, body: bytes) -> None:
    async with serving(tmp_path) as scheduler:
        scheduler.instead = web.Response(body=body)
        assert "leave --server out to work it out here" in await scheduler.sentence("p", "-n", "ai")


async def test_the_token_follows_no_redirect(tmp_path: Path) -> None:
    async with serving(tmp_path) as scheduler:
        scheduler.instead = web.Response(status=302, headers={"Location": f"{scheduler.url}/elsewhere"})
        assert "answers 302" in await scheduler.sentence("p", "-n", "ai")
        assert len(scheduler.requests) == 1


async def test_a_certificate_of_another_authority_ends_it_before_the_token_is_sent(tmp_path: Path) -> None:
    other = issue(("a",), "other", now=dt.datetime.now(dt.UTC), life=dt.timedelta(days=1))
    (tmp_path / "other.crt").write_bytes(other.authority)
    (tmp_path / "token").write_text("secret")
    async with serving(tmp_path) as scheduler:
        options = ["--server", scheduler.url, "--token-file", str(tmp_path / "token"), "-n", "ai"]
        for authority in (["--server-ca", str(tmp_path / "other.crt")], []):
            answer = await asyncio.to_thread(run, "explain", "p", *options, *authority)
            assert answer.status == 2
            assert "cannot be asked (" in answer.err
            assert "certificate" in answer.err
        assert scheduler.requests == []


async def test_a_scheduler_that_is_not_there(tmp_path: Path) -> None:
    async with serving(tmp_path) as scheduler:
        gone = scheduler
    assert "cannot be asked (" in await gone.sentence("p", "-n", "ai")


KUBECONFIG: dict[str, Any] = {
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "ai"}}],
    "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {}}],
}


async def test_token_and_namespace_come_from_the_kubeconfig(tmp_path: Path) -> None:
    config, authority = tmp_path / "kubeconfig", tmp_path / "ca.crt"
    authority.write_bytes(ISSUED.authority)
    async with serving(tmp_path) as scheduler:
        options = ["p", "--server", scheduler.url, "--server-ca", str(authority), "--kubeconfig", str(config)]
        config.write_text(yaml.safe_dump({**KUBECONFIG, "users": [{"name": "u", "user": {"token": "mine"}}]}))
        assert "no pod ai/p is here" in (await asyncio.to_thread(run, "explain", *options)).err
        assert scheduler.requests[0][1:] == ("/explain?namespace=ai&pod=p", "Bearer mine")
        config.write_text(yaml.safe_dump(KUBECONFIG))
        answer = await asyncio.to_thread(run, "explain", *options)
    assert answer.status == 2
    assert "the kubeconfig has no token" in answer.err
    assert "kubectl create token ACCOUNT" in answer.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(
            ["p", "--server", "http://h:1"], "--server is 'http://h:1': it is https://HOST:PORT", id="plain"
        ),
        pytest.param(["p", "--server", "h:9443"], "it is https://HOST:PORT", id="no scheme"),
        pytest.param(["p", "--server", "https://h:x"], "it is https://HOST:PORT", id="port"),
        pytest.param(["p", "--server", "https://h/explain"], "it is https://HOST:PORT", id="path"),
        pytest.param(
            ["p", "--server", "https://h", "--server-ca", "nothing"], "--server-ca names nothing", id="ca"
        ),
        pytest.param(["--server", "https://h"], "nothing is asked of --server", id="nothing"),
        pytest.param(
            ["p", "--server", "https://h", "--cluster", "c"], "--cluster and --server are both", id="both"
        ),
        pytest.param(
            ["p", "--server", "https://h", "--node-policy", "frag"], "are not for --server", id="policy"
        ),
        pytest.param(
            ["p", "--server", "https://h", "--qos-policy", "fixed-share"],
            "a pod that exists has its policy",
            id="a policy for a pod that has one",
        ),
        pytest.param(
            ["-f", "x", "--server", "https://h", "--qos-policy", "fixed-share"],
            "are not for --server",
            id="policy of slices",
        ),
        pytest.param(
            ["p", "--server", "https://h", "--no-suggestions"], "are not for --server", id="suggestions"
        ),
        pytest.param(
            ["p", "-f", "x.yaml", "--server", "https://h"], "POD 'p' and -f are both given", id="pod and file"
        ),
    ],
)
def test_command_lines_that_make_no_sense(
    arguments: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "token").write_text("t")
    answer = run("explain", *arguments, "-n", "ai", "--token-file", "token")
    assert (answer.status, answer.out) == (2, "")
    assert expected in answer.err


def test_options_of_the_server_without_a_server(tmp_path: Path) -> None:
    answer = run("explain", "p", "--token-file", str(tmp_path / "t"))
    assert answer.status == 2
    assert "--server-ca and --token-file are for --server" in answer.err


@pytest.mark.parametrize(
    "content", [b"", b"two words", b"\xff", "ü".encode()], ids=["empty", "two", "bytes", "letter"]
)
def test_token_files_without_a_token(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(content)
    options = ["--server", "https://h", "-n", "ai", "--token-file", str(tmp_path / "t")]
    answer = run("explain", "p", *options)
    assert answer.status == 2
    assert "token file" in answer.err
