"""Container images made in seconds from what this machine already has, without a daemon or a registry."""

from testbed.images.archive import Image
from testbed.images.busybox import busybox_image, pause_image
from testbed.images.environment import environment_image
from testbed.images.programs import program_image

__all__ = ["Image", "busybox_image", "environment_image", "pause_image", "program_image"]
