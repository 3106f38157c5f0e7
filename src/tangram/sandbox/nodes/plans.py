"""How a container will spend its time: by its command, or by the annotations with which people direct it. Pure.

`sandbox.tangram.dev/run-for: 30s` lets every container of the pod run for so long instead of following its command, and
`sandbox.tangram.dev/exit-code: "1"` decides how it ends. A value that means nothing keeps the container from starting,
with a sentence: a scenario that quietly did something else would teach the wrong thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.nodes.pod_specs import ALWAYS, Container, annotations_of, restart_policy
from tangram.units.durations import DurationError, parse_duration
from tangram.wire import loose

RUN_FOR: Final = "sandbox.tangram.dev/run-for"
EXIT_CODE: Final = "sandbox.tangram.dev/exit-code"
PRETENDED_S: Final = 3.0
"""How long a command takes that cannot be run, where the pod is meant to come to an end."""
_MOST_STATUS: Final = 255


class BadPlan(ValueError):  # noqa: N818 - says what is the case
    """An annotation that means nothing; one sentence."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...] = ()
    run_for: float | None = None
    exit_code: int | None = None
    endless: bool = True
    """Whether what cannot be run goes on until the container is stopped."""


def plan_of(pod: Object, container: Container, environment: Mapping[str, str]) -> Plan:
    """What the container will do. Raises `BadPlan`."""
    notes = annotations_of(pod)
    return Plan(
        argv=tuple(
            filled(loose.text(word), environment)
            for key in ("command", "args")
            for word in loose.elements(container.spec.get(key))
        ),
        run_for=_run_for(notes),
        exit_code=_exit_code(notes),
        endless=container.sidecar or (restart_policy(pod) == ALWAYS and not container.init),
    )


def filled(text: str, environment: Mapping[str, str]) -> str:
    """`$(NAME)` filled in and `$$` made one, as Kubernetes does in commands and variables; unknown names stay."""
    made: list[str] = []
    at = 0
    while at < len(text):
        if text.startswith("$$", at):
            made.append("$")
            at += 2
            continue
        end = text.find(")", at) if text.startswith("$(", at) else -1
        name = text[at + 2 : end] if end > 0 else ""
        if name and name in environment:
            made.append(environment[name])
            at = end + 1
            continue
        made.append(text[at])
        at += 1
    return "".join(made)


def _run_for(notes: Mapping[str, str]) -> float | None:
    if RUN_FOR not in notes:
        return None
    try:
        return float(parse_duration(notes[RUN_FOR]))
    except DurationError as error:
        raise BadPlan(f"annotation {RUN_FOR}: {error}") from error


def _exit_code(notes: Mapping[str, str]) -> int | None:
    if EXIT_CODE not in notes:
        return None
    status = loose.integer(notes[EXIT_CODE])
    if status is None or not 0 <= status <= _MOST_STATUS:
        raise BadPlan(
            f"annotation {EXIT_CODE} is {notes[EXIT_CODE]!r:.40}: it is a whole number from 0 to {_MOST_STATUS}; "
            'write for example "1"'
        )
    return status
