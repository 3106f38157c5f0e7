"""Why a node's container runtime is not as it should be: a stable word and a sentence."""

from __future__ import annotations

from enum import StrEnum


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
