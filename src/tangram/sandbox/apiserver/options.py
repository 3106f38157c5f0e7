"""What a write says about itself in its query: whether it is only tried, who writes, and how strictly it is read."""

from __future__ import annotations

from typing import Final

from tangram.sandbox.apiserver.asking import Ask
from tangram.sandbox.apiserver.refusals import Fault, invalid
from tangram.sandbox.apiserver.rules.faulting import forbidden, required, too_long, unsupported

CREATE, UPDATE, PATCH = "CreateOptions", "UpdateOptions", "PatchOptions"
LONGEST_MANAGER: Final = 128
_MANNERS: Final = ("", "Ignore", "Strict", "Warn")


def check_options(ask: Ask, kind: str, *, applying: bool = False) -> None:
    """Refuse a query that makes no sense for this kind of write, with all its faults. Raises `Refused`."""
    faults = list[Fault]()
    if kind == PATCH and not applying and "force" in ask.query:
        faults.append(forbidden("force", "may not be specified for non-apply patch"))
    manager = ask.query.get("fieldManager", "")
    if applying and not manager:
        faults.append(required("fieldManager", "is required for apply patch"))
    if len(manager.encode()) > LONGEST_MANAGER:
        faults.append(too_long("fieldManager", LONGEST_MANAGER))
    stage = ask.query.get("dryRun", "")
    if stage not in ("", "All"):
        faults.append(unsupported("dryRun", [stage[:40]], ("All",)))
    manner = ask.query.get("fieldValidation", "")
    if manner not in _MANNERS:
        faults.append(unsupported("fieldValidation", manner[:40], _MANNERS))
    if faults:
        raise invalid("meta.k8s.io", kind, "", faults)
