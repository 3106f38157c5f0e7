"""What the image is made of: the Debian packages asked for, and what of their closure is left out, with reasons.

The closure itself is apt's answer, so a dependency that a security update brings comes in by itself. Leaving
something out is safe because `elf` looks afterwards for every library that any file in the image names.
"""

from fnmatch import fnmatchcase
from typing import Final

SUITE: Final = "bookworm"
SUITES: Final = (SUITE, f"{SUITE}-updates", f"{SUITE}-security")
PYTHON: Final = "3.11"
MODULES: Final = f"usr/local/lib/python{PYTHON}/dist-packages"
"""Where Debian's Python looks for what Debian did not bring."""

PACKAGES: Final = (
    "base-files",  # names the system for scanners, and holds the licence texts the others point to
    "ca-certificates",  # the certificates; who trusts an API server by another authority mounts its own
    "libc6",  # everything, and the vendors' libraries, which are the node's and mounted into the container
    "libdrm2",  # Moore Threads' library
    "libgcc-s1",  # MetaX's library
    f"libpython{PYTHON}-stdlib",
    "libstdc++6",  # grpcio, and MetaX's library
    f"python{PYTHON}-minimal",
    "tzdata",  # time zones of CronJobs in the sandbox
)

VENDOR_LIBRARIES_NEED: Final = (
    "libc.so.6",
    "libdl.so.2",
    "libdrm.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libstdc++.so.6",
)
"""What `libmxsml.so` 2.2.8 and `libmtml.so` 1.5.0 name as needed, besides the loader.

No file of the image names all of these, so the search for missing libraries alone would let one of them go.
"""

LEFT_OUT: Final = {
    "dpkg": "nothing is installed in a running container",
    "tar": "only dpkg calls it",
    "libacl1": "only tar and dpkg load it",
    "libmd0": "only dpkg loads it",
    "libpcre2-8-0": "only libselinux1 loads it",
    "libselinux1": "only tar and dpkg load it",
    "mawk": "only maintainer scripts call it",
    "debconf": "asks questions of an installation, and would bring Perl",
    "cdebconf": "the same",
    "perl-base": "only debconf calls it",
    "openssl": "a command; the library is libssl3",
    "media-types": "Python has a table of its own",
    "readline-common": "for people who type into Python",
    "libreadline8": "the same",
    "libncursesw6": "for modules that are left out",
    "libtinfo6": "the same",
    "libdb5.3": "the same",
    "libnsl2": "the same",
    "libtirpc3": "the same",
    "libtirpc-common": "the same",
    "libgssapi-krb5-2": "the same, through libtirpc3",
    "libk5crypto3": "the same",
    "libkrb5-3": "the same",
    "libkrb5support0": "the same",
    "libkeyutils1": "the same",
    "libcom-err2": "the same",
}

_UNWANTED_FILES: Final = (
    # Only licences are kept of the documentation: their terms ask for it.
    *(f"usr/share/{name}/*" for name in ("bug", "info", "lintian", "locale", "man", "menu", "pixmaps")),
    "usr/share/doc-base/*",
    "usr/share/python3/*",
    "usr/share/binfmts/*",
    "usr/share/applications/*",
    # Modules whose libraries are left out: NIS, terminals, an old database format.
    f"usr/lib/python{PYTHON}/lib-dynload/_curses*",
    f"usr/lib/python{PYTHON}/lib-dynload/_dbm.*",
    f"usr/lib/python{PYTHON}/lib-dynload/nis.*",
    f"usr/lib/python{PYTHON}/lib-dynload/readline.*",
    f"usr/lib/python{PYTHON}/curses/*",
    # What serves to develop Python programs, not to run one.
    f"usr/lib/python{PYTHON}/pydoc_data/*",
    f"usr/lib/python{PYTHON}/lib-dynload/_test*",
    f"usr/lib/python{PYTHON}/lib-dynload/_ctypes_test*",
    f"usr/lib/python{PYTHON}/lib-dynload/_xxtestfuzz*",
    f"usr/lib/python{PYTHON}/lib-dynload/xxlimited*",
    # Character sets that glibc converts; Python brings its own.
    "usr/lib/*-linux-gnu/gconv/*",
    "usr/lib/*-linux-gnu/audit/*",
    "usr/lib/*-linux-gnu/perl-base/*",
    # What maintainer scripts and services of a booted system would use.
    "usr/sbin/*",
    "etc/update-motd.d/*",
    "etc/apt/*",
    "etc/ca-certificates/*",
    "etc/dpkg/*",
    "etc/profile.d/*",
    "usr/lib/systemd/*",
    "usr/share/base-files/*",
    "usr/share/zoneinfo/localtime",  # leads to a file of an installed system
    "usr/share/zoneinfo/right/*",
    "var/lib/dpkg/*",
    "root/*",
    "home/*",
    "boot/*",
)
_DOCUMENTS: Final = "usr/share/doc/"


def wanted(name: str) -> bool:
    """Whether this path of a Debian package goes into the image."""
    if name.startswith(_DOCUMENTS):
        # A package may point to another one's folder for its licence.
        is_pointer = "/" not in name.removeprefix(_DOCUMENTS)
        return is_pointer or name.endswith("/copyright")
    return not any(fnmatchcase(name, pattern) for pattern in _UNWANTED_FILES)
