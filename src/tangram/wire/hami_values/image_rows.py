"""Values of HAMi's chart about images, and about the two containers that run them."""

from __future__ import annotations

from typing import Final

from tangram.wire.hami_values.rows import EXTRA_ARGS, Kind, mapped, not_needed, not_supported

_IMAGE = "It is another program's image; registry says where Tangram's comes from."

REGISTRY: Final = mapped(
    "scheduler.kubeScheduler.image.registry",
    "scheduler.kubeScheduler.image.registry",
    Kind.TEXT,
    remark="The folder of the repository belongs to the registry here, as in DOMAIN/google_containers.",
)
REPOSITORY: Final = mapped(
    "scheduler.kubeScheduler.image.repository",
    "scheduler.kubeScheduler.image.name",
    Kind.TEXT,
    usual=("google_containers/kube-scheduler",),
    also=("scheduler.kubeScheduler.image",),
    remark="Its last part; what stands before it belongs to the registry here.",
)
GLOBAL_REGISTRY: Final = mapped(
    "global.imageRegistry",
    "scheduler.kubeScheduler.image.registry",
    Kind.TEXT,
    remark="Push Tangram's image there too, and say where with registry: DOMAIN/PROJECT.",
)
PULL_SECRETS: Final = tuple(
    mapped(key, "imagePullSecrets", Kind.ANY, remark="For all images of the release.")
    for key in (
        "imagePullSecrets",
        "global.imagePullSecrets",
        "scheduler.kubeScheduler.image.pullSecrets",
        "scheduler.extender.image.pullSecrets",
    )
)
EXTENDER_ARGUMENTS: Final = not_needed(EXTRA_ARGS, "Each option counts by itself: see below.")
KUBE_SCHEDULER_ARGUMENTS: Final = tuple(
    not_supported(
        key,
        "kube-scheduler's command line is the chart's own; an option beyond those of HAMi's chart is lost.",
    )
    for key in ("scheduler.kubeScheduler.extraNewArgs", "scheduler.kubeScheduler.extraArgs")
)

CONTAINERS: Final = (
    mapped(
        "scheduler.kubeScheduler.enabled",
        "scheduler.kubeScheduler.enabled",
        Kind.FLAG,
        usual=(True,),
        remark="Without it a kube-scheduler of yours calls: say scheduler.clientCA, scheduler.replicas: 1 and "
        "certificates too (docs/install.md).",
    ),
    mapped(
        "scheduler.kubeScheduler.image.tag",
        "scheduler.kubeScheduler.image.tag",
        Kind.TEXT,
        also=("scheduler.kubeScheduler.imageTag", "scheduler.kubeScheduler.tag"),
        remark="Without it, it is the version of the cluster at every upgrade of the release.",
    ),
    not_needed(
        "scheduler.kubeScheduler.image.pullPolicy",
        "pullPolicy is for all images.",
        usual=("IfNotPresent",),
        also=("scheduler.kubeScheduler.imagePullPolicy",),
    ),
    mapped("scheduler.kubeScheduler.resources", "scheduler.kubeScheduler.resources", Kind.RESOURCES),
    mapped("scheduler.extender.resources", "scheduler.resources", Kind.RESOURCES),
    mapped(
        "scheduler.extender.image.pullPolicy",
        "pullPolicy",
        Kind.TEXT,
        usual=("IfNotPresent",),
        also=("scheduler.extender.imagePullPolicy",),
    ),
    not_needed("scheduler.extender.image.registry", _IMAGE),
    not_needed("scheduler.extender.image.repository", _IMAGE, also=("scheduler.extender.image",)),
    not_needed("scheduler.extender.image.tag", _IMAGE),
    not_needed("global.imageTag", _IMAGE, also=("version",)),
)
