"""The project itself as a container: its own environment becomes an image without a registry or an engine."""

from collections.abc import Callable

from testbed.box import REPOSITORY
from testbed.cluster import Cluster
from testbed.images import environment_image
from testbed.manifests import container, is_over, pod


async def test_the_projects_own_environment_runs_in_a_pod(
    cluster: Cluster, unique: Callable[[str], str]
) -> None:
    examples = {f"/data/{name}": REPOSITORY / "examples" / name for name in ("pod.yaml", "cluster.yaml")}
    image = environment_image(extra_files=examples)
    await cluster.load_image(image)
    name = unique("tangram")
    script = "tangram --version && tangram explain -f /data/pod.yaml --cluster /data/cluster.yaml && id -u"
    await cluster.api.create(pod(name, container(script=script, image=image.name)))
    ended = await cluster.until_pod(name, is_over, within=120)
    output = await cluster.pod_log(name)
    assert ended["status"]["phase"] == "Succeeded", output
    assert "default/notebook fits:" in output
