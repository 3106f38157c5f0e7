"""Compiled modules, so that a container does not compile the standard library at each start.

The image's own Python compiles them, started on this machine from an unpacked image: another 3.11 might write other
bytes. They are marked as never to be compared with their source, since times in an image say nothing and the root
file system is read-only anyway. One process, a fixed order, a fixed hash seed and no environment of the caller make
the bytes the same every time.
"""

import tempfile
from pathlib import Path
from typing import Final

from shipping.image.errors import ImageError
from shipping.image.platforms import Platform
from shipping.image.recipe import PYTHON
from shipping.image.tools import last_words, run
from shipping.image.tree import Entry, File, Tree, unpack

_COMPILE: Final = """
import importlib.util, marshal, os, sys, warnings
warnings.simplefilter("ignore")
paths = sorted(os.path.join(at, name)[2:] for at, _, names in os.walk(".") for name in names)
for path in paths:
    with open(path, "rb") as file:
        source = file.read()
    try:
        code = compile(source, "/" + path, "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError):
        continue
    head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + importlib.util.source_hash(source)
    with open(path + "c", "wb") as file:
        file.write(head + marshal.dumps(code))
"""


def with_bytecode(tree: Tree, python_root: Path, platform: Platform) -> dict[str, Entry]:
    """The tree and, beside each module that compiles, its compiled form.

    `python_root` is an unpacked base layer of `platform`, the one this machine runs. Templates and deliberately
    broken examples do not compile; importing them fails in the image as everywhere.
    """
    modules = {
        name: entry for name, entry in tree.items() if name.endswith(".py") and isinstance(entry, File)
    }
    whole = dict(tree)
    with tempfile.TemporaryDirectory(prefix="tangram-image-") as name:
        folder = Path(name)
        unpack(modules, folder)
        _compile(folder, python_root, platform)
        for source, entry in modules.items():
            compiled = folder / f"{source}c"
            if compiled.is_file():
                whole[cached_name(source)] = File(compiled.read_bytes(), mtime=entry.mtime)
    return whole


def cached_name(source: str) -> str:
    """Where Python looks for the compiled form of a module."""
    folder, _, file = source.rpartition("/")
    return f"{folder}/__pycache__/{file.removesuffix('.py')}.cpython-{PYTHON.replace('.', '')}.pyc"


def _compile(folder: Path, root: Path, platform: Platform) -> None:
    libraries = f"{root}/usr/lib/{platform.triplet}"
    loader = f"{libraries}/{Path(platform.loader).name}"
    answer = run(
        [
            loader,
            "--library-path",
            libraries,
            f"{root}/usr/bin/python{PYTHON}",
            "-B",
            "-S",
            "-s",
            "-P",
            "-c",
            _COMPILE,
        ],
        needed_for="Compiling the modules",
        package="libc6",
        folder=folder,
        only_environment=True,
        environment={"PYTHONHASHSEED": "0", "PYTHONHOME": f"{root}/usr", "PYTHONUTF8": "1"},
    )
    if answer.returncode != 0:
        raise ImageError(f"The image's Python does not run on this machine; it said:\n{last_words(answer)}")
