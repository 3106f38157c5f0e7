"""The file by which Prometheus finds a sandbox."""

from pathlib import Path

import yaml

from tangram.daemon.endpoints import Address
from tangram.sandbox.prometheus_file import prometheus_text


def test_scheduler_and_agents_are_read_each_under_its_own_name() -> None:
    agents = [("gpu-1", {"gpu-device": Address("127.0.0.1", 1), "gpu-label": Address("127.0.0.1", 2)})]
    told = yaml.safe_load(prometheus_text("https://127.0.0.1:9443", Path("keys/ca.crt"), "secret", agents))
    scheduler, nodes = told["scrape_configs"]
    assert scheduler["static_configs"][0]["targets"] == ["127.0.0.1:9443"]
    assert scheduler["authorization"] == {"credentials": "secret"}
    assert scheduler["tls_config"] == {"ca_file": "keys/ca.crt"}
    assert [each["targets"] for each in nodes["static_configs"]] == [["127.0.0.1:1"], ["127.0.0.1:2"]]
    assert {each["labels"]["node"] for each in nodes["static_configs"]} == {"gpu-1"}
    assert len({each["labels"]["pod"] for each in nodes["static_configs"]}) == 2
