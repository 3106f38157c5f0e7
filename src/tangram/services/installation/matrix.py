"""The versions of everything around Tangram that the checks compare with.

The whole support matrix, with what each version is needed for and who states it, is a table of `docs/preflight.md`; a
test holds its numbers to these.
"""

from __future__ import annotations

from typing import Final

from tangram.drivers.doctor.versions import Version

Minor = tuple[int, int]

OLDEST_KUBERNETES: Final[Minor] = (1, 23)
SCHEDULER_CONFIG_V1: Final[Minor] = (1, 25)
"""The first kube-scheduler that reads `kubescheduler.config.k8s.io/v1`."""
PERCENTAGE_BY_PROFILE: Final[Minor] = (1, 26)
"""The first with `percentageOfNodesToScore` in a profile; before, it stands beside `profiles`."""
POLICIES: Final[Minor] = (1, 30)
"""ValidatingAdmissionPolicy, `matchConditions` of webhooks and node names in tokens, all without a feature gate."""
NOMINATION: Final[Minor] = (1, 35)
NEWEST_TRIED: Final[Minor] = (1, 36)
"""The newest that the end-to-end tests run on."""
NO_DOCKER_FROM: Final[Minor] = (1, 24)

OLDEST_CONTAINERD: Final[Version] = (1, 5, 0)
OLDEST_DOCKER: Final[Version] = (18, 9, 3)
CONTAINERD_CDI: Final[Version] = (2, 0, 0)
OLDEST_HELM: Final[Version] = (3, 1, 0)
"""The first whose templates can look into the cluster."""
HELM_WITH_REGISTRIES: Final[Version] = (3, 8, 0)

HOSTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("Ubuntu", ("18.04", "20.04", "22.04")),
    ("CentOS", ("8", "9")),
    ("openEuler", ("20.03", "22.03")),
)
"""Systems for which MetaX states support, as they name themselves; of CentOS every release 8.x and 9.x."""
ARCHITECTURES: Final = ("amd64", "arm64")


def minor_text(version: Minor) -> str:
    """As people write it."""
    return ".".join(map(str, version))
