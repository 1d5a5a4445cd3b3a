"""The Call action."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from accord import (
    ApprovalDecision,
    Call,
    DeferredApproval,
    Executor,
    Flow,
    FlowDefinitionError,
    FlowError,
    FlowRunner,
    MemoryApprovalStore,
    Merge,
    ToolError,
    ToolRegistry,
)

YES = ApprovalDecision(approved=True)


class Bill(BaseModel):
    amount: int = 2
    paid: Annotated[list[int], Merge.append] = Field(default_factory=list)


def tools() -> tuple[ToolRegistry, list[int]]:
    registry, calls = ToolRegistry(), []

    @registry.tool(confirm=lambda arguments: arguments["amount"] > 10)
    async def pay(amount: int, times: int = 1) -> int:
        calls.append(amount)
        return amount * times

    return registry, calls


async def double_amount(state: Bill) -> dict[str, int]:
    return {"amount": state.amount * 2}


@pytest.mark.parametrize(
    ("args", "paid"),
    [
        ({"amount": 3, "times": 2}, [6]),
        (lambda state: {"amount": state.amount}, [2]),
        (double_amount, [4]),
    ],
    ids=["static", "function", "async function"],
)
async def test_a_call_writes_what_its_tool_returns(args: Any, paid: list[int]) -> None:
    registry, _ = tools()
    flow = Flow("bill", state=Bill).node("pay", Call("pay", args=args, into="paid")).end("pay")

    result = await FlowRunner(Executor(registry)).run(flow, {})

    assert result.state.paid == paid


async def test_a_call_that_waits_keeps_its_call_id_and_runs_once() -> None:
    registry, calls = tools()
    store = MemoryApprovalStore()
    runner = FlowRunner(Executor(registry, approval=DeferredApproval(store)))
    pay = Call("pay", args=lambda state: {"amount": state.amount}, into="paid")
    flow = (
        Flow("bill", state=Bill)
        .node("start", lambda s: None)
        .node("a", pay)
        .node("b", pay)
        .edge("start", ["a", "b"])
        .end("a", "b")
    )

    first = await runner.run(flow, {"amount": 20})
    assert first.checkpoint is not None
    asked = [request.call_id for request in first.checkpoint.pending]
    second = await runner.resume(flow, first.checkpoint, YES)
    assert second.checkpoint is not None
    still = [request.id for request in second.checkpoint.pending]
    done = await runner.resume(flow, second.checkpoint, YES)

    assert asked == ["bill:a:1:0", "bill:b:1:0"]
    assert still == [first.checkpoint.pending[1].id]
    assert done.state.paid == [20, 20]
    assert calls == [20, 20]


async def test_a_call_that_fails_is_the_error_of_its_node() -> None:
    flow = Flow("bill", state=Bill).node("pay", Call("gone", into="paid")).end("pay")

    with pytest.raises(FlowError, match="no tool 'gone'") as caught:
        await FlowRunner(Executor(ToolRegistry())).run(flow, {})

    assert caught.value.node == "pay"
    assert isinstance(caught.value.__cause__, ToolError)


async def test_args_that_are_no_mapping_are_the_error_of_their_node() -> None:
    registry, _ = tools()
    broken: Any = Call("pay", args=lambda state: 7, into="paid")  # type: ignore[arg-type, return-value] # the mistake
    flow = Flow("bill", state=Bill).node("pay", broken).end("pay")

    with pytest.raises(FlowError, match="args of 'pay' are int"):
        await FlowRunner(Executor(registry)).run(flow, {})


def test_a_call_is_checked_with_the_flow() -> None:
    broken: Any = Call("", args=7, into="nope")  # type: ignore[arg-type] # the mistake
    unsealable = Call("pay", args={"amount": object()}, into="paid")
    flow = Flow("bill", state=Bill).node("a", broken).node("b", unsealable).edge("a", "b").end("b")

    with pytest.raises(FlowDefinitionError) as caught:
        flow.validate()

    assert [problem.node for problem in caught.value.problems] == ["a", "a", "a", "b"]
    assert "Call.into is 'nope'" in str(caught.value)
    assert "Call.tool is ''" in str(caught.value)
    assert "Call.args is 7" in str(caught.value)
    assert "Call.args['amount']" in str(caught.value)


def digest(**call: Any) -> str:
    action = Call(**{"tool": "pay", "args": {"amount": 1}, "into": "paid", **call})
    return Flow("bill", state=Bill).node("pay", action).end("pay").validate().digest


@pytest.mark.parametrize(
    "change",
    [{"tool": "send"}, {"args": {"amount": 2}}, {"args": double_amount}, {"into": "amount"}],
    ids=["tool", "static args", "args function", "into"],
)
def test_what_a_call_does_counts_in_the_digest(change: dict[str, Any]) -> None:
    assert digest(**change) != digest()
    assert digest(**change) == digest(**change)


def test_a_call_is_drawn_with_its_tool() -> None:
    graph = Flow("bill", state=Bill).node("p", Call("pay", into="paid")).end("p").validate()

    assert 'node_p[/"p<br/>Call pay"/]' in graph.to_mermaid()
    assert graph.to_dict()["nodes"][0]["action"] == {"tool": "pay", "into": "paid"}
