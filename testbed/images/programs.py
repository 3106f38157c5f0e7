"""An image of one static program, as Kubernetes publishes its own: the program on PATH and nothing else.

A chart that names such an image finds it on the nodes of a box under the very name it would pull. There is no shell in
it, so what asks for one fails here as it does elsewhere.
"""

from pathlib import Path

from testbed.debian import is_static
from testbed.errors import BedError
from testbed.images.archive import Image, Start
from testbed.images.busybox import SEARCH_PATH
from testbed.images.layers import Entry, File, with_parents
from testbed.images.store import key_by_content, stored_image, stored_layer


def program_image(name: str, program: Path) -> Image:
    """The image of that name (registry, path and tag), which runs the program."""
    if not is_static(program):
        raise BedError(
            f"An image of {program} alone cannot run it: it needs libraries, or is no program at all."
        )
    place = f"usr/local/bin/{program.name}"
    content: dict[str, Entry] = {place: File(program, executable=True)}
    tree = with_parents(content, {})
    layer = stored_layer(program.name, key_by_content(tree), lambda: tree)
    return stored_image(name, [layer], Start(entrypoint=(f"/{place}",), environment={"PATH": SEARCH_PATH}))
