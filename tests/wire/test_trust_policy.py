"""Which requests are looked at for allocations; the policy that a cluster is given is `tests/charts`'s part."""

from tangram.wire.allocation_keys import ANNOTATIONS
from tangram.wire.trust_policy import DOORS, guarded_requests


def test_every_way_to_write_an_annotation_is_covered() -> None:
    assert {name for rule in guarded_requests() for name in rule["resources"]} == set(DOORS)


def test_no_annotation_is_guarded_twice() -> None:
    assert len(set(ANNOTATIONS)) == len(ANNOTATIONS)
