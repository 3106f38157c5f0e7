"""The KubeSchedulerConfiguration that a real kube-scheduler would be given, read for the loop that stands in for it.

One object drives both, so a sandbox cannot be configured in a way that a cluster could not. What the stand-in would
pass over (plugins, their arguments, parallelism) is refused by its name: a setting that is silently without effect is
found out much later, on a real cluster. `clientConnection` alone is read and unused, because the connection is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tangram.kube.objects import Object
from tangram.units.durations import DurationError, parse_duration
from tangram.wire.extender_config import API_VERSION, KIND

DEFAULT_NAME: Final = "default-scheduler"
EXTENDER_LIMIT_S: Final = 5.0


class BadConfiguration(Exception):  # noqa: N818 - says what it is
    """A configuration that the stand-in cannot follow; the text says what was read and what to write."""


class Tls(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""


class _Resource(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    name: str
    ignored_by_scheduler: bool = False


class _Extender(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    url_prefix: str
    filter_verb: str = ""
    prioritize_verb: str = ""
    preempt_verb: str = ""
    bind_verb: str = ""
    weight: int = 0
    http_timeout: str = ""
    node_cache_capable: bool = False
    ignorable: bool = False
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    tls_config: Tls | None = None
    managed_resources: tuple[_Resource, ...] = ()


class _Profile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    scheduler_name: str = DEFAULT_NAME
    percentage_of_nodes_to_score: int | None = None


class _Election(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    leader_elect: bool = True
    resource_lock: str = "leases"
    resource_namespace: str = "kube-system"
    resource_name: str = "kube-scheduler"
    lease_duration: str = "15s"
    renew_deadline: str = "10s"
    retry_period: str = "2s"


class _Document(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    api_version: str
    kind: str
    client_connection: dict[str, Any] = {}
    leader_election: _Election = _Election()
    percentage_of_nodes_to_score: int | None = None
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    profiles: tuple[_Profile, ...] = (_Profile(),)
    extenders: tuple[_Extender, ...] = ()


class Extender(msgspec.Struct, frozen=True, kw_only=True):
    """One extender: a verb that is empty is one it does not have."""

    url: str
    filter: str = ""
    prioritize: str = ""
    preempt: str = ""
    bind: str = ""
    weight: int = 0
    limit: float = EXTENDER_LIMIT_S
    cached: bool = False
    """It keeps nodes itself and is sent their names alone."""
    ignorable: bool = False
    https: bool = False
    tls: Tls | None = None
    managed: frozenset[str] = frozenset()

    def minds(self, resources: frozenset[str]) -> bool:
        """Whether a pod that names these resources is any of its business."""
        return not self.managed or not self.managed.isdisjoint(resources)


class LeaseTerms(msgspec.Struct, frozen=True):
    namespace: str
    name: str
    duration: float
    deadline: float
    """After so long without a renewal the holder stops, well before others may take over."""
    pause: float


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    percentages: Mapping[str, int]
    """By scheduler name: how many of the nodes in a hundred are looked at; 0 is kube-scheduler's own choice."""
    extenders: tuple[Extender, ...]
    """Those that may be passed over come last, as kube-scheduler orders them."""
    ignored: frozenset[str]
    """Extended resources that are not counted in-tree."""
    lease: LeaseTerms | None
    first_backoff: float
    longest_backoff: float


def read_settings(document: Object) -> Settings:
    """The configuration as the loop follows it. Raises `BadConfiguration`."""
    try:
        read = msgspec.convert(document, _Document)
    except msgspec.ValidationError as error:
        raise BadConfiguration(
            f"the stand-in scheduler cannot follow this configuration ({error}): it knows profiles with schedulerName "
            "and percentageOfNodesToScore, extenders, leaderElection and the back-off times; take out the rest"
        ) from None
    _check(read)
    general = read.percentage_of_nodes_to_score or 0
    extenders = sorted((_extender(each) for each in read.extenders), key=lambda one: one.ignorable)
    return Settings(
        percentages={
            each.scheduler_name: general
            if each.percentage_of_nodes_to_score is None
            else each.percentage_of_nodes_to_score
            for each in read.profiles
        },
        extenders=tuple(extenders),
        ignored=frozenset(
            one.name for each in read.extenders for one in each.managed_resources if one.ignored_by_scheduler
        ),
        lease=_lease(read.leader_election) if read.leader_election.leader_elect else None,
        first_backoff=read.pod_initial_backoff_seconds,
        longest_backoff=read.pod_max_backoff_seconds,
    )


def _check(read: _Document) -> None:
    names = [each.scheduler_name for each in read.profiles]
    percentages = [
        read.percentage_of_nodes_to_score,
        *(p.percentage_of_nodes_to_score for p in read.profiles),
    ]
    managed = [one.name for each in read.extenders for one in each.managed_resources]
    binders = [each.url_prefix for each in read.extenders if each.bind_verb]
    faults = [
        (read.api_version != API_VERSION, f"apiVersion is {read.api_version!r}: write {API_VERSION}"),
        (read.kind != KIND, f"kind is {read.kind!r}: write {KIND}"),
        (
            not names or "" in names,
            "profiles has no scheduler name: write one schedulerName for each profile",
        ),
        (len(set(names)) < len(names), f"profiles names {', '.join(names)}: write each schedulerName once"),
        (
            any(each is not None and not 0 <= each <= 100 for each in percentages),
            "percentageOfNodesToScore is out of range: write 0 to 100",
        ),
        (
            read.pod_initial_backoff_seconds <= 0
            or read.pod_max_backoff_seconds < read.pod_initial_backoff_seconds,
            "podInitialBackoffSeconds is not from 1 to podMaxBackoffSeconds: write such a number",
        ),
        (
            read.leader_election.leader_elect and read.leader_election.resource_lock != "leases",
            f"resourceLock is {read.leader_election.resource_lock!r}: write leases",
        ),
        (len(binders) > 1, f"{' and '.join(binders)} have a bindVerb: at most one extender may bind"),
        (len(set(managed)) < len(managed), "a name stands in managedResources twice: write each once"),
    ]
    for each in read.extenders:
        faults += [
            (
                not each.url_prefix.startswith(("http://", "https://")),
                f"urlPrefix is {each.url_prefix!r}: write http://HOST:PORT or https://HOST:PORT",
            ),
            (
                bool(each.prioritize_verb) and each.weight <= 0,
                f"the weight of {each.url_prefix} is not above 0",
            ),
        ]
    for broken, sentence in faults:
        if broken:
            raise BadConfiguration(sentence)


def _extender(read: _Extender) -> Extender:
    return Extender(
        url=read.url_prefix,
        filter=read.filter_verb,
        prioritize=read.prioritize_verb,
        preempt=read.preempt_verb,
        bind=read.bind_verb,
        weight=read.weight,
        limit=_seconds("httpTimeout", read.http_timeout) or EXTENDER_LIMIT_S,
        cached=read.node_cache_capable,
        ignorable=read.ignorable,
        https=read.enable_https or read.url_prefix.startswith("https://"),
        tls=read.tls_config,
        managed=frozenset(each.name for each in read.managed_resources),
    )


def _lease(read: _Election) -> LeaseTerms:
    return LeaseTerms(
        read.resource_namespace,
        read.resource_name,
        _seconds("leaseDuration", read.lease_duration),
        _seconds("renewDeadline", read.renew_deadline),
        _seconds("retryPeriod", read.retry_period),
    )


def _seconds(field: str, text: str) -> float:
    try:
        return float(parse_duration(text)) if text else 0.0
    except DurationError as error:
        raise BadConfiguration(f"{field} is {text!r}: {error}") from None
