"""The policy that a cluster is given, letter for letter; that it does what it says is shown end to end."""

import json

from syrupy.assertion import SnapshotAssertion

from tangram.wire.allocation_keys import ANNOTATIONS
from tangram.wire.trust_policy import (
    DOORS,
    TrustedAccounts,
    guarded_requests,
    service_account,
    trust_manifests,
)

ACCOUNTS = TrustedAccounts(
    scheduler=service_account("tangram", "tangram-scheduler"),
    peers=(service_account("kube-system", "hami-scheduler"),),
    agents=(service_account("tangram", "gpu-device"),),
)


def test_the_policy_and_its_binding_are_these(snapshot: SnapshotAssertion) -> None:
    assert trust_manifests(ACCOUNTS) == snapshot


def test_every_way_to_write_an_annotation_is_covered() -> None:
    assert {name for rule in guarded_requests() for name in rule["resources"]} == set(DOORS)


def test_a_name_with_quotes_stays_one_text() -> None:
    policy, _ = trust_manifests(TrustedAccounts(scheduler='a"] || true || x in ["b', peers=("c\\d",)))
    (trusted,) = [each for each in policy["spec"]["variables"] if each["name"] == "trusted"]
    listed = trusted["expression"].partition(" in ")[2]
    assert json.JSONDecoder().raw_decode(listed)[0] == ['a"] || true || x in ["b', "c\\d"]


def test_the_policy_fits_what_kubernetes_takes() -> None:
    policy, _ = trust_manifests(ACCOUNTS)
    assert len(json.dumps(policy)) < 16_384
    assert len(set(ANNOTATIONS)) == len(ANNOTATIONS)
