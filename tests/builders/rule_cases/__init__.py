"""Objects sent to a real API server and to the sandbox's rules, which must make the same of them.

A case creates one object and may then replace it: the second request is the first one's answer with a merge patch
applied to it, sent to the object itself or to one of its subresources. What the real server said is recorded in
`tests/data/captures/rules.json`; `e2e/test_sandbox_rules.py` asks it again.
"""

from collections.abc import Sequence

from builders.rule_cases import (
    cluster,
    config,
    extending,
    jobs,
    pod_updates,
    pods,
    policy,
    services,
    workloads,
)
from builders.rule_cases.cases import Case

CASES: Sequence[Case] = (
    *pods.CASES,
    *pod_updates.CASES,
    *cluster.CASES,
    *config.CASES,
    *workloads.CASES,
    *jobs.CASES,
    *services.CASES,
    *policy.CASES,
    *extending.CASES,
)
