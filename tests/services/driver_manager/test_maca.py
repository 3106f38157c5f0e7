"""MXMACA side by side, a link to the usual one, and a clean-up that takes nothing from anybody."""

import os
import time
from pathlib import Path

import msgspec
import pytest

from builders.driver_hosts import Fuse, FusedDisk, Killed, stage_maca
from tangram.services.driver_manager.maca import Cleanup, Maca, MacaSettings, Outcome
from tangram.services.driver_manager.problems import ProblemError
from tangram.services.driver_manager.staged import Ground
from tangram.wire.operator.node_states import Phase
from tangram.wire.operator.payloads import payload_folder

GROUND = Ground(kernel="", machine=os.uname().machine)


class Site:
    """A host's /opt, and who uses what."""

    def __init__(self, root: Path, **settings: object) -> None:
        self.root = root
        (root / "opt").mkdir(parents=True)
        self.payloads = root / "payloads"
        self.payloads.mkdir()
        self.fuse = Fuse()
        self.disk = FusedDisk(root, self.fuse)
        self.users: dict[str, str] = {}
        self.late: dict[str, str] = {}
        """Who will be found at the second look."""
        self.settings = msgspec.structs.replace(MacaSettings(payloads=self.payloads), **settings)

    def maca(self) -> Maca:
        return Maca(self.disk, self.settings, lambda: GROUND, self._user)

    def kept(self, *images: str) -> Outcome:
        """As its rounds would, until nothing is missing."""
        maca = self.maca()
        maca.tidy()
        while (staged := maca.missing(maca.look(images))) is not None:
            maca.install(staged)
        return maca.settle(maca.look(images))

    def stage(self, *versions: str) -> tuple[str, ...]:
        return tuple(stage_maca(self.payloads, version) for version in versions)

    def opt(self) -> dict[str, str]:
        return {
            place.name: f"-> {place.readlink()}" if place.is_symlink() else ""
            for place in sorted((self.root / "opt").iterdir())
        }

    def _user(self, name: str) -> str:
        now = self.users.get(name, "")
        self.users |= {name: self.late.pop(name)} if name in self.late else {}
        return now


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "host", cleanup=Cleanup.OLDER_VERSION_FIRST, keep=1)


def test_all_payloads_lie_side_by_side_and_the_first_is_the_usual_one(site: Site) -> None:
    outcome = site.kept(*site.stage("2.32.0", "2.31.0"))
    assert outcome.ready is True
    state = outcome.state
    assert (state.phase, state.versions, state.default) == (Phase.READY, ("2.32.0", "2.31.0"), "2.32.0")
    assert site.opt() == {"maca": "-> maca-2.32.0", "maca-2.31.0": "", "maca-2.32.0": ""}
    assert (site.root / "opt/maca/lib/libmaca.so").read_text() == "2.32.0"


def test_another_order_moves_the_link_and_nothing_else(site: Site) -> None:
    new, old = site.stage("2.32.0", "2.31.0")
    site.kept(new, old)
    assert site.kept(old, new).state.default == "2.31.0"
    assert site.opt()["maca"] == "-> maca-2.31.0"


def test_what_nobody_lists_goes_unless_somebody_uses_it(site: Site) -> None:
    new, old, older = site.stage("2.32.0", "2.31.0", "2.30.0")
    site.kept(old, older)
    site.users["maca-2.30.0"] = "process 7 (python)"
    site.kept(new)
    assert site.opt() == {"maca": "-> maca-2.32.0", "maca-2.30.0": "", "maca-2.32.0": ""}
    site.users.clear()
    site.kept(new)
    assert site.opt() == {"maca": "-> maca-2.32.0", "maca-2.32.0": ""}


def test_one_that_comes_into_use_in_the_last_moment_is_put_back(site: Site) -> None:
    new, old = site.stage("2.32.0", "2.31.0")
    site.kept(old)
    site.late["maca-2.31.0"] = "process 7 (python)"
    site.kept(new)
    assert "maca-2.31.0" in site.opt()
    assert (site.root / "opt/maca-2.31.0/lib/libmaca.so").read_text() == "2.31.0"


@pytest.mark.parametrize(
    ("cleanup", "keep", "left"),
    [
        (Cleanup.NEVER, 0, {"2.30.0", "2.31.0", "2.32.0"}),
        (Cleanup.OLDER_VERSION_FIRST, 2, {"2.31.0", "2.32.0"}),
        (Cleanup.OLDER_TIMESTAMP_FIRST, 2, {"2.30.0", "2.32.0"}),
        (Cleanup.OLDER_VERSION_FIRST, 0, {"2.32.0"}),
        (Cleanup.OLDER_VERSION_FIRST, 5, {"2.30.0", "2.31.0", "2.32.0"}),
    ],
)
def test_the_policy_says_what_goes_first_and_how_many_stay(
    tmp_path: Path, cleanup: Cleanup, keep: int, left: set[str]
) -> None:
    site = Site(tmp_path / "host")
    new, old, older = site.stage("2.32.0", "2.31.0", "2.30.0")
    site.kept(old, older)
    for version, when in (("2.31.0", 100), ("2.30.0", 200)):
        os.utime(site.root / f"opt/maca-{version}", (when, when))
    site.settings = msgspec.structs.replace(site.settings, cleanup=cleanup, keep=keep)
    site.kept(new)
    assert {name.removeprefix("maca-") for name in site.opt() if name != "maca"} == left


def test_cards_of_another_product_get_their_mxmaca_in_the_same_version_once_the_old_is_not_used(
    site: Site,
) -> None:
    c500 = stage_maca(site.payloads, "3.0.0", "r/maca-c500:3.0.0", says="for C500")
    n100 = stage_maca(site.payloads, "3.0.0", "r/mxn100-maca:3.0.0", says="for N100")
    place = site.root / "opt/maca/lib/libmaca.so"
    assert site.kept(c500).ready
    assert place.read_text() == "for C500"
    site.users["maca-3.0.0"] = "process 7 (python)"
    outcome = site.kept(n100)
    assert (outcome.ready, outcome.state.phase, outcome.state.code) == (
        False,
        Phase.FAILED,
        "maca-of-other-cards",
    )
    assert place.read_text() == "for C500"
    site.users.clear()
    assert site.kept(n100).ready
    assert place.read_text() == "for N100"
    changed = stage_maca(site.payloads, "3.0.0", "r/mxn100-maca:3.0.0-ubuntu22.04", says="changed")
    assert site.kept(changed).state.code == "payload-changed", "for the same product it stays"
    assert place.read_text() == "for N100"


def test_what_the_host_has_is_its_own(site: Site) -> None:
    own = site.root / "opt/maca"
    own.mkdir()
    outcome = site.kept(*site.stage("2.32.0"))
    assert (outcome.ready, outcome.state.code, outcome.state.phase) == (True, "maca-of-host", Phase.READY)
    assert site.opt() == {"maca": "", "maca-2.32.0": ""}


def test_a_link_and_a_folder_of_the_host_stay_also_at_the_end(site: Site) -> None:
    (site.root / "opt/maca-2.32.0").mkdir()
    (site.root / "opt/maca").symlink_to("/opt/maca-2.32.0")
    outcome = site.kept(*site.stage("2.32.0", "2.31.0"))
    assert outcome.state.code == "maca-of-host"
    assert outcome.ready is True
    assert site.maca().remove().state.phase is Phase.REMOVED
    assert site.opt() == {"maca": "-> /opt/maca-2.32.0", "maca-2.32.0": ""}


def test_a_second_payload_that_is_missing_takes_nothing_from_the_first(site: Site) -> None:
    outcome = site.kept(*site.stage("2.32.0"), "reg/gone:1")
    assert (outcome.ready, outcome.state.phase, outcome.state.code) == (True, Phase.WAITING, "payload-absent")


def test_a_damaged_payload_is_refused_and_leaves_nothing(site: Site) -> None:
    image = stage_maca(site.payloads, "2.32.0", corrupt=True)
    with pytest.raises(ProblemError, match="another checksum"):
        site.kept(image)
    assert site.opt() == {}


def test_two_payloads_of_one_version_are_said(site: Site) -> None:
    first = stage_maca(site.payloads, "2.32.0")
    second = stage_maca(site.payloads, "2.32.0", "reg/maca-n100:2.32.0")
    outcome = site.kept(first, second)
    assert outcome.state.code == "maca-version-twice"


def test_other_content_under_a_known_version_is_said_and_left(site: Site) -> None:
    (image,) = site.stage("2.32.0")
    site.kept(image)
    folder = next(site.payloads.iterdir())
    text = (folder / "payload.json").read_text()
    (folder / "payload.json").write_text(text + "\n")
    outcome = site.kept(image)
    assert (outcome.state.code, outcome.ready) == ("payload-changed", True)


def test_without_payloads_the_node_says_nothing_of_it(site: Site) -> None:
    assert site.kept() == Outcome(state=site.kept().state, ready=None)


def test_removal_leaves_what_is_in_use_and_says_who(site: Site) -> None:
    site.kept(*site.stage("2.32.0", "2.31.0"))
    site.users["maca-2.31.0"] = "process 7 (python)"
    state = site.maca().remove().state
    assert state.why == "/opt/maca-2.31.0 stays, process 7 (python) uses it"
    assert site.opt() == {"maca-2.31.0": ""}


def test_removal_takes_the_payloads_along_and_leaves_what_is_not_one(site: Site) -> None:
    images = site.stage("2.32.0", "2.33.0")
    site.kept(*images)
    slug = payload_folder(images[0])
    (site.payloads / f".lock-{slug}").touch()
    (site.payloads / f".staging-{slug}-0123456789abcdef" / "maca").mkdir(parents=True)
    (site.payloads / "notes").mkdir()
    site.maca().remove()
    assert [place.name for place in site.payloads.iterdir()] == ["notes"]
    (site.payloads / "notes").rmdir()
    site.maca().remove()
    assert not site.payloads.exists()


def test_payloads_that_nobody_names_go_after_a_day(site: Site) -> None:
    old, older, usual = site.stage("2.31.0", "2.30.0", "2.32.0")
    past = time.time() - 2 * 86_400
    for image in (older, usual):
        os.utime(site.payloads / payload_folder(image), (past, past))
    site.kept(usual)
    assert {place.name for place in site.payloads.iterdir()} == {payload_folder(old), payload_folder(usual)}


def test_killed_at_any_operation_every_folder_is_whole_and_the_link_leads_to_one(tmp_path: Path) -> None:
    def begun(folder: Path) -> tuple[Site, tuple[str, ...]]:
        site = Site(folder, cleanup=Cleanup.OLDER_VERSION_FIRST, keep=1)
        new, old = site.stage("2.32.0", "2.31.0")
        site.kept(old)
        return site, (new,)

    site, images = begun(tmp_path / "whole")
    site.fuse.passed = 0
    site.kept(*images)
    for at in range(1, site.fuse.passed + 1):
        site, images = begun(tmp_path / str(at))
        site.fuse.left = at
        try:
            site.kept(*images)
        except Killed:
            link = site.root / "opt/maca"
            assert (link / "lib/libmaca.so").read_text() in ("2.31.0", "2.32.0")
        site.fuse.left = 0
        site.kept(*images)
        assert site.opt() == {"maca": "-> maca-2.32.0", "maca-2.32.0": ""}


def test_one_that_was_on_its_way_out_and_is_in_use_stays_until_it_is_not(site: Site) -> None:
    (image,) = site.stage("2.32.0")
    site.kept(image)
    gone = site.root / "opt/.maca-2.31.0.gone"
    gone.mkdir()
    site.users["maca-2.31.0"] = "process 7 (python)"
    site.kept(image)
    assert gone.is_dir()
    site.users.clear()
    site.kept(image)
    assert not gone.exists()
