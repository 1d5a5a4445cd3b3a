"""How user code is called: sync or async, with or without a context, alone or side by side."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

# User code takes the flow's own state, items and arguments, which no common type describes.
UserFunction = Callable[..., Any]
AsyncFunction = Callable[..., Awaitable[Any]]


def takes_argument(fn: UserFunction, position: int) -> bool:
    """Tell whether `fn` has a positional parameter at `position` (from 0) without a default.

    A default means that the parameter is the author's own, as in `lambda s, r=r: ...`.
    """
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):  # some builtins have no signature
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) > position and positional[position].default is inspect.Parameter.empty


def is_async(fn: UserFunction) -> bool:
    """Tell whether calling `fn` gives a coroutine."""
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(
        getattr(fn, "__call__", None)  # noqa: B004 - an object with an async __call__ counts
    )


def off_the_loop(fn: UserFunction) -> AsyncFunction:
    """Return an async form of `fn`: itself if async, else run in a worker thread.

    The thread gets a copy of the context variables.
    """
    if is_async(fn):
        return fn

    async def in_thread(*args: object, **kwargs: object) -> object:
        result = await asyncio.to_thread(_without_stop_iteration, fn, *args, **kwargs)
        # A plain lambda may hand back the coroutine of an async function.
        return await result if inspect.isawaitable(result) else result

    return in_thread


def _without_stop_iteration(fn: UserFunction, *args: object, **kwargs: object) -> Any:
    try:
        return fn(*args, **kwargs)
    except StopIteration as error:
        # No future can hold one: whoever awaited the thread would wait for ever.
        raise RuntimeError("the function raised StopIteration") from error


async def inline(fn: UserFunction, *args: object) -> Any:
    """Call `fn` on the event loop, for small functions such as routes and gate payloads."""
    result = fn(*args)
    return await result if inspect.isawaitable(result) else result


def is_failure(error: BaseException) -> bool:
    """Tell whether user code failed with `error`, or is to be left at once.

    A cancellation that nobody asked of this task is a failure: the code has awaited something
    that was cancelled, or raised it itself.

    Implements: "Failures".
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and not task.cancelling()
    return isinstance(error, Exception)


async def run_in_order(
    jobs: Sequence[Callable[[], Awaitable[T]]],
    *,
    failed: Callable[[T], bool],
    limit: int | None = None,
) -> list[T | None]:
    """Run jobs side by side so that the first failure is by order, not by time.

    Implements: "Failures".

    When a job fails, those after it are cancelled or not started, those before it are awaited.

    Args:
        jobs: What to run; a job reports its failure in its result and raises nothing.
        failed: Tells whether a result is a failure.
        limit: How many run at once; None sets no cap.

    Returns:
        The results in order; None for a job that was cancelled or not started.
    """
    results: list[T | None] = [None] * len(jobs)
    upcoming = iter(range(len(jobs)))
    first_failure = len(jobs)
    workers: list[asyncio.Task[None]] = []
    job_of: list[int] = []  # the job that each worker is on

    async def work(worker: int) -> None:
        nonlocal first_failure
        while (index := job_of[worker]) < first_failure:
            result = results[index] = await jobs[index]()
            if failed(result):
                first_failure = min(first_failure, index)
                for other, task in enumerate(workers):
                    if job_of[other] > first_failure:
                        task.cancel()
                return
            job_of[worker] = next(upcoming, first_failure)

    stopped: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            for worker in range(len(jobs) if limit is None else min(limit, len(jobs))):
                job_of.append(next(upcoming))
                workers.append(group.create_task(work(worker)))
    except BaseExceptionGroup as group_error:
        stopped = group_error.exceptions[0]
    if stopped is not None:  # no failure, so it leaves the jobs as it would leave a lone one
        raise stopped
    return results
