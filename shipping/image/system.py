"""What a Debian system has beyond the files of its packages: accounts, the certificate bundle, old folder names.

On an installed system maintainer scripts make these. Here they never run, and this is the whole list.
"""

from collections.abc import Sequence
from typing import Final

from shipping.image.debs import Deb
from shipping.image.errors import ImageError
from shipping.image.recipe import PYTHON, wanted
from shipping.image.tree import MERGED, Entry, File, Folder, Link, joined

USER: Final = 65532
"""The number many images use for 'not root'; charts and policies know it."""

_ACCOUNTS: Final = f"""root:x:0:0:root:/root:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
tangram:x:{USER}:{USER}:tangram:/nonexistent:/usr/sbin/nologin
"""
_GROUPS: Final = f"""root:x:0:
nogroup:x:65534:
tangram:x:{USER}:
"""
# Without it glibc asks the name server before /etc/hosts, and the kubelet writes a pod's host aliases there.
_NAME_SERVICES: Final = """passwd: files
group: files
hosts: files dns
networks: files
"""
_CERTIFICATES: Final = "usr/share/ca-certificates/mozilla/"
_BUNDLE: Final = "etc/ssl/certs/ca-certificates.crt"
_SHARED_BY_ALL: Final = 0o1777


def base_tree(debs: Sequence[Deb]) -> dict[str, Entry]:
    """The lowest layer: the wanted files of the packages, and what follows from them."""
    files = joined(
        (deb.name, {name: entry for name, entry in deb.files.items() if wanted(name)}) for deb in debs
    )
    bundle = b"".join(
        entry.content.strip() + b"\n"
        for name, entry in sorted(files.items())
        if name.startswith(_CERTIFICATES) and isinstance(entry, File)
    )
    if not bundle:
        raise ImageError(
            f"No package brings certificates in /{_CERTIFICATES}: the list of packages is not complete."
        )
    packages = {f"var/lib/dpkg/status.d/{deb.name}": File(_installed(deb)) for deb in debs}
    merged = {
        old: Link(new) for old, new in MERGED.items() if any(name.startswith(f"{new}/") for name in files)
    }
    kept = {name: entry for name, entry in files.items() if not name.startswith(_CERTIFICATES)}
    return {
        **kept,
        **merged,
        **packages,
        "etc/passwd": File(_ACCOUNTS.encode()),
        "etc/group": File(_GROUPS.encode()),
        "etc/nsswitch.conf": File(_NAME_SERVICES.encode()),
        _BUNDLE: File(bundle),
        # Where OpenSSL looks when nobody tells it.
        "usr/lib/ssl/cert.pem": Link(f"/{_BUNDLE}"),
        "usr/lib/ssl/certs": Link("/etc/ssl/certs"),
        "usr/bin/python3": Link(f"python{PYTHON}"),
        "dev": Folder(),
        "proc": Folder(),
        "run": Folder(),
        "sys": Folder(),
        "tmp": Folder(_SHARED_BY_ALL),
        "var/tmp": Folder(_SHARED_BY_ALL),
        "var/run": Link("/run"),
    }


def _installed(deb: Deb) -> bytes:
    """A package as scanners of images look for it where there is no dpkg."""
    lines = deb.control.splitlines()
    return "\n".join([lines[0], "Status: install ok installed", *lines[1:], ""]).encode()
