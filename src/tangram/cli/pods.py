"""The pods a person asks about, replays or expects: manifests, or a short list of our own."""

from __future__ import annotations

from collections.abc import Iterable

from tangram.cli.documents import read_documents
from tangram.cli.failures import InputError
from tangram.cli.files import read_source
from tangram.cli.kubernetes import USUAL_NAMESPACE, read_manifests
from tangram.cli.patience import Patience
from tangram.model.cards import Vendor
from tangram.reports.asking import Asked, asked_of
from tangram.vendors.admission import Admission
from tangram.vendors.settings import AdmissionSettings
from tangram.wire.clusterfile.reading import is_short_file, read_pods_file
from tangram.wire.errors import WireError


def read_pods(
    path: str,
    option: str,
    settings: AdmissionSettings,
    vendors: Iterable[Vendor],
    patience: Patience,
    *,
    namespace: str = USUAL_NAMESPACE,
) -> list[Asked]:
    """Every pod of a file, read by admission. A refused pod is among them; the caller decides what that means."""
    source = read_source(path, option)
    documents = read_documents(source, patience.watching(f"reading {source.name}"))
    if not any(is_short_file(document) for document in documents):
        return [asked_of(pod, settings) for pod in read_manifests(documents, source.name, namespace)]
    if len(documents) > 1:
        raise InputError(f"{source.name} holds {len(documents)} documents: a file of Tangram's own has one.")
    try:
        requests = read_pods_file(documents[0], vendors)
    except WireError as error:
        raise InputError(f"{source.name}: {error.sentence}.") from error
    return [(request.pod, Admission(ours=True, request=request), ()) for request in requests]
