"""What every answer says to browsers: run only our own scripts, tell nobody where you came from, keep nothing.

Set as an answer begins, so that errors and streams carry them too. HTTPS is not demanded for later visits: whoever
serves plain on loopback serves other things there as well.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; "
    "trusted-types tangram"
)
ALWAYS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


async def set_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """For `on_response_prepare`."""
    response.headers.update(ALWAYS)
    # Pages show what one person may see; only files that are the same for everybody say otherwise.
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers.popall("Server", None)
