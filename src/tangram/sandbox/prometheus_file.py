"""A configuration for Prometheus that finds every part of a sandbox, beside the kubeconfig.

`prometheus --config.file=.sandbox/prometheus.yml` reads the scheduler as a Prometheus in a cluster does, with a token
and its certificate checked, and the agents of every machine that runs in full. Alerts are those of files beside it that
end in `.rules.yaml`. The file holds a token, so nobody else may read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tangram.daemon.endpoints import Address

FILE: Final = "prometheus.yml"
EVERY: Final = "5s"
NAMESPACE: Final = "kube-system"
"""Where an installation's parts would be; the label is on what they tell."""


def prometheus_text(
    scheduler: str, authority: Path, token: str, agents: Iterable[tuple[str, Mapping[str, Address]]]
) -> str:
    """Who is read, how often and as whom: `scheduler` is its address, `agents` are by node and then by part."""
    ours: dict[str, Any] = {
        "job_name": "tangram-scheduler",
        "scheme": "https",
        "honor_labels": True,
        "authorization": {"credentials": token},
        "tls_config": {"ca_file": str(authority)},
        "static_configs": [
            {
                "targets": [scheduler.removeprefix("https://")],
                "labels": {"namespace": NAMESPACE, "pod": "tangram-scheduler"},
            }
        ],
    }
    nodes: dict[str, Any] = {
        "job_name": "tangram-nodes",
        "honor_labels": True,
        "static_configs": [
            {
                "targets": [str(address)],
                "labels": {"node": node, "namespace": NAMESPACE, "pod": f"tangram-{part}-{node}"},
            }
            for node, doors in agents
            for part, address in doors.items()
        ],
    }
    whole = {
        "global": {"scrape_interval": EVERY, "evaluation_interval": EVERY},
        "rule_files": ["*.rules.yaml"],
        "scrape_configs": [ours, nodes],
    }
    return yaml.safe_dump(whole, sort_keys=False)
