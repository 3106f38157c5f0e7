"""Where the test bed keeps what is costly to make, so that every part of it agrees on one folder."""

import os
from pathlib import Path

from testbed.errors import BedError

_OWN_SETTING = "TANGRAM_TESTBED_CACHE"
_COMMON_SETTING = "XDG_CACHE_HOME"
_FOLDER_NAME = "tangram-testbed"


def cache_folder() -> Path:
    """The folder for built programs and images. It need not exist yet; whatever is in it can be made again.

    A relative path is refused: the same setting would mean another folder after every `cd`.
    """
    own = os.environ.get(_OWN_SETTING, "")
    if own:
        return _absolute(_OWN_SETTING, own)
    common = os.environ.get(_COMMON_SETTING, "")
    if common:
        return _absolute(_COMMON_SETTING, common) / _FOLDER_NAME
    try:
        return Path.home() / ".cache" / _FOLDER_NAME
    except RuntimeError:
        raise BedError(
            f"The test bed found no home folder to keep its builds in: set {_OWN_SETTING} to an absolute path."
        ) from None


def _absolute(setting: str, text: str) -> Path:
    path = Path(text)
    if not path.is_absolute():
        raise BedError(f"{setting} is {text!r}, which depends on the current folder: give an absolute path.")
    return path
