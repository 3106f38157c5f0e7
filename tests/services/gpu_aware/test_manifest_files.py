"""Files replaced whole or not at all."""

from pathlib import Path

import pytest

from builders.scheduler_manifests import KUBEADM
from tangram.daemon.errors import SettingError
from tangram.services.gpu_aware.manifest_files import carry_out, read_files
from tangram.services.gpu_aware.switching import Plan, switch_on

URL = "http://10.96.0.20:8080"


def planned(folder: Path) -> tuple[Path, Path, Plan]:
    manifest, config = folder / "manifests" / "kube-scheduler.yaml", folder / "metax" / "extender.yaml"
    manifest.parent.mkdir()
    manifest.write_text(KUBEADM)
    return manifest, config, switch_on(read_files(manifest, str(config)), URL)


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_file_that_somebody_changed_meanwhile_is_left_alone_and_so_is_every_other(tmp_path: Path) -> None:
    manifest, _, plan = planned(tmp_path)
    manifest.write_text(KUBEADM + "# changed\n")
    with pytest.raises(
        SettingError, match="was changed by somebody meanwhile; nothing was changed: try again"
    ):
        carry_out(plan)
    assert names(tmp_path) == {"manifests/kube-scheduler.yaml"}
    assert manifest.read_text().endswith("# changed\n")


def test_a_write_that_fails_leaves_the_old_content_and_no_leftovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest, config, plan = planned(tmp_path)

    def refusing(path: Path, target: Path) -> Path:
        if target.name == manifest.name:
            raise OSError(28, "No space left on device")
        return real(path, target)

    real = Path.replace
    monkeypatch.setattr(Path, "replace", refusing)
    with pytest.raises(SettingError, match=r"No space left on device; written so far: .*extender\.yaml"):
        carry_out(plan)
    assert manifest.read_text() == KUBEADM
    assert names(tmp_path / "manifests") == {"kube-scheduler.yaml"}
    assert config.exists()


def test_what_is_written_half_way_bears_a_name_that_the_kubelet_passes_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, plan = planned(tmp_path)
    seen: set[str] = set()

    def looking(path: Path, target: Path) -> Path:
        seen.add(path.name)
        return real(path, target)

    real = Path.replace
    monkeypatch.setattr(Path, "replace", looking)
    carry_out(plan)
    assert len(seen) == 3
    assert all(name.startswith(".") for name in seen)
