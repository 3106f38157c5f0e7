"""The webhook's certificates in the order they were made, and which of them is shown when.

A generation is an authority, the one certificate it signed, and that certificate's key. Nobody is refused while they
change because three things never happen at once: a new authority is first made known to all callers; only when
that has had time to reach every API server is its certificate shown; and an authority stays known until it expires, so
a replica that was cut off and still shows the old certificate is still trusted.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import msgspec
from cryptography import x509

from tangram.daemon.certificates import (
    BACKDATED,
    CertificateError,
    Pair,
    certificates_in,
    check_pair,
    issue,
    names_in,
    vouches_for,
)

LABEL: Final = "tangram webhook"
"""How the names of our authorities begin."""


class Pace(msgspec.Struct, frozen=True):
    life: dt.timedelta = dt.timedelta(days=90)
    renew_after: dt.timedelta = dt.timedelta(days=60)
    settle: dt.timedelta = dt.timedelta(minutes=5)
    """From the moment an authority is written down for the API servers until its certificate is shown; also what
    clocks of replicas may differ by, with room to spare."""


USUAL_PACE: Final = Pace()


class Generation(msgspec.Struct, frozen=True):
    authority: str
    certificate: str
    key: str
    published: float | None = None
    """When somebody saw the authority in every configuration, in seconds since 1970."""

    def __repr__(self) -> str:
        return f"Generation(made={self.made:%Y-%m-%dT%H:%M:%S}, published={self.published})"

    @property
    def pair(self) -> Pair:
        return Pair(self.certificate.encode(), self.key.encode())

    @property
    def made(self) -> dt.datetime:
        return self.trusted.not_valid_before_utc + BACKDATED

    @property
    def expires(self) -> dt.datetime:
        return self.trusted.not_valid_after_utc

    @property
    def trusted(self) -> x509.Certificate:
        """The authority, to be trusted by callers."""
        return _certificate(self.authority)


Generations = tuple[Generation, ...]
"""In the order they were made."""


def new_generation(names: Sequence[str], now: dt.datetime, pace: Pace) -> Generation:
    """An authority nobody knows yet, and its certificate."""
    made = issue(names, LABEL, now=now, life=pace.life)
    return Generation(made.authority.decode(), made.pair.certificate.decode(), made.pair.key.decode())


def written(generations: Generations) -> bytes:
    """As they are kept."""
    return msgspec.json.encode(generations)


def read(text: bytes) -> Generations:
    """Those of a kept text that hold; what does not is passed over, for there is always a way to make a new one."""
    try:
        found = msgspec.json.decode(text, type=Generations)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()
    return _in_order(one for one in found if _holds(one))


def joined(kept: Generations, known: Generations) -> Generations:
    """What is kept and what we know besides; known to be published by either is published."""
    by_authority: dict[str, Generation] = {}
    for one in (*kept, *known):
        other = by_authority.get(one.authority)
        if other is None or other.published is None:
            by_authority[one.authority] = one
    return _in_order(by_authority.values())


def renewed(generations: Generations, names: Sequence[str], now: dt.datetime, pace: Pace) -> Generations:
    """Without what has long expired, and with a new one where the newest for these names is old."""
    standing = tuple(one for one in generations if not is_over(one.trusted, now, pace))
    ours = _for(names, standing)
    # By its age, and by what is left: one that was made to live for less must not be waited for.
    if ours and now < min(
        ours[-1].made + pace.renew_after, ours[-1].expires - (pace.life - pace.renew_after)
    ):
        return standing
    return (*standing, new_generation(names, now, pace))


def published(generations: Generations, now: dt.datetime) -> Generations:
    """All of them, known to be written down where callers look."""
    return tuple(
        one if one.published is not None else msgspec.structs.replace(one, published=now.timestamp())
        for one in generations
    )


def to_show(
    generations: Generations, names: Sequence[str], now: dt.datetime, pace: Pace
) -> Generation | None:
    """The newest that every caller trusts by now; at the very beginning, when there is none, the oldest."""
    valid = [one for one in _for(names, generations) if now < one.expires]
    # One that is about to expire is no choice while there is another.
    valid = [one for one in valid if now + pace.settle < one.expires] or valid
    latest = now.timestamp() - pace.settle.total_seconds()
    settled = [one for one in valid if one.published is not None and one.published <= latest]
    return settled[-1] if settled else next(iter(valid), None)


def is_over(authority: x509.Certificate, now: dt.datetime, pace: Pace) -> bool:
    """Whether it has expired by everybody's clock."""
    return authority.not_valid_after_utc + pace.settle <= now


def is_ours(authority: x509.Certificate) -> bool:
    """Whether an authority was made here, by its name."""
    return authority.subject.rfc4514_string().startswith(f"CN={LABEL} ")


def _for(names: Sequence[str], generations: Iterable[Generation]) -> list[Generation]:
    return [one for one in generations if names_in(_certificate(one.certificate)).issuperset(names)]


def _in_order(generations: Iterable[Generation]) -> Generations:
    return tuple(sorted(generations, key=lambda one: (one.made, one.authority)))


def _holds(one: Generation) -> bool:
    authorities = certificates_in(one.authority.encode())
    if len(authorities) != 1:
        return False
    try:
        # Whether it is still valid is asked when it is used.
        leaf = check_pair(one.pair, authorities[0].not_valid_before_utc)
    except CertificateError:
        return False
    return vouches_for(authorities[0], leaf) and is_ours(authorities[0])


@lru_cache(maxsize=64)
def _certificate(pem: str) -> x509.Certificate:
    return certificates_in(pem.encode())[0]
