"""The written scenarios: exactly what native does, and that every engine does the same."""

from __future__ import annotations

import pytest

from accord import ConfigError
from accord_parity import Mode, run_scenario
from accord_parity.differences import Difference
from accord_parity.scenarios import SCENARIOS, choose_scenarios
from accord_parity.suite import choose_engines, run_suite

ENGINES = ("native", "langgraph", "adk")

RUN = ["node.started", "node.finished"]
CALL = ["tool.started", "tool.finished"]
REQUEST = ["model.started", "model.finished"]


@pytest.mark.parametrize("mode", ["memory", "dump"])
async def test_research_approval_on_native(mode: Mode) -> None:
    observation = await run_scenario("native", SCENARIOS["research_approval"], mode)

    searches = [
        {"tool": "search_articles", "args": {"query": "returns"}},
        {"tool": "search_tickets", "args": {"query": "returns"}},
        {"tool": "search_articles", "args": {"query": "shipping"}},
    ]
    assert observation.to_dict() == {
        "statuses": ["paused", "done"],
        "pending": [
            {
                "tool": "node:research.approve",
                "arguments": {"answer": "Returns are free for 30 days, from 3 sources."},
            }
        ],
        "state": {
            "question": "What does the returns policy allow?",
            "plan_steps": searches,
            "evidence": [
                {"source_id": "article:returns", "text": "An article about returns."},
                {"source_id": "ticket:returns", "text": "A ticket about returns."},
                {"source_id": "article:shipping", "text": "An article about shipping."},
            ],
            "rounds": 2,
            "needs_more": False,
            "answer": "Returns are free for 30 days, from 3 sources. (approved)",
        },
        "visits": {"approve": 1, "classify": 1, "merge": 2, "reason": 2, "retrieve": 2},
        "steps": 8,
        "calls": {
            "search_articles": [{"query": "returns"}, {"query": "returns"}, {"query": "shipping"}],
            "search_tickets": [{"query": "returns"}, {"query": "returns"}],
        },
        "events": {
            "research": [
                "run.started",
                *["flow.started", "flow.finished"] * 2,
                "run.finished",
            ],
            "research:approve:1": ["node.paused", *RUN],
            "research:classify:1": RUN,
            "research:merge:1": RUN,
            "research:merge:2": RUN,
            "research:reason:1": ["node.started", *REQUEST, "node.finished"],
            "research:reason:2": ["node.started", *REQUEST, "node.finished"],
            "research:retrieve:1": ["node.started", *CALL * 2, "node.finished"],
            "research:retrieve:2": ["node.started", *CALL * 3, "node.finished"],
        },
        "error": None,
    }


@pytest.mark.parametrize("mode", ["memory", "dump"])
async def test_reducers_fanout_on_native(mode: Mode) -> None:
    observation = await run_scenario("native", SCENARIOS["reducers_fanout"], mode)

    nodes = ["branch_a", "branch_b", "branch_c", "gather", "longer", "longest", "start"]
    assert observation.to_dict() == {
        "statuses": ["done"],
        "pending": [],
        "state": {
            "label": "longest",
            "log": [
                *["default", "start", "a", "b", "c", "c saw 15"],
                *["longer saw 136", "longest", "gather"],
            ],
            "total": 10 + 5 + 1 + 20 + 100,
            "items": [
                {"key": "first", "by": "b"},
                {"key": "shared", "by": "c"},
                {"key": "only_c", "by": "c"},
                {"key": "late", "by": "longer"},
            ],
            "seen_by_join": 8,
        },
        "visits": dict.fromkeys(nodes, 1),
        "steps": 5,
        "calls": {},
        "events": {
            "reducers": ["run.started", "flow.started", "flow.finished", "run.finished"],
            **{f"reducers:{node}:1": RUN for node in nodes},
        },
        "error": None,
    }


@pytest.mark.parametrize("mode", ["memory", "dump"])
async def test_replay_two_confirms_on_native(mode: Mode) -> None:
    observation = await run_scenario("native", SCENARIOS["replay_two_confirms"], mode)

    assert observation.to_dict() == {
        "statuses": ["paused", "paused", "done"],
        "pending": [
            {"tool": "B", "arguments": {"order": 7}},
            {"tool": "C", "arguments": {"order": 7}},
        ],
        "state": {"order": 7, "results": ["A 7", "B 7", "C 7"]},
        "visits": {"work": 1},
        "steps": 1,
        "calls": {"A": [{"order": 7}], "B": [{"order": 7}], "C": [{"order": 7}]},
        "events": {
            "replay": ["run.started", *["flow.started", "flow.finished"] * 3, "run.finished"],
            "replay:work:1": [
                *["node.started", *CALL, "node.paused"] * 2,
                *["node.started", *CALL, "node.finished"],
            ],
        },
        "error": None,
    }


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SCENARIOS)
async def test_every_engine_passes_every_scenario(engine: str, name: str) -> None:
    report = await run_suite(choose_scenarios([name]), [engine])

    found = [
        difference
        for mode in report.scenarios[0].engines[0].modes
        for difference in (mode.problem, mode.verdict.unrecorded, mode.verdict.stale)
        if difference
    ]
    assert found == []
    assert report.passed


@pytest.mark.parametrize(
    ("engine", "counts"),
    [
        ("native", {"A": 1, "B": 1, "C": 1}),
        ("adk", {"A": 1, "B": 1, "C": 1}),
        ("langgraph", {"A": 3, "B": 2, "C": 1}),
    ],
)
@pytest.mark.parametrize("mode", ["memory", "dump"])
async def test_how_often_the_calls_of_replay_two_confirms_run(
    engine: str, counts: dict[str, int], mode: Mode
) -> None:
    observation = await run_scenario(engine, SCENARIOS["replay_two_confirms"], mode)

    assert {tool: len(calls) for tool, calls in observation.calls.items()} == counts


async def test_the_suite_fails_on_a_difference_that_is_not_recorded() -> None:
    scenarios = choose_scenarios(["replay_two_confirms"])

    report = await run_suite(scenarios, ["langgraph"], records=[])

    assert not report.passed
    assert report.scenarios[0].engines[0].outcome == "different"


async def test_the_suite_fails_on_a_record_that_no_longer_shows() -> None:
    record = Difference(
        scenario="reducers_fanout",
        engine="langgraph",
        field="steps",
        kind="notyet",
        reason="It used to take one step more.",
        user_sees="One step more.",
        engine_version="1.2",
    )

    report = await run_suite(choose_scenarios(["reducers_fanout"]), ["langgraph"], records=[record])

    assert not report.passed
    assert report.scenarios[0].engines[0].outcome == "stale"


async def test_a_script_that_does_not_fit_fails_the_suite_and_goes_on() -> None:
    broken = SCENARIOS["replay_two_confirms"]
    short = type(broken)(broken.name, broken.summary, broken.flow, broken.input, broken.tools)

    report = await run_suite([short, *choose_scenarios(["reducers_fanout"])], ["native"])

    outcomes = [each.engines[0].outcome for each in report.scenarios]
    assert outcomes == ["different", "equal"]
    assert "pause 1 asks for 'B'" in (report.scenarios[0].engines[0].modes[0].problem or "")


def test_the_engines_come_with_native_first_and_each_once() -> None:
    assert choose_engines(["langgraph", "native", "langgraph"]) == ("native", "langgraph")


def test_without_names_all_engines_run() -> None:
    assert choose_engines() == ("native", "adk", "langgraph")


def test_an_unknown_scenario_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ConfigError, match=r"no scenario 'nope'; choose from: research_approval"):
        choose_scenarios(["nope"])
