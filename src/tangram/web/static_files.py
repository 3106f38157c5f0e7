"""Styles, scripts and pictures, each under an address that changes with its content, so that browsers keep it for good.

Everything is read once, at the start; a name that was not there then is not served, whatever its path says.
"""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Final, NamedTuple

from aiohttp import web

FOLDER: Final = Path(__file__).parent / "static"
PREFIX: Final = "/static/"
_KINDS: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
}
_WORTH_PACKING: Final = 1024


class _File(NamedTuple):
    body: bytes
    packed: bytes | None
    kind: str


class StaticFiles:
    """One hash is over all files, because scripts import each other by name: `/static/HASH/NAME`."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._files: dict[str, _File] = {}
        self._hash = ""
        self.read()

    def read(self) -> None:
        """Take what the folder holds now."""
        found = {
            path.name: path.read_bytes() for path in sorted(self._folder.iterdir()) if path.suffix in _KINDS
        }
        digest = hashlib.blake2b(digest_size=8)
        for name, body in found.items():
            digest.update(f"{name}:{len(body)}:".encode() + body)
        if digest.hexdigest() == self._hash:
            return
        self._hash = digest.hexdigest()
        self._files = {name: _file(name, body) for name, body in found.items()}

    def address(self, name: str) -> str:
        """Where a file is. Raises `KeyError` for one that does not exist: a template that names it is wrong."""
        if name not in self._files:
            raise KeyError(f"there is no static file {name!r}")
        return f"{PREFIX}{self._hash}/{name}"

    def answer(self, request: web.Request) -> web.Response | None:
        """The file a path names; None for none of ours."""
        shown, _slash, name = request.path.removeprefix(PREFIX).partition("/")
        file = self._files.get(name)
        if file is None or len(shown) != len(self._hash):
            return None
        packed = file.packed is not None and "gzip" in request.headers.get("Accept-Encoding", "")
        response = web.Response(
            body=file.packed if packed else file.body,
            headers={
                "Content-Type": file.kind,
                "Vary": "Accept-Encoding",
                # The page of an older process may still ask for its files, and must not keep ours under that address.
                "Cache-Control": "public, max-age=31536000, immutable" if shown == self._hash else "no-store",
            },
        )
        if packed:
            response.headers["Content-Encoding"] = "gzip"
        return response


def _file(name: str, body: bytes) -> _File:
    kind = _KINDS[Path(name).suffix]
    packed = gzip.compress(body, 9, mtime=0) if len(body) >= _WORTH_PACKING and "png" not in kind else None
    return _File(body, packed, kind)
