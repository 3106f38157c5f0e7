"""Every value of HAMi's chart that has to do with MetaX or Moore Threads cards, and what it is in ours.

Names are those of HAMi 2.10; what older and newer charts call the same stands beside them. `docs/migrate-from-hami.md`
shows this table, and a test compares the two.
"""

from __future__ import annotations

from typing import Final

from tangram.wire.hami_values import chart_rows, image_rows, resource_rows, scheduler_rows

ROWS: Final = (
    *resource_rows.RESOURCES,
    resource_rows.CONTENT,
    *resource_rows.MTHREADS,
    *scheduler_rows.SCHEDULER,
    *image_rows.CONTAINERS,
    image_rows.REGISTRY,
    image_rows.REPOSITORY,
    image_rows.GLOBAL_REGISTRY,
    *image_rows.PULL_SECRETS,
    image_rows.EXTENDER_ARGUMENTS,
    *image_rows.KUBE_SCHEDULER_ARGUMENTS,
    *chart_rows.WEBHOOK,
    *chart_rows.AROUND,
)
