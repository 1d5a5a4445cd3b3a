"""The state model of a flow, and a flow without nodes."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, RootModel

from accord.errors import FlowDefinitionError, Problem
from accord.flow.actions import Map
from accord.flow.spec import Flow
from accord.flow.state import Merge


class Research(BaseModel):
    question: str = ""
    steps: list[dict[str, Any]] = Field(default_factory=list)
    found: Annotated[list[str], Merge.append] = Field(default_factory=list)
    again: bool = False


class Reserved(BaseModel):
    aa_visits: int = 0
    plain: int = 0


class Empty(BaseModel):
    pass


class Bare(RootModel[int]):
    pass


class Dangling(BaseModel):
    other: Missing  # type: ignore[name-defined]  # noqa: F821 - the point of the test


def work(state: Research) -> None:
    return None


def found(flow: Flow[Any]) -> list[Problem]:
    with pytest.raises(FlowDefinitionError) as refused:
        flow.validate()
    return list(refused.value.problems)


@pytest.mark.parametrize(
    ("state", "what"),
    [
        (dict, "the class dict"),
        (BaseModel, "the class BaseModel"),
        ({"a": int}, "{'a': <class 'int'>}"),
        (Empty(), "Empty()"),
        (None, "None"),
    ],
)
def test_the_state_is_a_pydantic_model_class(state: Any, what: str) -> None:
    flow = Flow("flow", state=state).node("m", Map("a", tool="t", into="b")).end("m")

    assert found(flow) == [
        Problem(
            None,
            f"the state is {what}, which is no pydantic model",
            "pass a subclass of pydantic.BaseModel, the class itself: state=MyState",
        )
    ]


def test_a_model_that_cannot_be_a_state_says_why() -> None:
    [problem] = found(Flow("flow", state=Bare).node("a", work).end("a"))

    assert problem.node is None
    assert problem.message.startswith("Bare cannot be a flow's state: it has no fields")
    assert problem.hint == "pass another model as state="


def test_a_model_with_an_unknown_annotation_says_which() -> None:
    assert found(Flow("flow", state=Dangling).node("a", work).end("a")) == [
        Problem(
            None,
            "an annotation of the state Dangling names 'Missing', which is unknown",
            "define or import it where the model is defined",
        )
    ]


def test_state_fields_that_are_reserved() -> None:
    assert found(Flow("flow", state=Reserved).node("a", work).end("a")) == [
        Problem(
            None,
            "the state field 'aa_visits' is reserved for the engines",
            "choose a name that does not begin with aa_",
        )
    ]


def test_a_flow_without_nodes() -> None:
    assert found(Flow("flow", state=Research)) == [
        Problem(None, "it has no nodes", "add one with .node(name, action)")
    ]
