"""Objects and what is done to them one step after another: patches of every kind, updates and applies.

One table for two readers. The end-to-end tests send every step to a real API server and record what it answers; the
unit tests do the same step with our own functions, starting from what the real server had before it. Bodies state the
defaults of what they add, because filling those in is not what is looked at here.
"""

from __future__ import annotations

from copy import deepcopy

from builders.patch_cases.applies import applies
from builders.patch_cases.edits import json_patches, merge_patches, updates
from builders.patch_cases.objects import Case, Step
from builders.patch_cases.strategics import strategic_patches
from builders.patch_cases.things import things


def cases() -> list[Case]:
    """Every case, its objects named after it."""
    found = [*json_patches(), *merge_patches(), *strategic_patches(), *applies(), *updates(), *things()]
    return [Case(case.name, [_named(step, case.name) for step in case.steps]) for case in found]


def _named(step: Step, name: str) -> Step:
    if step.how not in ("create", "apply"):
        return step
    body = deepcopy(step.body)
    body["metadata"] = {"name": name} | body["metadata"]
    if body["kind"] != "Node":
        body["metadata"]["namespace"] = "default"
    return Step(
        how=step.how,
        body=body,
        manager=step.manager,
        force=step.force,
        subresource=step.subresource,
        only_owners=step.only_owners,
        unowned=step.unowned,
    )


def kind_of(case: Case) -> str:
    return case.steps[0].body["kind"]
