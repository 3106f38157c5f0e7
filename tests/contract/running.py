"""Putting one case to one server."""

from __future__ import annotations

import importlib
import pkgutil
import secrets
import string
from collections.abc import Mapping

from contract import cases
from contract.case import Case, registered
from contract.normal import normal
from contract.world import Json, Server, World


def all_cases() -> Mapping[str, Case]:
    """Every case there is, by name."""
    for module in pkgutil.iter_modules(cases.__path__):
        importlib.import_module(f"contract.cases.{module.name}")
    return registered()


async def observe(server: Server, case: Case) -> Json:
    """What the case sees on this server, in a namespace made for it."""
    world = World(server, "x" + "".join(secrets.choice(string.ascii_lowercase) for _ in range(9)))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": world.namespace}}
    await world.have(world.top("namespaces"), namespace)
    # The controllers make it too, in their own time, and no pod can be created before.
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    await world.post(world.at("serviceaccounts"), account)
    # They also put the authority's certificate there, which must not happen in the middle of a case.
    await world.until(world.at("configmaps/kube-root-ca.crt"), lambda answer: answer.code == 200)
    return normal(world, await case.ask(world))
