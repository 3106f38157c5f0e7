"""The pods a person asks about, replays or expects: manifests, or a short list of our own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tangram.cli.documents import read_documents
from tangram.cli.failures import InputError
from tangram.cli.files import read_source
from tangram.cli.kubernetes import read_manifests
from tangram.cli.patience import Patience
from tangram.model.cards import Vendor
from tangram.model.pods import Pod, PodRef
from tangram.model.refusals import Caution
from tangram.vendors.admission import Admission, admit
from tangram.vendors.registry import rules_for_all
from tangram.vendors.settings import AdmissionSettings
from tangram.wire.clusterfile.fields import nearest
from tangram.wire.clusterfile.reading import is_short_file, read_pods_file
from tangram.wire.errors import WireError

Asked = tuple[PodRef, Admission, tuple[str, ...]]
"""A pod, what admission says to it, and the resources its containers name."""


def read_pods(
    path: str, option: str, settings: AdmissionSettings, vendors: Iterable[Vendor], patience: Patience
) -> list[Asked]:
    """Every pod of a file, read by admission. A refused pod is among them; the caller decides what that means."""
    source = read_source(path, option)
    documents = read_documents(source, patience.watching(f"reading {source.name}"))
    if not any(is_short_file(document) for document in documents):
        return [asked_of(pod, settings) for pod in read_manifests(documents, source.name)]
    if len(documents) > 1:
        raise InputError(f"{source.name} holds {len(documents)} documents: a file of Tangram's own has one.")
    try:
        requests = read_pods_file(documents[0], vendors)
    except WireError as error:
        raise InputError(f"{source.name}: {error.sentence}.") from error
    return [(request.pod, Admission(ours=True, request=request), ()) for request in requests]


def asked_of(pod: Pod, settings: AdmissionSettings) -> Asked:
    """One pod, read by admission."""
    resources = tuple(
        dict.fromkeys(
            name for container in pod.containers for name in (*container.limits, *container.requests)
        )
    )
    admission = admit(pod, settings)
    cautions = (*admission.cautions, *_misspelt(resources))
    return pod.ref, msgspec.structs.replace(admission, cautions=cautions), resources


def _misspelt(resources: Iterable[str]) -> Iterator[Caution]:
    """Names under a vendor's domain that are none of its resources: a slip that would cost the pod its card."""
    known = sorted(name for rules in rules_for_all() for name in rules.resource_names)
    domains = {name.partition("/")[0] for name in known}
    for name in resources:
        if name.partition("/")[0] in domains and name not in known:
            yield Caution(
                "resource-unknown", f"{name} is no resource of that vendor; {nearest(name, known)}."
            )
