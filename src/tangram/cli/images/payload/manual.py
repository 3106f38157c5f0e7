"""The texts of `--help` for `tangram images payload`. Lines stay under 80 columns, as in `cli.manual`."""

from typing import Final

PAYLOAD: Final = """Make the images that bring drivers and MXMACA to nodes.

  tangram images payload build DIR --kind driver --version 2.32.0 \\
    --arch amd64 -o driver.tar
  tangram images payload inspect driver.tar
  tangram images push registry.example.com/cloud --archive driver.tar

docs/payloads.md says what such a folder has in it.
"""

BUILD: Final = """Make a payload image from a folder.

A driver's folder has modules/KERNEL/NAME.ko, and may have mxdriver/ and
firmware/. That of MXMACA has maca/:
  tangram images payload build ./driver --kind driver --version 2.32.0 \\
    --arch amd64 --requires drm --requires ttm -o driver.tar
  tangram images payload build ./sdk --kind maca --version 2.23.0.4 \\
    --arch amd64 --image maca-c500:2.23.0.4-ubuntu22.04-amd64 -o maca.tar

With a signature (see `tangram images payload keygen`):
  ... --sign payload.key

The same folder gives the same archive, byte for byte. Push it or load it with
`tangram images push` and `tangram images load`.
Exit status: 0 the archive is there, 1 it could not be made, 2 the command
line could not be read.
"""

INSPECT: Final = """Show what a payload archive holds, and compare every file with its list.

  tangram images payload inspect driver.tar
  tangram images payload inspect driver.tar --public-key payload.key.pub
  tangram images payload inspect driver.tar -o json

Exit status: 0 it is whole (and signed by the key, if one was given), 1 it is
not, 2 the command line could not be read.
"""

KEYGEN: Final = """Make a pair of keys for signing payloads (Ed25519, PEM).

  tangram images payload keygen payload.key

writes payload.key, which signs and which nobody else should read, and
payload.key.pub, which the operator is given to ask for signatures.
"""
