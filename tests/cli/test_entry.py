"""The first moments of a process."""

import os
import signal

import pytest

from tangram.cli import app, entry


def asked_to_end() -> None:
    signal.raise_signal(signal.SIGTERM)


def test_the_first_process_of_a_container_ends_when_asked_before_any_daemon_listens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 1)
    monkeypatch.setattr(app, "main", asked_to_end)
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            entry.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 143


def test_elsewhere_signals_are_left_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "main", lambda: None)
    before = signal.getsignal(signal.SIGTERM)
    entry.main()
    assert signal.getsignal(signal.SIGTERM) is before
