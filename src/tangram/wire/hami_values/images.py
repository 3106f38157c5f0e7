"""Where images come from, which HAMi's chart says in three places and ours in one for each image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tangram.wire import loose
from tangram.wire.errors import shown
from tangram.wire.hami_values.image_rows import GLOBAL_REGISTRY, PULL_SECRETS, REGISTRY, REPOSITORY
from tangram.wire.hami_values.places import refused_at
from tangram.wire.hami_values.reading import HamiValuesError, Said
from tangram.wire.hami_values.rows import Line, Note, Outcome

HANDLED = frozenset(row.key for row in (REGISTRY, REPOSITORY, GLOBAL_REGISTRY, *PULL_SECRETS))


def kube_scheduler_image(said: Mapping[str, Said]) -> Iterator[Line | Note]:
    """The registry with the folder, and the name, of kube-scheduler's image."""
    # In HAMi's chart the registry of all images goes before that of one.
    registry = said.get(GLOBAL_REGISTRY.key) or said.get(REGISTRY.key)
    overruled = said.get(REGISTRY.key) if registry is said.get(GLOBAL_REGISTRY.key) else None
    repository = said.get(REPOSITORY.key)
    path = loose.text(repository.value) if repository else loose.text(REPOSITORY.usual[0])
    # Charts before 2.6 have the whole of it in one text.
    whole = repository is not None and _has_domain(path)
    if registry is None and not whole:
        if repository is not None and path not in REPOSITORY.usual:
            yield Note(
                repository.written,
                Outcome.NOT_SUPPORTED,
                "It is a path in a registry that is not named; write scheduler.kubeScheduler.image.registry and .name.",
            )
        return
    full = path if whole or registry is None else f"{loose.text(registry.value).strip('/')}/{path}"
    folder, _, name = full.rpartition("/")
    source = registry or repository
    refused = refused_at(REGISTRY.here, folder) or refused_at(REPOSITORY.here, name)
    if refused:
        for each in (registry, repository):
            if each is not None:
                yield Note(each.written, Outcome.NOT_SUPPORTED, f"{refused}; it was left out.")
        return
    if source is not None:
        yield Line(REGISTRY.here, folder, _from(source.written, source.row.remark))
        yield Note(source.written, Outcome.MAPPED, f"It is {REGISTRY.here}: {folder}. {source.row.remark}")
    if name != "kube-scheduler" and repository is not None:
        yield Line(REPOSITORY.here, name, _from(repository.written, REPOSITORY.remark))
    if repository is not None and repository is not source:
        yield Note(
            repository.written,
            Outcome.MAPPED,
            f"It is part of {REGISTRY.here} and {REPOSITORY.here}: {full}.",
        )
    if overruled is not None:
        yield Note(
            overruled.written, Outcome.NOT_NEEDED, f"{GLOBAL_REGISTRY.key} goes before it, as in HAMi."
        )


def pull_secrets(said: Mapping[str, Said]) -> Iterator[Line | Note]:
    """The Secrets of all images, each once."""
    names: list[str] = []
    sources: list[str] = []
    for row in PULL_SECRETS:
        found = said.get(row.key)
        if found is None:
            continue
        names += [name for name in _secret_names(found) if name not in names]
        sources.append(found.written)
    secrets, here = [{"name": name} for name in names], PULL_SECRETS[0].here
    refused = refused_at(here, secrets)
    for written in sources:
        told = f"{refused}; it was left out." if refused else f"It is {here}. {PULL_SECRETS[0].remark}"
        yield Note(written, Outcome.NOT_SUPPORTED if refused else Outcome.MAPPED, told)
    if secrets and not refused:
        yield Line(here, secrets, _from(", ".join(sources), ""))


def _secret_names(found: Said) -> list[str]:
    """As a list of names, or as pods have them."""
    entries = loose.elements(found.value) if loose.is_list(found.value) else [found.value]
    names = [
        loose.text(loose.members(each).get("name") if loose.is_object(each) else each) for each in entries
    ]
    if not all(names):
        raise HamiValuesError(
            "hami-values-kind",
            f"{found.written} is {shown(found.value)}: it is a list of names of Secrets; write for example "
            "[my-registry]",
            found.written,
        )
    return names


def _has_domain(path: str) -> bool:
    """Whether an image is named with its registry: the first part of it has a dot or a port."""
    first, slash, _ = path.partition("/")
    return bool(slash) and ("." in first or ":" in first or first == "localhost")


def _from(written: str, remark: str) -> str:
    return f"HAMi's {written}. {remark}".strip()
