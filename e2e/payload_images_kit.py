"""Payload images as a site has them: made of folders by `tangram images payload build`, pushed to a registry with TLS
and accounts by `tangram images push`, and pulled from there by nodes whose container runtime knows it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from e2e.agent_kit import TANGRAM
from e2e.registry_kit import Registry
from testbed.cluster import Cluster
from testbed.images.archive import architecture
from testbed.images.payloads import KERNEL

PROJECT = "gpu"
_FETCHED = re.compile(rf'^(\S+) .*"GET /v2/{PROJECT}/([a-z0-9-]+)/blobs/', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster and its administrator's registry."""

    cluster: Cluster
    registry: Registry
    folder: Path

    @property
    def place(self) -> str:
        """DOMAIN/PROJECT, for the values of a release."""
        return f"{self.registry.address}/{PROJECT}"

    def trust(self) -> None:
        """Make the registry known to the container runtime of every node, with its authority and its login."""
        for node in self.cluster.nodes:
            folder = self.cluster.room(node).containerd / "certs.d" / self.registry.address
            folder.mkdir(parents=True)
            (folder / "ca.crt").write_bytes(self.registry.authority.read_bytes())
            (folder / "hosts.toml").write_text(
                f'[host."https://{self.registry.address}"]\n'
                f'ca = "/etc/containerd/certs.d/{self.registry.address}/ca.crt"\n'
                f'[host."https://{self.registry.address}".header]\n'
                f'authorization = "{self.registry.login}"\n'
            )

    async def bring_maca(self, name: str, version: str, says: str) -> str:
        """Build and push an MXMACA image; its name and tag."""
        made = await built_maca(self.cluster, self.folder, name, version, says)
        await self._push(made.archive)
        return made.image

    async def bring_driver(self, version: str) -> None:
        """The same for a driver."""
        await self._push((await built_driver(self.cluster, self.folder, version)).archive)

    def fetched(self) -> dict[str, set[str]]:
        """Whose layers each node has pulled so far, by the registry's own log."""
        found: dict[str, set[str]] = {node.name: set() for node in self.cluster.nodes}
        names = {node.address: node.name for node in self.cluster.nodes}
        for address, image in _FETCHED.findall(self.cluster.box.log("registry")):
            if address in names:
                found[names[address]].add(image)
        return found

    async def _push(self, archive: Path) -> None:
        login = ["--user", self.registry.user, "--password-stdin", "--ca", self.registry.authority]
        pushed = await self.cluster.command(
            [TANGRAM, "images", "push", self.place, "--archive", archive, *login], stdin=self.registry.word
        )
        assert pushed.status == 0, pushed.output + pushed.errors


@dataclass(frozen=True, slots=True)
class Built:
    """An image in a file. `image` is its name and tag."""

    image: str
    archive: Path


async def built_maca(cluster: Cluster, folder: Path, name: str, version: str, says: str) -> Built:
    """An MXMACA image whose file `version` has these words."""
    files = {"maca/version": f"{says}\n", "maca/lib/libmcruntime.so": f"the runtime, {says}\n"}
    image = f"{name}:{version}-ubuntu22.04-{architecture()}"
    return await _built(cluster, folder, image, files, "--kind", "maca", "--version", version)


async def built_driver(cluster: Cluster, folder: Path, version: str) -> Built:
    """A driver that the simulated kernel loads."""
    module = f"tangram simulated module\nversion: {version}\nkernel: {KERNEL}\nparameters: debug\n"
    files = {f"modules/{KERNEL}/metax.ko": module, "mxdriver/version": f"{version}\n"}
    image = f"driver-image:{version}"
    return await _built(cluster, folder, image, files, "--kind", "driver", "--version", version)


async def _built(cluster: Cluster, folder: Path, image: str, files: Mapping[str, str], *words: str) -> Built:
    place = folder / re.sub(r"\W", "-", image)
    for path, text in files.items():
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    archive = folder / f"{place.name}.tar"
    done = await cluster.command(
        [
            *(TANGRAM, "images", "payload", "build", place, "--image", image, "-o", archive),
            *("--arch", architecture(), *words),
        ]
    )
    assert done.status == 0, done.output + done.errors
    return Built(image, archive)
