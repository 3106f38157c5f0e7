"""Compiled modules for an image, so that a pod does not spend its first seconds compiling the standard library.

The files are marked as never to be compared with their source, because times inside an image say nothing. They are
written in a marshal version without back references: with them, equal source gives different bytes depending on what
else the compiling process holds in memory.
"""

import hashlib
import importlib.util
import marshal
import warnings
from pathlib import Path

from testbed.images.layers import Entry, File, Tree
from testbed.images.store import stored_bytes

_MARSHAL_WITHOUT_REFERENCES = 2
_UNCHECKED_HASH = (0b01).to_bytes(4, "little")


def with_bytecode(tree: Tree) -> dict[str, Entry]:
    """The tree and, beside each Python module that compiles, what the interpreter would have compiled it to.

    Modules given as content rather than as a path are those that people edit, so the ones that did not change since
    the last image are not compiled again.
    """
    whole = dict(tree)
    with warnings.catch_warnings():
        # Other people's modules may hold what this Python warns about; they are not read for that here.
        warnings.simplefilter("ignore")
        for name, entry in tree.items():
            if name.endswith(".py") and isinstance(entry, File):
                compiled = _compiled(entry.content, f"/{name}")
                if compiled:
                    whole[importlib.util.cache_from_source(name)] = File(compiled)
    return whole


def _compiled(content: bytes | Path, shown_as: str) -> bytes:
    if isinstance(content, Path):
        return _compile(content.read_bytes(), shown_as)
    inputs = importlib.util.MAGIC_NUMBER + shown_as.encode() + b"\0" + content
    return stored_bytes(hashlib.sha256(inputs).hexdigest(), lambda: _compile(content, shown_as))


def _compile(source: bytes, shown_as: str) -> bytes:
    """The content of a .pyc file, or nothing if the source does not compile.

    Templates and deliberately broken examples do not; importing them fails in the image as it does here.
    """
    try:
        code = compile(source, shown_as, "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError):
        return b""
    body = marshal.dumps(code, _MARSHAL_WITHOUT_REFERENCES)
    return importlib.util.MAGIC_NUMBER + _UNCHECKED_HASH + importlib.util.source_hash(source) + body
