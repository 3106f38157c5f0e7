"""`tangram operator` from its command line to the cluster, and its end."""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from builders.commands import run
from builders.controlled import ISSUED
from builders.operated import NAMESPACE, NEVER, Operated, operated
from tangram.sandbox.kubeconfig import kubeconfig_text

COMMAND = Path(sys.executable).with_name("tangram")


@asynccontextmanager
async def daemon(
    kubeconfig: Path, *arguments: str, pod: str = ""
) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        COMMAND,
        *("operator", "--kubeconfig", str(kubeconfig), "--namespace", NAMESPACE, "--log-dir", ""),
        *("--metrics-address", "127.0.0.1:0", *arguments),
        stderr=asyncio.subprocess.PIPE,
        env={"POD_NAME": pod, "PATH": "/usr/bin"},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


def kubeconfig_of(scene: Operated, folder: Path) -> Path:
    file = folder / "kubeconfig"
    connection = scene.api.connection
    file.write_text(kubeconfig_text(connection.server, ISSUED.authority, connection.token))
    return file


async def test_it_makes_the_parts_with_the_image_of_its_own_pod_and_gives_its_lease_back(
    tmp_path: Path,
) -> None:
    async with operated() as scene:
        await scene.ask_for(NEVER)
        own = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "controller-1"},
            "spec": {"containers": [{"name": "c", "image": "registry.example/gpu/tangram:9.9"}]},
        }
        await scene.cluster.create("pods", own)
        async with daemon(kubeconfig_of(scene, tmp_path), pod="controller-1") as process:
            made = await scene.daemon_set("gpu-label")
            image = made["spec"]["template"]["spec"]["containers"][0]["image"]
            assert image == "registry.example/gpu/tangram:9.9"
            lease = await scene.cluster.get("leases", "metax-operator")
            assert lease["spec"]["holderIdentity"].startswith("controller-1_")
            process.send_signal(signal.SIGTERM)
            await process.communicate()
        assert process.returncode == 0
        lease = await scene.cluster.get("leases", "metax-operator")
        assert lease["spec"]["holderIdentity"] == ""


async def test_an_image_that_nobody_names_is_one_sentence(tmp_path: Path) -> None:
    async with operated() as scene, daemon(kubeconfig_of(scene, tmp_path), pod="nobody") as process:
        _, err = await process.communicate()
    assert process.returncode == 2
    assert err.decode() == (
        "tangram: namespace metax-operator has no pod nobody with an image; "
        "name it with --image REGISTRY/tangram:VERSION.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(
            ("--image", "https://x.example/tangram"),
            "--image is 'https://x.example/tangram': it is REGISTRY/NAME:TAG without https:// and blanks; "
            "write for example registry.example/gpu/tangram:1.2.3.",
            id="image",
        ),
        pytest.param(
            ("--lease", "A B"),
            "--lease is 'A B': it is the name of a Lease; write for example metax-operator.",
            id="lease",
        ),
        pytest.param(("--namespace", "A_B"), "--namespace: ", id="namespace"),
        pytest.param(("--metrics-address", "here"), "--metrics-address is 'here'", id="address"),
        pytest.param(("--kubeconfig", "/nonexistent"), "/nonexistent", id="kubeconfig"),
    ],
)
def test_bad_input_is_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    answer = run("operator", *arguments)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("tangram: ")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1
