"""The webhook's own certificates over the whole life of two replicas: nobody who is trusted is ever refused."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Coroutine
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509 import verification
from hypothesis import event, given
from hypothesis import strategies as st

from builders.kept_objects import Fate, KeptObjects, Object
from tangram.daemon.certificates import Pair, certificates_in, check_pair, service_names
from tangram.daemon.serving_identity import ServingIdentity
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.services.scheduler.authority import OwnAuthority, Places
from tangram.services.scheduler.generations import USUAL_PACE, Pace, new_generation, renewed, to_show
from tangram.services.scheduler.trust import KINDS, configuration_path

START = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
PACE = Pace(life=dt.timedelta(days=9), renew_after=dt.timedelta(days=6))
PLACES = Places("gpu", "tangram-webhook", "tangram")
NAMES = service_names("scheduler", "gpu")
KEPT_AT = "/api/v1/namespaces/gpu/secrets/tangram-webhook"
FOREIGN = {
    "name": "a.example.com",
    "clientConfig": {"caBundle": "QUJD", "service": {"name": "other", "namespace": "gpu"}},
}


def ours(name: str) -> Object:
    return {
        "name": name,
        "failurePolicy": "Fail",
        "clientConfig": {"service": {"name": "scheduler", "namespace": "gpu", "path": f"/{name}"}},
    }


def cluster() -> KeptObjects:
    objects = KeptObjects()
    for kind in KINDS:
        hooks = [FOREIGN, ours("webhook"), ours("guard")]
        objects.put(configuration_path(kind, PLACES.configuration), {"webhooks": hooks})
    return objects


def bundles(objects: KeptObjects) -> set[bytes]:
    """What the API servers trust us by, webhook by webhook."""
    found: set[bytes] = set()
    for kind in KINDS:
        foreign, *hooks = objects.objects[configuration_path(kind, PLACES.configuration)]["webhooks"]
        assert foreign == FOREIGN
        for hook in hooks:
            assert hook["failurePolicy"] == "Fail"
            found.add(base64.b64decode(hook["clientConfig"].get("caBundle", "")))
    return found


def trusts(bundle: bytes, shown: Pair, at: dt.datetime) -> bool:
    store = verification.Store(certificates_in(bundle))
    verifier = (
        verification.PolicyBuilder().store(store).time(at).build_server_verifier(x509.DNSName(NAMES[0]))
    )
    try:
        verifier.verify(certificates_in(shown.certificate)[0], [])
    except verification.VerificationError:
        return False
    return True


class Clock:
    def __init__(self) -> None:
        self.now = START

    def behind(self, skew: dt.timedelta = dt.timedelta()) -> dt.datetime:
        return self.now + skew


class Replica:
    """One process of ours; `crash` ends it wherever it is, and with it all it knows."""

    def __init__(self, objects: KeptObjects, clock: Clock, skew: dt.timedelta = dt.timedelta()) -> None:
        self._objects, self._clock, self._skew = objects, clock, skew
        self.running: Coroutine[Any, Any, None] | None = None
        self.begin()

    def begin(self) -> None:
        self.identity = ServingIdentity(lambda: self._clock.behind(self._skew))
        self.authority = OwnAuthority(
            self._objects, PLACES, NAMES, self.identity, now=lambda: self._clock.behind(self._skew), pace=PACE
        )
        self.looked = self._clock.now

    def crash(self) -> None:
        if self.running is not None:
            self.running.close()
            self.running = None
        self.begin()

    def go(self) -> None:
        """On to the next call to the API server, or to the end of this look."""
        if self.running is None:
            self.running = self.authority.step()
        try:
            self.running.send(None)
        except StopIteration:
            self.running, self.looked = None, self._clock.now
        except (ApiError, ApiUnreachable):
            self.running = None

    def finish(self) -> None:
        self.go()
        while self.running is not None:
            self.go()

    @property
    def shown(self) -> Pair | None:
        return self.identity.shown


async def look(*replicas: Replica) -> None:
    for replica in replicas:
        await replica.authority.step()


def kept(objects: KeptObjects) -> list[Object]:
    return json.loads(base64.b64decode(objects.objects[KEPT_AT]["data"]["generations.json"]))


# --- one thing after the other -------------------------------------------------------------------------------------


async def test_the_first_look_makes_keeps_makes_known_and_shows_a_certificate() -> None:
    objects, clock = cluster(), Clock()
    replica = Replica(objects, clock)
    await look(replica)
    (bundle,) = bundles(objects)
    assert replica.shown is not None
    assert trusts(bundle, replica.shown, clock.now)
    assert base64.b64decode(objects.objects[KEPT_AT]["data"]["ca.crt"]) == bundle
    (generation,) = kept(objects)
    assert "PRIVATE" not in generation["authority"] + generation["certificate"], (
        "an authority's key is not kept"
    )


async def test_a_second_replica_shows_the_same_and_changes_nothing() -> None:
    objects, clock = cluster(), Clock()
    first, second = Replica(objects, clock), Replica(objects, clock)
    await look(first)
    version = objects.version
    await look(second)
    assert (second.shown, objects.version) == (first.shown, version)


async def test_renewal_is_known_first_shown_after_it_settled_and_the_old_one_leaves_when_it_expires() -> None:
    objects, clock = cluster(), Clock()
    first, second = Replica(objects, clock), Replica(objects, clock)
    await look(first, second)
    old = first.shown
    (before,) = bundles(objects)

    clock.now = START + PACE.renew_after
    await look(first)
    (both,) = bundles(objects)
    assert (first.shown, len(certificates_in(both))) == (old, 2)
    assert set(certificates_in(before)) < set(certificates_in(both))

    clock.now += PACE.settle - dt.timedelta(seconds=1)
    await look(first, second)
    assert first.shown == second.shown == old
    clock.now += dt.timedelta(seconds=1)
    await look(first)
    assert first.shown != old
    assert second.shown == old, "it has not looked yet, and is still trusted"
    await look(second)
    assert second.shown == first.shown
    assert len(certificates_in(bundles(objects).pop())) == 2

    clock.now = START + PACE.life + PACE.settle
    await look(first)
    assert len(certificates_in(bundles(objects).pop())) == 1


async def test_of_two_replicas_that_begin_at_once_both_show_the_same() -> None:
    objects, clock = cluster(), Clock()
    objects.steps = True
    first, second = Replica(objects, clock), Replica(objects, clock)
    for _ in range(20):
        first.go()
        second.go()
    assert first.shown is not None
    assert first.shown == second.shown
    assert len(kept(objects)) == 1


async def test_of_two_replicas_that_renew_at_once_one_wins_and_both_show_its_certificate() -> None:
    objects, clock = cluster(), Clock()
    first, second = Replica(objects, clock), Replica(objects, clock)
    await look(first, second)
    clock.now += PACE.renew_after
    objects.steps = True
    for _ in range(20):
        first.go()
        second.go()
    assert len(kept(objects)) == 2
    clock.now += PACE.settle
    first.finish()
    second.finish()
    assert first.shown == second.shown
    assert len(kept(objects)) == 2


async def test_a_bundle_somebody_overwrote_is_written_again_and_nothing_else_is_touched() -> None:
    objects, clock = cluster(), Clock()
    replica = Replica(objects, clock)
    await look(replica)
    (good,) = bundles(objects)
    path = configuration_path(KINDS[0], PLACES.configuration)
    changed: list[Object] = [
        FOREIGN,
        {**ours("webhook"), "timeoutSeconds": 3},
        {**ours("guard"), "clientConfig": {}},
    ]
    changed[1]["clientConfig"]["caBundle"] = "bm9uc2Vuc2U="
    objects.put(path, {"webhooks": changed})
    await look(replica)
    foreign, webhook, gone_elsewhere = objects.objects[path]["webhooks"]
    assert (foreign, gone_elsewhere) == (FOREIGN, changed[2])
    assert (webhook["timeoutSeconds"], base64.b64decode(webhook["clientConfig"]["caBundle"])) == (3, good)


async def test_configurations_that_do_not_exist_need_nothing_and_are_served_once_they_do() -> None:
    objects, clock = KeptObjects(), Clock()
    replica = Replica(objects, clock)
    await look(replica)
    assert replica.shown is not None
    objects.put(configuration_path(KINDS[1], PLACES.configuration), {"webhooks": [ours("guard")]})
    await look(replica)
    hook = objects.objects[configuration_path(KINDS[1], PLACES.configuration)]["webhooks"][0]
    assert trusts(base64.b64decode(hook["clientConfig"]["caBundle"]), replica.shown, clock.now)


@pytest.mark.parametrize(
    "damage", [None, {}, {"generations.json": "!"}, {"generations.json": "e30="}], ids=str
)
async def test_a_secret_that_is_deleted_or_damaged_is_made_again_from_what_is_shown(
    damage: Object | None,
) -> None:
    objects, clock = cluster(), Clock()
    replica = Replica(objects, clock)
    await look(replica)
    shown, (bundle,) = replica.shown, bundles(objects)
    if damage is None:
        del objects.objects[KEPT_AT]
    else:
        objects.put(KEPT_AT, {"metadata": {"name": "tangram-webhook"}, "data": damage})
    await look(replica)
    assert (replica.shown, bundles(objects)) == (shown, {bundle})
    fresh = Replica(objects, clock)
    await look(fresh)
    assert fresh.shown == shown


async def test_a_new_replica_that_found_no_secret_does_not_take_trust_from_the_one_that_runs() -> None:
    objects, clock = cluster(), Clock()
    old = Replica(objects, clock)
    await look(old)
    clock.now += PACE.settle
    del objects.objects[KEPT_AT]
    new = Replica(objects, clock)
    for replicas in ((new,), (old,), (new, old)):
        await look(*replicas)
        (bundle,) = bundles(objects)
        for replica in (old, new):
            assert replica.shown is not None
            assert trusts(bundle, replica.shown, clock.now)
    clock.now += PACE.settle
    await look(new, old)
    assert new.shown == old.shown


async def test_other_names_get_another_certificate_beside_the_old_one() -> None:
    objects, clock = cluster(), Clock()
    await look(Replica(objects, clock))
    identity = ServingIdentity(lambda: clock.now)
    moved = OwnAuthority(objects, PLACES, (*NAMES, "10.0.0.9"), identity, now=lambda: clock.now, pace=PACE)
    for _ in range(5):
        await moved.step()
        await look(Replica(objects, clock))
    assert len(kept(objects)) == 2


async def test_without_the_right_to_change_webhooks_what_settled_is_still_shown_and_the_refusal_is_told() -> (
    None
):
    objects, clock = cluster(), Clock()
    replica = Replica(objects, clock)
    forbidden = ApiError(403, "Forbidden", "cannot get mutatingwebhookconfigurations")

    async def refuse(path: str) -> Object:
        if "webhook" in path and "secrets" not in path:
            raise forbidden
        return await KeptObjects.get(objects, path)

    objects.get = refuse
    with pytest.raises(ApiError, match="cannot get mutating"):
        await replica.authority.step()
    assert replica.shown is not None
    assert kept(objects)[0]["published"] is None


# --- everything at once --------------------------------------------------------------------------------------------

LAG = dt.timedelta(minutes=2)
"""How long an API server may go on with a bundle that was replaced."""
SKEWS = st.sampled_from([dt.timedelta(), dt.timedelta(minutes=1), dt.timedelta(minutes=-1)])
WAITS = st.sampled_from(
    [dt.timedelta(seconds=1), dt.timedelta(minutes=1), dt.timedelta(minutes=6), *[dt.timedelta(hours=20)] * 3]
)
FATES: st.SearchStrategy[list[Fate]] = st.lists(
    st.sampled_from(["done", "done", "unheard", "not done"]), max_size=3
)
MOVES = st.one_of(
    st.tuples(st.just("go"), st.integers(0, 1), st.integers(1, 12)),
    st.tuples(st.just("crash"), st.integers(0, 1), st.just(0)),
    st.tuples(st.just("wait"), WAITS, st.integers(1, 6)),
    st.tuples(st.just("fail"), FATES, st.just(0)),
)
LOOKS_WITHIN = dt.timedelta(days=1)
"""A replica that lives looks at least this often; it really looks twice a minute."""


class Life:
    """Two replicas, the API servers that remember a bundle for a while, and what must hold at every moment."""

    def __init__(self, skews: list[dt.timedelta]) -> None:
        self.clock, self.objects = Clock(), cluster()
        self.objects.steps = True
        self.replicas = [Replica(self.objects, self.clock, skew) for skew in skews]
        self._checked: object = None
        self.trusted: dict[bytes, dt.datetime] = {}
        """Bundles, and until when an API server may go by them."""
        self.ever: set[bytes] = set()

    def of(self, number: int) -> Replica:
        return self.replicas[number]

    def wait(self, by: dt.timedelta) -> None:
        self.objects.fates.clear()
        for replica in self.replicas:
            if self.clock.now + by - replica.looked > LOOKS_WITHIN:
                # Twice: what the first look has made known, the second one may show.
                replica.finish()
                self.check()
                replica.finish()
                self.check()
        self.clock.now += by
        self.check()

    def check(self) -> None:
        now = self.clock.now
        present = (now, self.objects.version, [replica.shown for replica in self.replicas])
        if present == self._checked:
            return
        self._checked = present
        for bundle in bundles(self.objects):
            # Before anybody was ever known there is nobody to be trusted.
            if bundle:
                self.trusted[bundle] = now + LAG
        self.trusted = {bundle: until for bundle, until in self.trusted.items() if until >= now}
        for replica in self.replicas:
            if replica.shown is not None:
                self.ever.add(replica.shown.certificate)
                for bundle in self.trusted:
                    assert trusts(bundle, replica.shown, now), "an API server refuses a replica"


@given(skews=st.lists(SKEWS, min_size=2, max_size=2), moves=st.lists(MOVES, min_size=40, max_size=80))
def test_whatever_happens_every_replica_is_trusted_at_every_moment(
    skews: list[dt.timedelta], moves: list[tuple[str, Any, int]]
) -> None:
    life: Life = Life(skews)
    for move, what, times in moves:
        if move == "go":
            for _ in range(times):
                life.of(what).go()
                life.check()
        elif move == "crash":
            life.of(what).crash()
        elif move == "fail":
            life.objects.fates = list(what)
        else:
            for _ in range(times):
                life.wait(what)
        life.check()
    event(f"{min(len(life.ever), 4)} certificates shown")

    life.objects.fates.clear()
    for _ in range(2):
        for replica in life.replicas:
            replica.finish()
            replica.finish()
        life.wait(PACE.settle + dt.timedelta(minutes=2))
    for replica in life.replicas:
        replica.finish()
    first, second = life.replicas
    assert first.shown is not None
    assert first.shown == second.shown
    (bundle,) = bundles(life.objects)
    assert len(certificates_in(bundle)) <= 3
    until = check_pair(first.shown, life.clock.now).not_valid_after_utc
    assert until - life.clock.now > PACE.life - PACE.renew_after - LOOKS_WITHIN, "renewed long before its end"


def test_a_certificate_that_was_made_to_live_for_less_is_replaced_at_once_and_not_shown_to_its_end() -> None:
    begun = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    brief = Pace(
        life=dt.timedelta(minutes=1), renew_after=dt.timedelta(seconds=20), settle=dt.timedelta(seconds=4)
    )
    kept = (new_generation(NAMES, begun, brief),)
    now_there = renewed(kept, NAMES, begun, USUAL_PACE)
    assert len(now_there) == 2
    assert to_show(now_there, NAMES, begun, USUAL_PACE) == now_there[-1]
