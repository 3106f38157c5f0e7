"""What a write says about itself in its query: whether it is only tried, who writes, and how strictly it is read."""

from __future__ import annotations

from typing import Final

from tangram.sandbox.apiserver.asking import Ask
from tangram.sandbox.apiserver.refusals import Fault, invalid

CREATE, UPDATE, PATCH = "CreateOptions", "UpdateOptions", "PatchOptions"
LONGEST_MANAGER: Final = 128
_MANNERS: Final = ("", "Ignore", "Strict", "Warn")


def check_options(ask: Ask, kind: str, *, applying: bool = False) -> None:
    """Refuse a query that makes no sense for this kind of write, with all its faults. Raises `Refused`."""
    faults = list[Fault]()
    if kind == PATCH and not applying and "force" in ask.query:
        message = "Forbidden: may not be specified for non-apply patch"
        faults.append(Fault("force", "FieldValueForbidden", message))
    manager = ask.query.get("fieldManager", "")
    if applying and not manager:
        message = "Required value: is required for apply patch"
        faults.append(Fault("fieldManager", "FieldValueRequired", message))
    if len(manager.encode()) > LONGEST_MANAGER:
        message = f"Too long: may not be more than {LONGEST_MANAGER} bytes"
        faults.append(Fault("fieldManager", "FieldValueTooLong", message))
    faults += dry_run_faults(ask.query.get("dryRun", ""))
    manner = ask.query.get("fieldValidation", "")
    if manner not in _MANNERS:
        legal = ", ".join(f'"{each}"' for each in _MANNERS)
        message = f'Unsupported value: "{manner:.40}": supported values: {legal}'
        faults.append(Fault("fieldValidation", "FieldValueNotSupported", message))
    if faults:
        raise invalid("meta.k8s.io", kind, "", faults)


def dry_run_faults(said: str) -> list[Fault]:
    """What is tried is tried in every stage."""
    if said in ("", "All"):
        return []
    message = f'Unsupported value: ["{said:.40}"]: supported values: "All"'
    return [Fault("dryRun", "FieldValueNotSupported", message)]
