"""The device ConfigMap as a folder of files, as Kubernetes mounts it."""

from __future__ import annotations

from pathlib import Path

from tangram.services.gpu_device.config_written import Written
from tangram.wire.device_config import KEYS

_LARGEST = 1 << 20


def read_folder(folder: Path) -> Written:
    """What the files say now; none of them is there where the ConfigMap is not. Never raises."""
    source = f"folder {folder}"
    texts: dict[str, str] = {}
    for key in KEYS:
        try:
            with (folder / key).open("rb") as file:
                content = file.read(_LARGEST + 1)
            if len(content) > _LARGEST:
                return Written(
                    source=source, trouble=f"{key} has more than 1 MiB; a configuration is far smaller"
                )
            texts[key] = content.decode("utf-8")
        except FileNotFoundError:
            continue
        except UnicodeDecodeError as error:
            return Written(
                source=source, trouble=f"{key} is no text in UTF-8 from byte {error.start} on; write it anew"
            )
        except OSError as error:
            return Written(
                source=source,
                trouble=f"{key} cannot be read ({error.strerror}); see that {folder} is a mounted ConfigMap",
            )
    return Written(source=source, texts=texts)
