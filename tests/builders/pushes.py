"""A push in a test: watched, without waiting, to a registry that `builders.registries` serves."""

from pathlib import Path

import pytest

from builders.registries import PASSWORD, USER, RegistryDouble
from tangram.services.images.addresses import Target
from tangram.services.images.archive import Descriptor, opened
from tangram.services.images.errors import ImagesError
from tangram.services.images.logins import Login
from tangram.services.images.pushing import Door, Pushed, push

LOGIN = Login(USER, PASSWORD, "--user")
PIECE = 1000
UPLOAD = "blobs/uploads/."


class Notes:
    """Watches a push, and waits for nothing."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.there: list[str] = []
        self.said: list[str] = []
        self.pauses: list[float] = []
        self.arrived: dict[str, int] = {}

    def begun(self, blob: Descriptor) -> None:
        self.arrived[blob.digest] = 0

    def moved(self, blob: Descriptor, arrived: int) -> None:
        assert 0 <= arrived <= blob.size
        self.arrived[blob.digest] = arrived

    def ended(self, blob: Descriptor, *, sent: bool) -> None:
        assert self.arrived[blob.digest] == blob.size
        (self.sent if sent else self.there).append(blob.digest)

    def told(self, sentence: str) -> None:
        self.said.append(sentence)

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


async def pushed(
    archive: Path,
    double: RegistryDouble,
    *,
    notes: Notes | None = None,
    project: str = "cloud",
    door: Door | None = None,
) -> list[Pushed]:
    """Push with the registry's own login, unless another door is given."""
    notes = notes or Notes()
    with opened(archive) as images:
        return await push(
            images,
            Target(double.domain, project),
            door or Door(login=None if double.auth == "none" else LOGIN, plain_http=True),
            notes,
            environment={"HOME": "/nonexistent"},
            pause=notes.pause,
            piece=PIECE,
        )


async def refusal(archive: Path, double: RegistryDouble, **options: object) -> str:
    """What is said of a push that does not come about."""
    with pytest.raises(ImagesError) as raised:
        await pushed(archive, double, **options)  # type: ignore[arg-type]
    return str(raised.value)


def blobs_of(archive: Path) -> dict[str, bytes]:
    """Everything in the archive that a registry keeps as a blob."""
    with opened(archive) as images:
        return {blob.digest: images.read(blob) for blob in images.images[0].blobs()}
