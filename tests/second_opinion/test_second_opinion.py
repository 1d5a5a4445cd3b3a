"""Random flows end as the second opinion says, on the native runner and on every engine."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from tests.second_opinion.flows import run_plan
from tests.second_opinion.interpreter import interpret
from tests.second_opinion.plan import Plan
from tests.second_opinion.plans import plans

quick = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Iterator[None]:
    """Spare the log the failures and skipped items that are planned."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.timeout(300)
@settings(quick, max_examples=2_000)
@given(plans())
def test_native_ends_as_the_second_opinion_says(plan: Plan) -> None:
    assert asyncio.run(run_plan(plan, "native")) == interpret(plan)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("engine", ["langgraph", "adk"])
@settings(quick, max_examples=100)
@given(plans())
def test_an_engine_ends_as_native_does(engine: str, plan: Plan) -> None:
    assert asyncio.run(run_plan(plan, engine)) == asyncio.run(run_plan(plan, "native"))
