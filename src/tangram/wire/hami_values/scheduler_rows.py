"""Values of HAMi's chart about its scheduler: what it decides, and how it runs."""

from __future__ import annotations

from typing import Final

from tangram.wire.hami_values.rows import Kind, Outcome, Row, mapped, not_needed, not_supported
from tangram.wire.scheduler_config import HAMI_NAME

METRICS: Final = (
    "Metrics are at port 9443 of the Service tangram-scheduler, over TLS and to whoever may read them; the names "
    "are HAMi's. Tell your scraper."
)
_NO_LIMIT = (
    "Nothing is rationed here: a pod that comes alone costs one write to the API server, one in a burst two."
)
_WHERE = "The scheduler's pods keep apart from each other and are replaced one by one; the chart has no value for it."

NAME: Final = mapped(
    "schedulerName",
    "scheduler.name",
    Kind.TEXT,
    usual=(HAMI_NAME,),
    remark="Stop HAMi's scheduler first: two must not answer to one name. hami-scheduler itself needs no value, see "
    "scheduler.profiles.hami.",
)

SCHEDULER: Final = (
    NAME,
    mapped(
        "scheduler.defaultSchedulerPolicy.nodeSchedulerPolicy",
        "scheduler.config.nodePolicy",
        Kind.TEXT,
        usual=("binpack",),
    ),
    mapped(
        "scheduler.defaultSchedulerPolicy.gpuSchedulerPolicy",
        "scheduler.config.cardPolicy",
        Kind.TEXT,
        usual=("spread",),
    ),
    mapped(
        "scheduler.forceOverwriteDefaultScheduler",
        "scheduler.config.forceOverwriteDefaultScheduler",
        Kind.FLAG,
        usual=(True,),
    ),
    not_needed(
        "scheduler.leaderElect",
        "Replicas always elect, by the Lease of the kube-scheduler beside them.",
        usual=(True,),
        kind=Kind.FLAG,
    ),
    Row(
        key="scheduler.replicas",
        way=Outcome.MAPPED,
        here="scheduler.replicas",
        kind=Kind.COUNT,
        usual=(0, 1),
        if_usual="One is HAMi's usual number, and none is how it is stopped; here two run, one active and one warm. "
        "Write scheduler.replicas: 1 if you want one.",
    ),
    not_needed(
        "scheduler.podDisruptionBudget",
        "There is one: of the replicas one at a time may be away.",
        usual=({"minAvailable": 1},),
    ),
    not_supported(
        "scheduler.nodeLabelSelector",
        "Pods are placed on every node that announces cards. Keep them off a node with a taint, or with the pods' "
        "own node affinity.",
    ),
    mapped(
        "scheduler.nodeLockExpire",
        "scheduler.config.nodeLockSeconds",
        Kind.DURATION,
        usual=(300,),
        remark="In seconds. HAMi's scheduler goes by its option --node-lock-timeout alone; here it counts.",
    ),
    not_needed(
        "scheduler.nodeLockRetryTimeout",
        "Only nodes of a vendor's closed plugin have a lock here, and every pod waits up to 20 s for it.",
    ),
    not_needed("scheduler.kubeQPS", _NO_LIMIT),
    not_needed("scheduler.kubeBurst", _NO_LIMIT),
    not_needed("scheduler.kubeTimeout", "Every request to the API server has an end here.", usual=(0,)),
    not_needed("scheduler.extenderHTTPTimeout", "It is 30 s, as HAMi's usually is.", usual=(30,)),
    not_supported("scheduler.metricsBindAddress", METRICS, usual=(":9395",)),
    not_needed(
        "scheduler.livenessProbe", "Both containers are always probed.", usual=(False,), kind=Kind.FLAG
    ),
    mapped("scheduler.nodeSelector", "scheduler.nodeSelector", Kind.MAP),
    mapped(
        "scheduler.tolerations",
        "scheduler.tolerations",
        Kind.MAPS,
        remark="The taint of control planes is tolerated anyway.",
    ),
    not_supported(
        "scheduler.nodeName", "Write scheduler.nodeSelector: a pod that names its node is never moved."
    ),
    *(not_supported(f"scheduler.{word}", _WHERE) for word in ("podAnnotations", "strategy")),
    not_needed("scheduler.serviceAccountName", "The chart makes the account tangram-scheduler."),
)
