"""The images made of a static busybox alone: a shell for tests, and the sandbox that holds a pod's namespaces.

Both share one layer, which is also the lowest of the environment image: a node unpacks it once. The sandbox is no
program of its own because that would need a C compiler, and two sleeping busybox processes hold only about 250 kB
that they do not share with all the other pods, a fiftieth of what the runtime's shim needs beside them.
"""

import subprocess
from pathlib import Path

from testbed.busybox import static_busybox
from testbed.errors import BedError
from testbed.images.archive import Image, Start
from testbed.images.layers import LINKED_FOLDERS, Entry, File, Folder, Layer, Link
from testbed.images.store import key_by_content, stored_image, stored_layer

PAUSE_NAME = "docker.io/local/pause:1"
BUSYBOX_NAME = "docker.io/local/busybox:1"
SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"

_FOLDERS = (
    *("dev", "etc", "home", "mnt", "opt", "proc", "root", "run", "srv", "sys", "usr", "var"),
    *("usr/bin", "usr/lib", "usr/lib64", "usr/local", "usr/local/bin", "usr/share", "var/lib", "var/log"),
)
_FILES = {
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/hostname": "container\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/false\n",
    "etc/resolv.conf": "",
}
# The first process of a PID namespace gets no signal it has not asked for, hence the trap. `wait` reaps orphans of
# pods that share their PID namespace, which `sleep` alone would leave as zombies.
# The status is said: a bare `exit` repeats the last command's, which depends on where the signal finds the shell.
_SLEEP_UNTIL_TOLD = "trap 'exit 143' TERM INT; while :; do sleep 2147483647 & wait; done"


def pause_image() -> Image:
    """The sandbox image: sleeps, reaps, and ends at once when told to."""
    start = Start(entrypoint=("/bin/sh", "-c", _SLEEP_UNTIL_TOLD), environment={"PATH": SEARCH_PATH})
    return stored_image(PAUSE_NAME, [base_layer()], start)


def busybox_image() -> Image:
    """A shell with every applet of busybox on PATH."""
    start = Start(command=("/bin/sh",), environment={"PATH": SEARCH_PATH})
    return stored_image(BUSYBOX_NAME, [base_layer()], start)


def base_layer() -> Layer:
    """The folders every container expects, and busybox under each of its names."""
    tree = base_tree()
    return stored_layer("busybox", key_by_content(tree), lambda: tree)


def base_tree() -> dict[str, Entry]:
    """What is in the base layer. Every path below /bin, /sbin, /lib and /lib64 leads into /usr."""
    busybox = static_busybox()
    tree: dict[str, Entry] = {name: Folder() for name in _FOLDERS}
    tree |= {"tmp": Folder(0o1777), "var/tmp": Folder(0o1777)}
    tree |= {link: Link("../" * link.count("/") + target) for link, target in LINKED_FOLDERS.items()}
    tree |= {name: File(text.encode()) for name, text in _FILES.items()}
    tree |= {f"usr/bin/{applet}": Link("busybox") for applet in _applets(busybox)}
    tree["usr/bin/busybox"] = File(busybox, executable=True)
    return tree


def _applets(busybox: Path) -> list[str]:
    try:
        listing = subprocess.run(  # noqa: S603 - busybox with a fixed argument
            [busybox, "--list"], check=True, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BedError(f"{busybox} --list failed: {error}.") from None
    return [name for name in listing.stdout.split() if name != "busybox" and "/" not in name]
