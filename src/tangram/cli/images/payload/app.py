"""`tangram images payload`: three commands around one archive."""

from __future__ import annotations

import cyclopts

from tangram.cli.images.payload import manual

app = cyclopts.App(name="payload", help=manual.PAYLOAD, help_format="plaintext")
app.command("tangram.cli.images.payload.build:build", name="build", help=manual.BUILD)
app.command("tangram.cli.images.payload.inspect:inspect", name="inspect", help=manual.INSPECT)
app.command("tangram.cli.images.payload.keygen:keygen", name="keygen", help=manual.KEYGEN)
