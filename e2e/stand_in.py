"""The sandbox's stand-in for kube-scheduler as a program of its own: a kubeconfig and a configuration, both files."""

import asyncio
import json
import logging
import sys
from pathlib import Path

from tangram.kube.api import Api
from tangram.kube.connection import from_kubeconfig
from tangram.sandbox.placing.standin import StandIn


async def serve(kubeconfig: Path, configuration: Path) -> None:
    async with Api(from_kubeconfig(kubeconfig)) as api:
        await StandIn(json.loads(configuration.read_text("utf-8")), api, identity="here").run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    asyncio.run(serve(Path(sys.argv[1]), Path(sys.argv[2])))
