"""The options of HAMi's scheduler, which its chart takes as a list and puts last on the command line.

So each of them goes before the value that says the same, in HAMi and here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tangram.wire import loose
from tangram.wire.hami_values.rows import Flag

VERBOSITY: Final = "-v"
USUAL_VERBOSITY: Final = 4
_FILE = "It says nothing beside a device-config.yaml, which HAMi's chart always gives; names belong there."
_LOGS = "Logs are set with log and scheduler.log."
_CERTIFICATE = "certificates says whose certificate is shown; by itself the scheduler makes its own."
_LEASE = "The Lease is tangram-scheduler in the release's namespace."


def _same_as(name: str, key: str, *, takes: bool = True) -> Flag:
    return Flag(name=name, key=key, takes=takes)


FLAGS: Final = (
    Flag(
        name="--http_bind", remark="kube-scheduler asks on the pod's loopback, everybody else at port 9443."
    ),
    Flag(name="--cert_file", remark=_CERTIFICATE),
    Flag(name="--key_file", remark=_CERTIFICATE),
    _same_as("--scheduler-name", "schedulerName"),
    _same_as("--node-scheduler-policy", "scheduler.defaultSchedulerPolicy.nodeSchedulerPolicy"),
    _same_as("--gpu-scheduler-policy", "scheduler.defaultSchedulerPolicy.gpuSchedulerPolicy"),
    _same_as("--metrics-bind-address", "scheduler.metricsBindAddress"),
    _same_as("--node-label-selector", "scheduler.nodeLabelSelector"),
    _same_as("--kube-qps", "scheduler.kubeQPS"),
    _same_as("--kube-burst", "scheduler.kubeBurst"),
    _same_as("--kube-timeout", "scheduler.kubeTimeout"),
    Flag(
        name="--profiling",
        takes=False,
        remark="It is for Go programs; /metrics tells how long every answer takes.",
    ),
    _same_as("--node-lock-timeout", "scheduler.nodeLockExpire"),
    _same_as("--node-lock-retry-timeout", "scheduler.nodeLockRetryTimeout"),
    _same_as("--force-overwrite-default-scheduler", "scheduler.forceOverwriteDefaultScheduler", takes=False),
    _same_as("--leader-elect", "scheduler.leaderElect", takes=False),
    Flag(name="--leader-elect-resource-name", remark=_LEASE),
    Flag(name="--leader-elect-resource-namespace", remark=_LEASE),
    _same_as("--legacy-metrics", "legacyMetrics", takes=False),
    Flag(name="--device-config-file", remark="It is scheduler.deviceConfig here."),
    Flag(name="--debug", takes=False, remark=_LOGS),
    Flag(
        name=VERBOSITY,
        remark="Above 4, HAMi's usual number, it is scheduler.log.level: debug; up to 4 it is not needed.",
    ),
    *(
        Flag(name=name, takes=takes, remark=_LOGS)
        for name, takes in (
            ("--add_dir_header", False),
            ("--alsologtostderr", False),
            ("--log_backtrace_at", True),
            ("--log_dir", True),
            ("--log_file", True),
            ("--log_file_max_size", True),
            ("--logtostderr", False),
            ("--one_output", False),
            ("--skip_headers", False),
            ("--skip_log_headers", False),
            ("--stderrthreshold", True),
            ("--vmodule", True),
        )
    ),
    *(
        Flag(name=name, takes=takes, remark=_FILE)
        for name, takes in (
            ("--metax-name", True),
            ("--metax-vcount", True),
            ("--metax-vcore", True),
            ("--metax-vmemory", True),
            ("--sgpu-topology-aware", False),
            ("--mthreads-name", True),
            ("--mthreads-memory", True),
            ("--mthreads-cores", True),
        )
    ),
)
_BY_NAME: Final = {flag.name: flag for flag in FLAGS}
_SWITCHES: Final = frozenset(("--debug",))
"""What HAMi's chart gives by itself, and nobody has to be told about."""


class Given(NamedTuple):
    """An option as it stands in the list."""

    name: str
    value: str
    """`true` for a switch that stands alone."""
    flag: Flag | None
    """Unknown if there is none."""

    @property
    def usual(self) -> bool:
        return self.name in _SWITCHES or (self.name == VERBOSITY and self.value == str(USUAL_VERBOSITY))


def options_in(words: Sequence[object]) -> Iterator[Given]:
    """The options of an argument list; a word that belongs to none is given as an option nobody knows."""
    spelled = [loose.scalar_text(word) or "" for word in words]
    at = 0
    while at < len(spelled):
        name, has_value, value = spelled[at].partition("=")
        name = _name(name)
        flag = _BY_NAME.get(name)
        at += 1
        if not has_value and flag is not None and flag.takes and at < len(spelled):
            value, at = spelled[at], at + 1
        elif not has_value:
            value = "true"
        yield Given(name, value, flag)


def _name(word: str) -> str:
    """Go takes one dash or two; people find an option by the spelling of the table."""
    bare = word.lstrip("-")
    if not word.startswith("-") or not bare:
        return word
    return f"-{bare}" if len(bare) == 1 else f"--{bare}"
