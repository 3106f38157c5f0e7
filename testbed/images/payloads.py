"""Images that carry a driver or MXMACA to nodes of a box, made as people make them: files and the list of them.

The driver's module is one that only the simulated kernel loads. What is wrong with a payload is asked for by name, so
that a test of a corrupt one differs from a good one in exactly that.
"""

import hashlib
from collections.abc import Mapping
from typing import Literal

from tangram.wire.operator.payloads import Payload, PayloadFile, PayloadKind, module_path, payload_text
from testbed.images.archive import Image, Start, architecture
from testbed.images.layers import Entry, File, with_parents
from testbed.images.store import key_by_content, stored_image, stored_layer

KERNEL = "5.15.0-91-generic"
"""Of simulated nodes, unless their description says otherwise."""
_FOLDER = "payload"


def driver_image(
    name: str, *, version: str = "", kernel: str = KERNEL, made_for: str = "", corrupt: bool = False
) -> Image:
    """A driver for one kernel, under a name whose tag is its version unless another is given.

    `made_for` is what the module itself says that it fits, `corrupt` alters a file after it was listed.
    """
    version = version or name.rpartition(":")[2]
    module = module_path(kernel, "metax")
    files = {
        module: _module(version, made_for or kernel),
        "mxdriver/bin/mx-smi": f"#!/bin/sh\necho mx-smi of {version}\n",
        "mxdriver/version": f"{version}\n",
    }
    listed = Payload(
        format=1,
        kind=PayloadKind.DRIVER,
        version=version,
        architecture=_platform(),
        kernels=(kernel,),
        modules=("metax",),
        files=_listed(files),
    )
    if corrupt:
        files["mxdriver/version"] = f"{version[::-1]}\n"
    return _image(name, {**files, "payload.json": payload_text(listed)}, below=_FOLDER)


def maca_image(name: str, *, version: str, bulk: int = 0) -> Image:
    """MXMACA with a list, with a file of so many bytes in it."""
    files = {
        "maca/version": f"{version}\n",
        "maca/lib/libmcruntime.so": f"the runtime of {version}\n",
        "maca/bin/macainfo": f"#!/bin/sh\necho macainfo of {version}\n",
    }
    if bulk:
        files["maca/lib/bulk"] = "x" * bulk
    listed = Payload(
        format=1,
        kind=PayloadKind.MACA,
        version=version,
        architecture=_platform(),
        files=_listed(files),
        links={"maca/lib/libmcruntime.so.1": "libmcruntime.so"},
    )
    return _image(name, {**files, "payload.json": payload_text(listed)}, below=_FOLDER)


def _module(version: str, kernel: str) -> str:
    return f"tangram simulated module\nversion: {version}\nkernel: {kernel}\nparameters: debug\n"


def _listed(files: Mapping[str, str]) -> dict[str, PayloadFile]:
    return {
        path: PayloadFile(
            sha256=hashlib.sha256(text.encode()).hexdigest(),
            size=len(text.encode()),
            mode=0o755 if _runs(path) else 0o644,
        )
        for path, text in files.items()
    }


def _image(name: str, files: Mapping[str, str], *, below: str) -> Image:
    content: dict[str, Entry] = {
        f"{below}/{path}": File(text.encode(), executable=_runs(path)) for path, text in files.items()
    }
    tree = with_parents(content, {})
    layer = stored_layer("payload", key_by_content(tree), lambda: tree)
    return stored_image(name, [layer], Start())


def _platform() -> Literal["amd64", "arm64"]:
    return "arm64" if architecture() == "arm64" else "amd64"


def _runs(path: str) -> bool:
    return "/bin/" in path or path.startswith("bin/")
