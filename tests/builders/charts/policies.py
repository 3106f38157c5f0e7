"""The admission policies as the charts make them; nothing else states their texts."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import Final

from builders.charts.cases import TANGRAM, case_named
from builders.charts.goldens import Object, objects_of
from builders.charts.reading import of_kind
from tangram.wire.trust_policy import POLICY_NAME, TrustedAccounts

KINDS: Final = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
_NAMED: Final = re.compile(r"(?<=request\.userInfo\.username in )\[[^\]]*\]")


def policies(chart: str, case: str, name: str) -> list[Object]:
    """The policy of that name and its binding; none where the case has none."""
    found = of_kind(objects_of(case_named(chart, case)), *KINDS)
    return sorted((each for each in found if each["metadata"]["name"] == name), key=lambda each: each["kind"])


def variable(policy: Object, name: str) -> str:
    """The expression of a variable."""
    (found,) = [each["expression"] for each in policy["spec"]["variables"] if each["name"] == name]
    return found


def trust_manifests(accounts: TrustedAccounts) -> list[Object]:
    """Who may say which cards a pod holds: the policy of chart `tangram` and its binding, for other accounts."""
    policy, binding = deepcopy(policies(TANGRAM, "default", POLICY_NAME))
    policy["metadata"] = binding["metadata"] = {"name": POLICY_NAME}
    wanted = iter(json.dumps([*names]) for names in (accounts.everywhere, accounts.agents))
    (trusted,) = [each for each in policy["spec"]["variables"] if each["name"] == "trusted"]
    trusted["expression"] = _NAMED.sub(lambda _: next(wanted), trusted["expression"])
    if next(wanted, None) is not None:
        raise AssertionError("the policy names the scheduler and its peers, and the agents")
    return [policy, binding]
