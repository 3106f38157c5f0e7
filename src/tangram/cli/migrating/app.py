"""`tangram migrate`: one command for each software that people come from."""

from __future__ import annotations

import cyclopts

from tangram.cli.migrating import manual

app = cyclopts.App(name="migrate", help=manual.MIGRATE, help_format="plaintext")
app.command("tangram.cli.migrating.hami:hami", name="hami", help=manual.HAMI)
