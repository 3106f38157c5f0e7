"""The file by which kubectl finds the sandbox."""

from __future__ import annotations

import base64
from typing import Final

import yaml

NAME: Final = "tangram-sandbox"


def kubeconfig_text(server: str, authority: bytes, token: str) -> str:
    """One cluster, one user, one context, and no other file needed."""
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": NAME,
                    "cluster": {
                        "server": server,
                        "certificate-authority-data": base64.b64encode(authority).decode(),
                    },
                }
            ],
            "users": [{"name": NAME, "user": {"token": token}}],
            "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
            "current-context": NAME,
        },
        sort_keys=False,
    )
