"""The record of what kubectl prints against a real API server is whole; `make e2e` compares it with both servers."""

from contract.differences import VERB_DIFFERENCES
from contract.recorded import read_verbs
from contract.verbs import SESSIONS

RECORD = read_verbs()


def test_every_session_is_recorded_step_by_step() -> None:
    for sessions in RECORD.values():
        assert {name: len(steps) for name, steps in sessions.items()} == {
            name: len(session.steps) for name, session in SESSIONS.items()
        }


def test_every_named_difference_is_a_step() -> None:
    steps = {(name, step.line) for name, session in SESSIONS.items() for step in session.steps}
    assert set(VERB_DIFFERENCES) <= steps
