"""What an installation wrote beside its charts, removed: first whoever would write it again, then all of it.

At its end the nodes are read once more. A label that is back means that somebody of ours runs who was not seen, which
is told and never answered with another removal: two programs that undo each other are worse than a label.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.services.installation.cleaning_agents import METAX_OPERATOR, TANGRAM, Company
from tangram.services.installation.cleaning_left import (
    Remains,
    Trace,
    nodes_among,
    trace_of,
    what_stays,
)
from tangram.services.installation.cleaning_marks import Marks, marks_of, node_called
from tangram.services.installation.cleaning_nodes import NODES, NodeCleaner, Object, Outcome, problems_in
from tangram.services.installation.cleaning_objects import (
    OPERATOR_LEASE,
    Removed,
    remove_certificates,
    remove_devices,
    remove_kind,
    remove_lease,
    remove_of_operator,
)
from tangram.services.installation.cleaning_reading import read_all
from tangram.services.installation.cleaning_report import Cleanup, cleaned
from tangram.services.installation.cleaning_waiting import (
    Aim,
    Crowd,
    NotYet,
    Tell,
    about_late,
    about_strays,
    read_crowd,
    until_gone,
)
from tangram.services.installation.wording import counted, cut, some_of
from tangram.services.installation.workloads import ANYWHERE, DEVICE

SETTLED_S: Final = 1.5
"""Longer than a labeller takes to put back what was removed."""


async def clean_up(api: Api, aim: Aim, tell: Tell) -> Cleanup:
    """Remove everything that is ours to remove. Never raises for what a server does."""
    report = Cleanup(server=api.connection.server, chart=aim.chart, namespace=aim.namespace, dry_run=aim.dry)
    try:
        crowd = await read_crowd(api)
        present = crowd.company(aim) if aim.dry else await until_gone(api, aim, crowd, tell)
        if present.strays:
            report.problems.append(about_strays(present.strays))
        if present.late:
            report.problems.append(about_late(present.late, aim.patience))
        await _Round(api, aim, crowd, present, report).run(tell)
    except NotYet as stop:
        report.problems.append(str(stop))
    return report


class _Round:
    def __init__(self, api: Api, aim: Aim, crowd: Crowd, present: Company, report: Cleanup) -> None:
        self._api = api
        self._aim = aim
        self._crowd = crowd
        self._present = present
        self._report = report

    async def run(self, tell: Tell) -> None:
        report = self._report
        traces = await self._read()
        report.looked_at = len(traces)
        cleaner = NodeCleaner(self._api, self._judge, dry=self._aim.dry, tell=tell)
        outcomes = await cleaner.clean(nodes_among(traces))
        report.nodes = [cleaned(each.removed) for each in outcomes if each.removed]
        report.problems += problems_in(outcomes)
        objects = await self._objects()
        for each in objects:
            report.objects += each.names
            report.problems += each.problems
        if report.nodes and not self._aim.dry:
            await asyncio.sleep(SETTLED_S)
            await self._look_again(outcomes)
        report.left = what_stays(
            Remains(
                traces=traces,
                holders=self._crowd.holders,
                others=self._present.others,
                kept_objects={name: who for each in objects for name, who in each.kept.items()},
                device_kind=any(each.served for each in objects),
                namespace=self._aim.namespace,
                whole_cluster=self._aim.nodes is None,
            )
        )

    def _judge(self, node: Object) -> Marks:
        return marks_of(node, self._roles(node_called(node)))

    def _seen(self, node: Object) -> Trace:
        attended = DEVICE not in self._roles(node_called(node))
        return trace_of(node, self._judge(node), attended=attended)

    def _roles(self, node: str) -> frozenset[str]:
        return self._present.roles_to_clean(self._aim.chart, node)

    async def _read(self) -> list[Trace]:
        try:
            found = await read_all(self._api, NODES, self._seen, self._aim.nodes)
        except (ApiError, ApiUnreachable) as error:
            self._report.problems.append(f"nodes cannot be read: {cut(str(error))}")
            return []
        missing = sorted({*(self._aim.nodes or ())} - {trace.marks.node for trace in found})
        self._report.problems += [f"node {name}: there is no such node" for name in missing]
        return found

    async def _objects(self) -> Sequence[Removed]:
        aim = self._aim

        def unattended(node: str) -> bool:
            return DEVICE in self._roles(node)

        found = [await remove_devices(self._api, aim.nodes, unattended, dry=aim.dry)]
        leader_ended = not any(ANYWHERE & {*pod.roles} for pod in self._present.late)
        if aim.nodes is not None or not leader_ended:
            return found
        if aim.chart == TANGRAM:
            found.append(await remove_certificates(self._api, aim.namespace, dry=aim.dry))
            found.append(await remove_lease(self._api, aim.namespace, dry=aim.dry))
        if aim.chart == METAX_OPERATOR:
            found.append(await remove_of_operator(self._api, aim.namespace, dry=aim.dry))
            found.append(await remove_lease(self._api, aim.namespace, OPERATOR_LEASE, dry=aim.dry))
            found.append(await remove_kind(self._api, dry=aim.dry))
        return found

    async def _look_again(self, outcomes: Sequence[Outcome]) -> None:
        removed = {each.removed.node: each.removed for each in outcomes if each.removed}

        def is_back(node: Object) -> str | None:
            now = self._judge(node)
            return now.node if now.node in removed and _common(now, removed[now.node]) else None

        try:
            back = await read_all(self._api, NODES, is_back, self._aim.nodes)
        except (ApiError, ApiUnreachable) as error:
            self._report.problems.append(f"whether all of it stays removed is not known: {cut(str(error))}")
            return
        if back:
            self._report.problems.append(
                f"{counted(len(back), 'node')} ({some_of(back)}): what was removed is written again, so an agent of "
                "Tangram runs there that is no pod of this cluster; end it, and ask again"
            )


def _common(one: Marks, other: Marks) -> bool:
    fields = ("labels", "annotations", "conditions", "amounts")
    return any({*getattr(one, field)} & {*getattr(other, field)} for field in fields)
