"""What `accord parity` says when something is wrong."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from accord_parity.differences import RECORDED, Difference
from accord_parity.parity_command import parity

STALE = Difference(
    scenario="reducers_fanout",
    engine="langgraph",
    field="steps",
    kind="notyet",
    reason="It used to take one step more.",
    user_sees="One step more.",
    engine_version="1.2",
)


def test_an_unrecorded_difference_exits_1_and_shows_both_values(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    all_but_a = [record for record in RECORDED if record.field != "calls.A"]

    code = parity(["langgraph"], ["replay_two_confirms"], records=all_but_a)

    printed = capsys.readouterr().out
    assert code == 1
    assert "DIFFERENT" in printed
    assert "calls.A differs and is not recorded" in printed
    assert 'native: [{"order": 7}]\n' in printed
    assert 'langgraph: [{"order": 7}, {"order": 7}, {"order": 7}]\n' in printed
    assert "calls.B differs" not in printed


def test_a_stale_record_exits_1_and_says_to_take_it_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = parity(["langgraph"], ["reducers_fanout"], records=[STALE])

    printed = capsys.readouterr().out
    assert code == 1
    assert "STALE" in printed
    assert "steps is recorded as a difference and is equal now; take the record out" in printed


def test_json_tells_unrecorded_from_recorded_and_stale_in_every_mode(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = [
        *(record for record in RECORDED if record.field != "calls.A"),
        replace(STALE, scenario="replay_two_confirms"),
    ]

    code = parity(["langgraph"], ["replay_two_confirms"], as_json=True, records=records)

    differences = json.loads(capsys.readouterr().out)["differences"]
    assert code == 1
    assert {(each["mode"], each["status"], each["field"]) for each in differences} == {
        (mode, status, field)
        for mode in ("memory", "dump")
        for status, field in (
            ("unrecorded", "calls.A"),
            ("recorded", "calls.B"),
            ("recorded", "events.replay:work:1"),
            ("stale", "steps"),
        )
    }
