"""A Map: one tool call, or a function, for each item of a list field."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from accord._invoke import inline, is_failure, run_in_order
from accord.approval import ApprovalPending, ApprovalRequest
from accord.context import enter_context, leave_context
from accord.errors import FlowError
from accord.flow._journal import FinishedItem, Journal, VisitScope
from accord.flow._pauses import SWALLOWED, until_pause
from accord.tools import CallSpec

if TYPE_CHECKING:
    from accord.context import ToolContext
    from accord.flow._nodes import Visit
    from accord.flow._position import Updates
    from accord.flow.actions import Map

_log = logging.getLogger("accord.flow")


async def run_map(visit: Visit, action: Map, ctx: ToolContext) -> Updates:
    """Run every item of a Map; items that an earlier leg finished are kept.

    Implements: "Map".

    Args:
        visit: The visit of the Map's node.
        action: The Map.
        ctx: The visit's context.

    Returns:
        One update for each item that was not skipped, in item order.

    Raises:
        ApprovalPending: If an item waits and none failed.
        Exception: What the first failed item failed with, by item order.
    """
    items = _items(visit, action)
    finished, unfinished = visit.journal.items, visit.journal.unfinished
    asked: dict[int, list[ApprovalRequest]] = {}

    async def run_item(index: int) -> BaseException | None:
        journal = unfinished.setdefault(index, Journal())
        scope = VisitScope(f"{visit.call_id}:{index}", journal, visit.answers, visit.asked)
        asked[index] = scope.pending
        try:
            value = await _item_value(visit, action, items[index], index, ctx, scope)
            finished[index] = FinishedItem(value)
        except ApprovalPending:
            return None  # the scope remembers it; the other items go on
        except BaseException as error:
            if not is_failure(error):
                raise
            swallowed = isinstance(error, FlowError) and error.code == SWALLOWED
            if swallowed or action.on_error == "fail":
                return error
            _log.warning("%s: item %d was skipped: %s", visit.call_id, index, error)
            finished[index] = FinishedItem(None, skipped=True)
        del unfinished[index]
        return None

    results = await run_in_order(
        [partial(run_item, index) for index in range(len(items)) if index not in finished],
        failed=lambda error: error is not None,
        limit=visit.node.concurrency,
    )
    error = next((error for error in results if error is not None), None)
    if error is not None:
        raise error
    # Items may have asked in any order; what is answered first must not depend on it.
    visit.asked[:] = [request for index in sorted(asked) for request in asked[index]]
    if visit.asked:
        raise ApprovalPending(visit.asked[0])
    return tuple(
        {action.into: finished[index].value}
        for index in range(len(items))
        if not finished[index].skipped
    )


def _items(visit: Visit, action: Map) -> Sequence[Any]:
    items = getattr(visit.state, action.over)
    if items is None:
        return ()
    # A set has no order and a mapping no items; of a text, its letters are never what was meant.
    if isinstance(items, str | bytes) or not isinstance(items, Sequence):
        raise _bad_item(visit, action, f"it is a {type(items).__name__}; a Map needs a list")
    return items


async def _item_value(
    visit: Visit, action: Map, item: Any, index: int, ctx: ToolContext, scope: VisitScope
) -> Any:
    """Run the tool or the function of one item.

    A tool call's id is that of the item, so it repeats when the visit runs again; the calls of a
    function extend it.
    """
    own = replace(ctx, call_id=f"{visit.call_id}:{index}", scope=scope)
    if visit.run.model is not None:
        own.model = visit.run.model.bind(own)
    token = enter_context(own)
    try:
        if visit.node.call is None:
            spec = await _item_call(visit, action, item, index)
            call = visit.run.executor.run_spec(spec, own)
            return (await until_pause(call, scope, visit.node.name)).unwrap()
        value = visit.node.call(*(item, visit.state, own)[: visit.node.arity])
        return await until_pause(value, scope, visit.node.name)
    finally:
        leave_context(token)


async def _item_call(visit: Visit, action: Map, item: Any, index: int) -> CallSpec:
    call_id = f"{visit.call_id}:{index}"
    fields = _fields_of(item)
    if action.tool is not None:
        if action.args_fn is not None:
            fields = _fields_of(await inline(action.args_fn, item))
            if fields is None:
                what = f"args_fn gave no mapping of arguments for item {index}"
                raise _bad_item(visit, action, what)
        alone = fields if fields is not None else _only_argument(visit, action.tool, item)
        return CallSpec(action.tool, alone, call_id)
    key = action.tool_from or ""
    if fields is None or key not in fields:
        raise _bad_item(visit, action, f"item {index} names no tool: it has no key {key!r}")
    rest = {name: value for name, value in fields.items() if name != key}
    chosen = rest.get(action.args_from, rest)
    arguments = _fields_of(chosen)
    if arguments is None:
        what = f"item {index} holds {type(chosen).__name__} under {action.args_from!r}"
        raise _bad_item(visit, action, f"{what}; a mapping of arguments is needed")
    return CallSpec(str(fields[key]), arguments, call_id)


def _bad_item(visit: Visit, action: Map, what: str) -> FlowError:
    return FlowError(
        f"field {action.over!r}: {what}",
        flow=visit.run.graph.name,
        node=visit.node.name,
        field=action.over,
    )


def _fields_of(item: Any) -> Mapping[str, Any] | None:
    if isinstance(item, Mapping):
        return item
    return dict(item) if isinstance(item, BaseModel) else None


def _only_argument(visit: Visit, tool: str, item: Any) -> dict[str, Any]:
    names = list(visit.run.executor.registry.get(tool).arguments.model_fields)
    if len(names) != 1:
        raise FlowError(
            f"a plain {type(item).__name__} suits a tool with one argument, and {tool!r} has "
            f"{len(names)}; let the items be mappings of arguments",
            flow=visit.run.graph.name,
            node=visit.node.name,
        )
    return {names[0]: item}
