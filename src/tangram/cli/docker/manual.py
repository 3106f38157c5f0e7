"""What `metax-docker --help` and `metax-docker run --help` teach before docker's own words."""

from __future__ import annotations

from typing import Final

RUN_OPTIONS: Final = """\
Options of metax-docker for run and create:
  --gpus all|N|[CARD,...]   Cards for the container: all of them, N idle ones that are best
                            connected, or those with these numbers, uuids, serial numbers or
                            bus addresses
  --gpus [sgpu:UUID,...]    Slices that exist
  --maca VERSION|PATH|none  The host's MXMACA to mount where the image has none (/opt/maca)
  --maca-force              Mount it even where the image has its own
"""

HELP: Final = f"""\
metax-docker {{version}}: docker, with MetaX and Moore Threads cards.

  metax-docker run -it --rm --gpus=all user-application:1.0 /bin/bash
  metax-docker run --rm --gpus=2 user-application:1.0
  metax-docker run --rm --gpus='[0,3]' --maca=2.24.0 user-application:1.0
  metax-docker --dry-run run --gpus=1 user-application:1.0

{RUN_OPTIONS}
With cards of two vendors on the host, write whose: --gpus=metax:2, --gpus=mthreads:all.

Options of metax-docker before the command:
  --engine NAME             docker, podman or nerdctl (METAX_DOCKER_ENGINE; docker if not given)
  --dry-run                 Print the command that would be run, and run nothing
  --driver DRIVER           How to reach the cards, as for `tangram devices` (TANGRAM_DRIVER; auto)
  --device-root DIR         Where device nodes are, if not in /dev: for simulated cards

Command of metax-docker:
  setup [--print|--remove]  Write the CDI file that lets plain `docker run --device
                            metax-tech.com/gpu=0` work, with Docker 25 and newer, and podman

Everything else is docker's own and goes to it unchanged: metax-docker ps, metax-docker build,
metax-docker run without --gpus. `docker --help` lists it. What metax-docker refuses ends with
status 125, as what docker refuses.
"""

SETUP: Final = """\
Usage: metax-docker setup [--print | --remove] [--dir DIR] [--maca VERSION|PATH|none]

Write /etc/cdi/metax-tech.com-gpu.json, with which engines that read CDI files (Docker 25 and
newer, podman 4.1 and newer) give MetaX cards to containers by themselves:

  docker run --rm --device metax-tech.com/gpu=0 user-application:1.0
  docker run --rm --device metax-tech.com/gpu=all user-application:1.0

A card goes by its number or its uuid. Write it again when cards or MXMACA have changed.

  --print      Print the file and write nothing
  --remove     Take the file away
  --dir DIR    Where CDI files are (/etc/cdi)
  --maca ...   The host's MXMACA to mount (/opt/maca); none for images that have their own
"""
