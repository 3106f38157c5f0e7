"""`docs/migrate-from-hami.md` shows the table by which `tangram migrate hami` translates, and nothing else."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from builders.commands import run
from tangram.wire.hami_values.flags import FLAGS, VERBOSITY
from tangram.wire.hami_values.rows import Flag, Outcome, Row
from tangram.wire.hami_values.table import ROWS

PAGE: Final = (Path(__file__).parents[2] / "docs" / "migrate-from-hami.md").read_text("utf-8")
WORDS: Final = {Outcome.NOT_NEEDED: "not needed", Outcome.NOT_SUPPORTED: "not supported"}
_NAMES: Final = """
metaxResourceName metaxResourceCore metaxResourceMem metaxsGPUTopologyAware devices.mthreads.enabled
devices.mthreads.customresources schedulerName scheduler.defaultSchedulerPolicy.nodeSchedulerPolicy
scheduler.defaultSchedulerPolicy.gpuSchedulerPolicy scheduler.forceOverwriteDefaultScheduler scheduler.leaderElect
scheduler.replicas scheduler.nodeLabelSelector scheduler.nodeLockExpire scheduler.extender.extraArgs
scheduler.kubeScheduler.enabled scheduler.kubeScheduler.image.registry scheduler.kubeScheduler.image.repository
scheduler.kubeScheduler.image.tag scheduler.kubeScheduler.image.pullPolicy scheduler.kubeScheduler.image.pullSecrets
scheduler.kubeScheduler.resources scheduler.kubeScheduler.extraNewArgs scheduler.kubeScheduler.extraArgs
scheduler.admissionWebhook.enabled scheduler.admissionWebhook.customURL.enabled
scheduler.admissionWebhook.whitelistNamespaces scheduler.admissionWebhook.manageNamespaceSelector
scheduler.admissionWebhook.namespaceSelector.matchLabels scheduler.admissionWebhook.objectSelector.matchExpressions
scheduler.admissionWebhook.reinvocationPolicy scheduler.admissionWebhook.failurePolicy scheduler.certManager.enabled
scheduler.patch scheduler.service.type scheduler.service.httpPort scheduler.service.schedulerPort
scheduler.service.monitorPort scheduler.service.monitorTargetPort scheduler.livenessProbe legacyMetrics
prometheus.enabled device-config.content devices.mthreads.memoryPerCard devices.metax.resourceVCountName
devices.metax.resourceVCoreName devices.metax.resourceVMemoryName devices.metax.sgpuTopologyAware
device.mthreads.enabled global.managedNodeSelector
--http_bind --cert_file --key_file --scheduler-name --node-scheduler-policy --gpu-scheduler-policy
--metrics-bind-address --node-label-selector --kube-qps --kube-burst --kube-timeout --profiling --node-lock-timeout
--node-lock-retry-timeout --force-overwrite-default-scheduler --leader-elect --leader-elect-resource-name
--leader-elect-resource-namespace --legacy-metrics --device-config-file --debug -v --metax-name --metax-vcount
--metax-vcore --metax-vmemory --sgpu-topology-aware --mthreads-name --mthreads-memory --mthreads-cores
"""
REFERENCE: Final = _NAMES.split()
"""What the reference of HAMi's chart and scheduler has for these two vendors."""


def joined(lines: Iterable[tuple[tuple[str, ...], str, str]]) -> Iterator[str]:
    """Rows of a page; of those that stand together and say the same, one."""
    for (here, remark), group in itertools.groupby(lines, key=lambda line: line[1:]):
        keys = [f"`{key}`" for line in group for key in line[0]]
        yield f"| {', '.join(keys)} | {here} | {remark} |".replace("|  |", "| |")


def value_line(row: Row) -> tuple[tuple[str, ...], str, str]:
    word = row.here if row.becomes is msgspec.UNSET else f"{row.here}: {row.becomes}"
    here = f"`{word}`" if row.here else WORDS[row.way]
    return row.spellings, here, " ".join(text for text in (row.remark, row.if_usual) if text)


def option_line(flag: Flag) -> tuple[tuple[str, ...], str, str]:
    here = "not needed" if not flag.key else f"as `{flag.key}`"
    return (flag.name,), "`scheduler.log.level`" if flag.name == VERBOSITY else here, flag.remark


def table(title: str) -> list[str]:
    found = re.search(rf"^### {title}$(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    rows = [line for line in found[1].splitlines() if line.startswith("|")]
    return rows[2:]


def test_the_page_has_every_value() -> None:
    assert table("Values") == list(joined(map(value_line, ROWS)))


def test_the_page_has_every_option() -> None:
    assert table("Options of HAMi's scheduler") == list(joined(map(option_line, FLAGS)))


@pytest.mark.parametrize("name", REFERENCE)
def test_nothing_of_the_reference_is_missing(name: str) -> None:
    known = {spelling for row in ROWS for spelling in row.spellings} | {flag.name for flag in FLAGS}
    assert name in known
    assert f"`{name}`" in PAGE


def test_the_example_is_what_the_command_prints() -> None:
    blocks: list[str] = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    values, ours = blocks[:2]
    printed = run("migrate", "hami", "--values", "-", stdin=values)
    assert printed.out.partition("\n\n")[2] == ours
    (told,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert printed.err == told
