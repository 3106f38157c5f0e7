"""Where the tool is found, and what it is run with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tangram.drivers.mxsmi import tool
from tangram.drivers.mxsmi.tool import MxSmi, find_binary


def test_a_tool_that_is_seen_elsewhere_than_on_its_host_finds_the_drivers_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = tmp_path / "host" / "usr" / "local" / "metax" / "mxdriver"
    for binary in (driver / "bin" / "mx-smi", tmp_path / "opt" / "mxdriver" / "bin" / "mx-smi"):
        binary.parent.mkdir(parents=True)
        binary.write_text('#!/bin/sh\necho "$LD_LIBRARY_PATH"\n')
        binary.chmod(0o755)
    monkeypatch.setattr(tool, "OF_HOST", str(tmp_path / "host"))
    monkeypatch.setattr(tool, "FOLDERS", (str(driver / "bin"),))
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert MxSmi(find_binary(None)).run([]).text == f"{driver / 'lib'}\n"
    monkeypatch.setenv("LD_LIBRARY_PATH", "/mine")
    assert MxSmi(find_binary(None)).run([]).text == f"{driver / 'lib'}:/mine\n"
    assert MxSmi(str(tmp_path / "opt" / "mxdriver" / "bin" / "mx-smi")).run([]).text == "/mine\n"
