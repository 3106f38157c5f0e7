"""`docs/scheduler-config.md` names every key, check and metric there is, and its examples can be pasted."""

import re
from pathlib import Path

import yaml
from prometheus_client import CollectorRegistry

from tangram.engine.room import Room
from tangram.services.scheduler import checkup
from tangram.services.scheduler.telemetry import Figures, Outcome, Telemetry
from tangram.wire.hami_device_config import HamiDeviceConfig, read_hami_device_config
from tangram.wire.scheduler_config import KEYS, SchedulerConfig, read_scheduler_config

PAGE = (Path(__file__).parents[3] / "docs" / "scheduler-config.md").read_text("utf-8")
OURS, HAMIS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_can_be_pasted() -> None:
    config = read_scheduler_config(yaml.safe_load(OURS))
    assert config == SchedulerConfig(zone_aware=False, trusted_accounts=config.trusted_accounts)
    assert read_hami_device_config(yaml.safe_load(HAMIS)) == HamiDeviceConfig(mthreads_memory_per_card=(96,))


def test_every_key_is_described() -> None:
    assert [key for key in KEYS if f"| `{key}` |" not in PAGE] == []


def test_every_check_is_described() -> None:
    sources = [file.read_text("utf-8") for file in Path(checkup.__file__).parent.glob("*.py")]
    pattern = r'(?:check|CHECK) = "([a-z-]+)"|(?:ok|warn|fail|skip)\(\s*"([a-z-]+)"'
    named = {one or other for text in sources for one, other in re.findall(pattern, text)}
    assert len(named) >= 9
    assert [name for name in sorted(named) if f"| `{name}` |" not in PAGE] == []


def test_every_metric_of_ours_is_described() -> None:
    telemetry = Telemetry(CollectorRegistry())
    telemetry.observe(lambda: Figures(room=Room()))
    names = {metric.name for metric in telemetry.registry.collect()} - {"tangram_build"}
    short = {name.removeprefix("tangram_scheduler") for name in names}
    assert [name for name in sorted(short) if f"{name}`" not in PAGE and f"{name}_total`" not in PAGE] == []
    assert [outcome for outcome in Outcome if f"`{outcome}`" not in PAGE] == []
