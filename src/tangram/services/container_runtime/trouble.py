"""Why a node's container runtime is not as it should be: a stable word and a sentence."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tangram.wire.errors import WireError
from tangram.wire.operator.node_states import Phase, RuntimeState


class Code(StrEnum):
    """Every reason that is found here; those of `wire.runtime_config` come beside them. docs/container-runtime.md."""

    ENGINE_UNKNOWN = "engine-unknown"
    ENGINE_MISMATCH = "engine-mismatch"
    ENGINE_SILENT = "engine-silent"
    VERSION_UNKNOWN = "version-unknown"
    CONFIG_SEVERAL = "config-several"
    CONFIG_GENERATED = "config-generated"
    CONFIG_OVERRIDDEN = "config-overridden"
    VALIDATOR_REFUSED = "validator-refused"
    RESTART_FAILED = "restart-failed"
    RESTART_NEEDED = "restart-needed"
    CDI_NOT_READ = "cdi-not-read"
    PROGRAM_MISSING = "program-missing"
    HOST_UNWRITABLE = "host-unwritable"


class Trouble(Exception):  # noqa: N818 - says what is the case
    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


def failure(known: RuntimeState, error: Trouble | WireError | OSError | RecursionError) -> RuntimeState:
    """What a node says whose runtime could not be looked at or changed."""
    if isinstance(error, OSError):
        where = error.filename or "a file of the host"
        code, why = (
            Code.HOST_UNWRITABLE.value,
            (
                f"{where} cannot be read or written ({error.strerror or type(error).__name__}); nothing was "
                "changed by half; free the disk, or give the agent the rights of its chart"
            ),
        )
    elif isinstance(error, RecursionError):
        code, why = (
            "config-invalid",
            f"the configuration of {known.engine} is nested too deep; correct it there",
        )
    else:
        code, why = str(error.code), error.sentence
    waiting = code in (Code.RESTART_NEEDED, Code.VERSION_UNKNOWN)
    return msgspec.structs.replace(
        known, phase=Phase.WAITING if waiting else Phase.FAILED, code=code, why=why
    )
