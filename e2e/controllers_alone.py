"""The sandbox's controllers by themselves, against whatever API server a kubeconfig names.

python e2e/controllers_alone.py KUBECONFIG AUTHORITY
"""

import logging
import sys
from pathlib import Path

from tangram.daemon.running import Supervisor, run_service
from tangram.kube.api import Api
from tangram.kube.connection import from_kubeconfig
from tangram.sandbox.controllers.service import Controllers


async def serve(supervisor: Supervisor) -> int:
    kubeconfig, authority = map(Path, sys.argv[1:])
    async with Api(from_kubeconfig(kubeconfig)) as api:
        await Controllers(api, authority_pem=authority.read_text("utf-8")).run(supervisor)
        logging.getLogger(__name__).info("the controllers run")
        return await supervisor.until_stopped()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    sys.exit(run_service(serve))
