"""The file by which kubectl finds the sandbox."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import yaml

from tangram.wire import loose

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


def port_in(file: Path) -> int:
    """The port of the server that a kubeconfig of ours names; 0 where there is none, or no such file."""
    try:
        document = yaml.safe_load(file.read_text("utf-8"))
        first = loose.elements(loose.members(document).get("clusters"))[0]
        server = loose.text(loose.members(loose.members(first).get("cluster")).get("server"))
        return urlsplit(server).port or 0
    except (OSError, ValueError, yaml.YAMLError, IndexError):
        return 0
