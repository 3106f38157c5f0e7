"""`tangram images`: commands around one file."""

from __future__ import annotations

import cyclopts

from tangram.cli.images import manual
from tangram.cli.images.payload import manual as payload

app = cyclopts.App(name="images", help=manual.IMAGES, help_format="plaintext")
app.command("tangram.cli.images.push:push", name="push", help=manual.PUSH)
app.command("tangram.cli.images.load:load", name="load", help=manual.LOAD)
app.command("tangram.cli.images.listing:listing", name="list", help=manual.LIST)
app.command("tangram.cli.images.verify:verify", name="verify", help=manual.VERIFY)
app.command("tangram.cli.images.payload.app:app", name="payload", help=payload.PAYLOAD)
