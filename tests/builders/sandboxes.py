"""A sandbox in the process of a test."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from tangram.daemon.running import Supervisor
from tangram.sandbox.folder import taking
from tangram.sandbox.starting import Options, Sandbox, sandbox_in


@asynccontextmanager
async def sandbox(
    options: Options, supervisor: Supervisor, say: Callable[[str], None] = lambda _: None
) -> AsyncGenerator[Sandbox]:
    """Everything in a folder of its own, until the block ends. Raises what `sandbox_in` raises."""
    with taking(options.folder) as folder:
        async with sandbox_in(folder, options, supervisor, say) as box:
            yield box
