"""The agent without its command line: what `tangram gpu-device` becomes once that has been read.

A process that runs for months on every node should not carry the parser of its options around, nor every public
certificate authority: the HTTP library reads those when it is imported, for connections that are never made here.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

_AUTHORITIES = "SSL_CERT_FILE"


@contextmanager
def _without_public_authorities() -> Generator[None]:
    before = os.environ.get(_AUTHORITIES)
    os.environ[_AUTHORITIES] = os.devnull
    try:
        yield
    finally:
        if before is None:
            del os.environ[_AUTHORITIES]
        else:
            os.environ[_AUTHORITIES] = before


def main() -> int:
    """Run what was asked for in the one argument."""
    with _without_public_authorities():
        from tangram.services.gpu_device.launch import read_launch, run  # noqa: PLC0415 - see above
    return run(read_launch(sys.argv[1]))


if __name__ == "__main__":
    sys.exit(main())
