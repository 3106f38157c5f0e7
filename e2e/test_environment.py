"""The project itself as a container: its own environment becomes an image without a registry or an engine."""

from collections.abc import Callable

import pytest

from testbed.box import REPOSITORY
from testbed.cluster import Cluster
from testbed.images import environment_image
from testbed.images.environment import HOME
from testbed.manifests import container, is_over, pod

SCRIPT = "/usr/local/bin/own-script"
IMPORTS = "asyncio, ctypes, decimal, hashlib, lzma, msgspec, numpy, ssl, sqlite3, yaml"


@pytest.mark.smoke
async def test_the_projects_own_environment_runs_in_a_pod(
    cluster: Cluster, unique: Callable[[str], str]
) -> None:
    examples = {f"/data/{name}": REPOSITORY / "examples" / name for name in ("pod.yaml", "cluster.yaml")}
    image = environment_image(extra_files={**examples, SCRIPT: b"#!/bin/sh\necho own script\n"})
    await cluster.load_image(image)
    name = unique("tangram")
    script = " && ".join(
        (
            "tangram --version",
            "tangram explain -f /data/pod.yaml --cluster /data/cluster.yaml",
            f"python3 -c 'import {IMPORTS}, sys; print(sys.prefix)'",
            "/usr/bin/python3 -c 'print(\"plain python\")'",
            SCRIPT,
        )
    )
    await cluster.api.create(pod(name, container(script=script, image=image.name)))
    ended = await cluster.until_pod(name, is_over, within=120)
    output = await cluster.pod_log(name)
    assert ended["status"]["phase"] == "Succeeded", output
    assert "default/notebook fits:" in output
    assert output.splitlines()[-3:] == [HOME, "plain python", "own script"]
