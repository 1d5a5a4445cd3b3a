"""Recorded differences: what a record must say, and the page made from the records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accord import ConfigError
from accord_parity.differences import RECORDED, Difference, checked
from accord_parity.differences.page import differences_page
from accord_parity.scenarios import SCENARIOS

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"

RECORD = Difference(
    scenario="one",
    engine="langgraph",
    field="calls.search",
    kind="never",
    reason="The engine is made so.",
    user_sees="The search runs twice.",
    engine_version="1.2",
)


@pytest.mark.parametrize(
    "attribute", ["scenario", "engine", "field", "reason", "user_sees", "engine_version"]
)
@pytest.mark.parametrize("blank", ["", "  "])
def test_a_record_without_one_of_its_attributes_is_refused(attribute: str, blank: str) -> None:
    changed: dict[str, Any] = {attribute: blank}

    with pytest.raises(ConfigError, match=f"has no {attribute}"):
        replace(RECORD, **changed)


def test_a_record_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="never, upstream, notyet"):
        replace(RECORD, kind="someday")  # type: ignore[arg-type]  # the wrong kind is the point


def test_native_cannot_have_a_recorded_difference() -> None:
    with pytest.raises(ConfigError, match="cannot differ from itself"):
        replace(RECORD, engine="native")


@pytest.mark.parametrize("second", ["calls.search", "calls", "calls.search.0"])
def test_two_records_of_one_place_are_refused(second: str) -> None:
    with pytest.raises(ConfigError, match="recorded twice"):
        checked([RECORD, replace(RECORD, field=second)])


def test_records_of_places_beside_each_other_are_kept_in_order() -> None:
    other = replace(RECORD, field="calls.charge")

    assert checked([RECORD, other]) == (other, RECORD)


def test_a_record_covers_its_field_and_what_lies_below_but_not_a_longer_name() -> None:
    record = replace(RECORD, field="calls")

    assert record.covers("calls")
    assert record.covers("calls.search")
    assert not record.covers("callsign")


def test_every_record_names_a_scenario_of_the_suite() -> None:
    assert {record.scenario for record in RECORDED} <= set(SCENARIOS)


def test_the_page_of_differences_is_current() -> None:
    assert PAGE.read_text("utf-8") == differences_page(RECORDED), (
        "run: python -m accord_parity.differences > docs/differences.md"
    )


def test_the_page_shows_every_record_with_its_reason() -> None:
    page = differences_page([RECORD, replace(RECORD, field="steps", user_sees="One step more.")])

    assert page.count("## one on langgraph") == 1
    assert page.count("The engine is made so.") == 1
    assert "| `calls.search` | `never` | The search runs twice. | 1.2 |" in page
    assert "| `steps` | `never` | One step more. | 1.2 |" in page
