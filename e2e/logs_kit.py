"""What the components of a cluster and its pods printed, kept for the person who reads why a test failed."""

import re
import shutil
from pathlib import Path

from testbed.box import REPOSITORY
from testbed.cluster import Cluster

KEPT_LOGS = REPOSITORY / ".e2e-logs"


def keep_logs(cluster: Cluster, of: str) -> Path:
    """Copy them; the cluster is gone minutes before anybody reads them."""
    kept = KEPT_LOGS / re.sub(r"\W+", "-", of) / cluster.box.folder.name
    shutil.copytree(cluster.box.folder.logs, kept, dirs_exist_ok=True)
    for node in cluster.nodes:
        for file in (cluster.room(node).log / "pods").glob("*/*/*.log"):
            copy = kept / node.name / f"{file.parts[-3]}-{file.parts[-2]}-{file.name}"
            copy.parent.mkdir(exist_ok=True)
            shutil.copy(file, copy)
    return kept.relative_to(REPOSITORY)
