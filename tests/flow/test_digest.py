"""The digest: what the graph does changes it, in whatever process; nothing else does."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, List, Literal, NewType, Optional, TypeVar, Union  # noqa: UP035

import pytest
from pydantic import AfterValidator, BaseModel, Field, create_model
from typing_extensions import TypeAliasType

from accord.flow._digest import graph_digest, qualified_name
from accord.flow.actions import Join, Map, Route
from accord.flow.spec import Flow
from accord.flow.state import Merge

PINNED = """
from enum import Enum
from typing import Annotated, Any, Literal, Optional
from pydantic import AfterValidator, BaseModel, Field
from accord import Flow, Join, Map, Merge, Route

class Colour(Enum):
    RED = object()
    BLUE = object()

class Hit(BaseModel):
    source: str

def checked(value: str) -> str:
    return value

class State(BaseModel):
    question: str
    steps: list[dict[str, Any]] = []
    hits: Annotated[list[Hit], Merge.keyed(by="source")] = []
    rounds: Annotated[int, Merge.sum] = 0
    colour: Optional[Literal[Colour.RED, Colour.BLUE]] = None
    words: list[Annotated[str, AfterValidator(checked)]] = []

def work(state: State) -> None: ...
def payload(state: State) -> dict[str, str]: return {}
def pick(state: State) -> str: return "done"

def build(order: int):
    flow = Flow("pinned", state=State).start("plan")
    targets = dict([("again", "plan"), ("done", "done")][::order])
    parts = [
        lambda: flow.node("plan", work),
        lambda: flow.node("search", Map("steps", tool_from="tool", into="hits"), pause=payload),
        lambda: flow.node("other", work),
        lambda: flow.node("merge", Join(["search", "other"][::order], work)),
        lambda: flow.edge("plan", ["search", "other"][::order]),
        lambda: flow.edge("search", "merge"),
        lambda: flow.edge("other", "merge"),
        lambda: flow.node("done", work).end("done", "stop"),
        lambda: flow.node("stop", work),
        lambda: flow.route("merge", Route(pick, targets), max_loops=3, on_exhausted="stop"),
    ]
    for part in parts[::order]:
        part()
    return flow.validate()
"""


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_the_digest_is_the_same_in_every_process_and_release(
    tmp_path: Path, seed: str, order: int
) -> None:
    # A checkpoint of an earlier release resumes only while this stays the same.
    (tmp_path / "pinned.py").write_text(PINNED)
    path = os.pathsep.join([str(tmp_path), *sys.path])

    shown = subprocess.run(
        [sys.executable, "-c", f"import pinned; print(pinned.build({order}).digest)"],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert shown.strip() == "362d7d1bf33bc8895499456b1d985ae0aded3604712d0e8b14edeea2502203af"


class Hit(BaseModel):
    source: str = ""


class Work(BaseModel):
    steps: list[str] = Field(default_factory=list)
    found: Annotated[list[Hit], Merge.keyed(by="source")] = Field(default_factory=list)
    other: Annotated[list[Hit], Merge.append] = Field(default_factory=list)


def work(state: Work) -> None:
    return None


def other_work(state: Work) -> None:
    return None


def payload(state: Work) -> dict[str, str]:
    return {}


def other_payload(state: Work) -> dict[str, str]:
    return {}


def pick(state: Work) -> str:
    return "on"


def other_pick(state: Work) -> str:
    return "on"


def digest(
    *,
    name: str = "flow",
    version: str = "1",
    state: type[BaseModel] = Work,
    first: Callable[..., Any] = work,
    pause: Callable[[Any], Any] | None = payload,
    prompt: str | None = None,
    mapping: Map | None = None,
    concurrency: int | None = None,
    join: Join | Callable[..., Any] | None = None,
    extra_edges: tuple[tuple[str, str], ...] = (),
    route_fn: Callable[[Any], str] = pick,
    targets: dict[str, str] | None = None,
    max_loops: int | None = 2,
    on_exhausted: str | None = "end",
    extra_node: str = "spare",
) -> str:
    """Return the digest of one graph, of which every part can be changed."""
    flow = (
        Flow(name, state=state, version=version)
        .node("first", first, pause=pause, prompt=prompt)
        .node("map", mapping or Map("steps", tool="search", into="found"), concurrency=concurrency)
        .node(extra_node, work)
        .node("join", join or Join(["map", extra_node], work))
        .node("end", work)
        .edge("first", ["map", extra_node])
        .edge("map", "join")
        .edge(extra_node, "join")
        .route(
            "join",
            Route(route_fn, targets or {"on": "end", "back": "first"}),
            max_loops=max_loops,
            on_exhausted=on_exhausted,
        )
        .end("end")
    )
    for edge in extra_edges:
        flow.edge(*edge)
    return flow.validate().digest


class Renamed(BaseModel):
    steps: list[str] = Field(default_factory=list)
    found: Annotated[list[Hit], Merge.keyed(by="source")] = Field(default_factory=list)
    other: Annotated[list[Hit], Merge.append] = Field(default_factory=list)


def variant(**fields: Any) -> type[BaseModel]:
    """Return a model that goes by the name of `Work`, with some fields changed or added."""
    given = {name: (info.rebuild_annotation(), info) for name, info in Work.model_fields.items()}
    return create_model("Work", __module__=Work.__module__, **(given | fields))


def test_a_model_of_the_same_name_and_fields_has_the_same_digest() -> None:
    assert digest(state=variant()) == digest()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"name": "flow2"}, id="flow name"),
        pytest.param({"state": Renamed}, id="model name"),
        pytest.param({"state": variant(added=(int, 0))}, id="added field"),
        pytest.param({"state": variant(steps=(list[int], []))}, id="field type"),
        pytest.param({"state": variant(other=(list[Hit], []))}, id="field rule"),
        pytest.param(
            {"state": variant(found=(Annotated[list[Hit], Merge.keyed(by="other")], []))},
            id="field rule option",
        ),
        pytest.param({"first": other_work}, id="action function"),
        pytest.param({"pause": other_payload}, id="gate function"),
        pytest.param({"pause": None}, id="no gate"),
        pytest.param({"mapping": Map("found", tool="search", into="found")}, id="map over"),
        pytest.param({"mapping": Map("steps", tool="search", into="other")}, id="map into"),
        pytest.param({"mapping": Map("steps", tool="find", into="found")}, id="map tool"),
        pytest.param(
            {"mapping": Map("steps", tool_from="search", into="found")}, id="map tool_from"
        ),
        pytest.param(
            {"mapping": Map("steps", tool="search", into="found", args_from="with")},
            id="map args_from",
        ),
        pytest.param(
            {"mapping": Map("steps", tool="search", into="found", on_error="skip")},
            id="map on_error",
        ),
        pytest.param({"join": Join(["map"], work)}, id="join source"),
        pytest.param({"join": Join(["map", "spare"], other_work)}, id="join function"),
        pytest.param({"join": Join(["map", "spare"])}, id="no join function"),
        pytest.param({"join": work}, id="function in place of the join"),
        pytest.param({"extra_edges": (("first", "end"),)}, id="edge"),
        pytest.param({"route_fn": other_pick}, id="route function"),
        pytest.param({"targets": {"go": "end", "back": "first"}}, id="label"),
        pytest.param({"targets": {"on": "end", "back": "map"}}, id="target"),
        pytest.param({"max_loops": 3}, id="max_loops"),
        pytest.param({"on_exhausted": None}, id="no on_exhausted"),
        pytest.param({"on_exhausted": "map"}, id="on_exhausted"),
        pytest.param({"extra_node": "renamed"}, id="node name"),
    ],
)
def test_what_the_graph_does_changes_the_digest(change: dict[str, Any]) -> None:
    assert digest(**change) != digest()


def test_start_and_ends_change_the_digest() -> None:
    flow = Flow("flow", state=Work).node("a", work).node("b", work).edge("a", "b").end("b")
    graph = flow.validate()

    digests = {
        graph.digest,
        graph_digest(replace(graph, start="b")),
        graph_digest(replace(graph, ends=frozenset({"a", "b"}))),
        graph_digest(replace(graph, ends=frozenset())),
    }

    assert len(digests) == 4
    assert all(len(digest) == 64 and set(digest) <= set("0123456789abcdef") for digest in digests)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"version": "2"}, id="version"),
        pytest.param({"prompt": "Answer."}, id="prompt"),
        pytest.param({"concurrency": 4}, id="concurrency"),
        pytest.param({"join": Join(["spare", "map", "map"], work)}, id="order of join sources"),
        pytest.param({"targets": {"back": "first", "on": "end"}}, id="order of targets"),
        pytest.param({"extra_edges": (("map", "join"),)}, id="edge given twice"),
        pytest.param({"first": functools.partial(work)}, id="partial"),
    ],
)
def test_what_the_graph_does_not_do_leaves_the_digest(change: dict[str, Any]) -> None:
    assert digest(**change) == digest()


def test_the_digest_is_computed_once() -> None:
    graph = Flow("flow", state=Work).node("a", work).end("a").validate()

    assert graph.digest is graph.digest == graph_digest(graph)


# --- names of functions ----------------------------------------------------------------------


class Worker:
    def __call__(self, state: Work) -> None:
        return None

    def method(self, state: Work) -> None:
        return None


class Quiet(Worker):
    pass


class Unnamed(Worker):
    __module__ = None  # type: ignore[assignment] # what some extension modules do


def decorated(state: Work) -> None:
    return functools.wraps(work)(lambda state: None)(state)


def test_what_a_function_is_called() -> None:
    named = {
        "work": work,
        "Worker": Worker(),
        "Worker.method": Worker().method,
        "Quiet": Quiet(),
        "test_what_a_function_is_called.<locals>.<lambda>": lambda state: None,
    }

    assert {name: qualified_name(fn) for name, fn in named.items()} == {
        name: f"{__name__}:{name}" for name in named
    }
    assert qualified_name(Quiet().method) == f"{__name__}:Worker.method"
    assert qualified_name(Worker) == qualified_name(Worker())
    assert qualified_name(functools.wraps(work)(decorated)) == f"{__name__}:work"
    assert qualified_name(len) == "builtins:len"


def test_a_partial_goes_by_its_function() -> None:
    inner = functools.partial(work)
    inner.extra = 1  # type: ignore[attr-defined] # an own attribute keeps partials nested

    assert qualified_name(functools.partial(inner)) == f"{__name__}:work"
    assert qualified_name(functools.partial(Worker())) == f"{__name__}:Worker"


def test_what_has_no_module_counts_as_built_in() -> None:
    assert qualified_name([].append) == "builtins:list.append"
    assert qualified_name(Unnamed()) == "builtins:Unnamed"


# --- annotations -----------------------------------------------------------------------------


class Colour(Enum):
    RED = "red"
    BLUE = "blue"

    def __repr__(self) -> str:
        return "a colour"


class Shade(Enum):
    RED = "red"


Name = NewType("Name", str)
Title = NewType("Title", str)
Alias = TypeAliasType("Alias", list[int])
Other = TypeAliasType("Other", list[int])
T = TypeVar("T")


def annotated(annotation: Any) -> str:
    """Return the digest of a graph whose state has a field of this annotation."""
    model = create_model("Model", __module__=__name__, field=(annotation, None))
    return Flow("flow", state=model).node("a", work).end("a").validate().digest


@pytest.mark.parametrize(
    ("one", "same"),
    [
        # The older spellings are the point.
        pytest.param(Optional[int], int | None, id="Optional"),  # noqa: UP045
        pytest.param(List[int], list[int], id="List"),  # noqa: UP006
        pytest.param(Union[int, str], Union[str, int], id="Union"),  # noqa: UP007
        pytest.param(list[int | str], list[str | int], id="order of a union"),
        pytest.param(Literal["a", 1, None], Literal[None, 1, "a"], id="order of a literal"),
        pytest.param(list[Annotated[int, AfterValidator(lambda v: v)]], list[int], id="validator"),
        pytest.param(Annotated[int, Field(ge=1)], int, id="constraint"),
    ],
)
def test_annotations_that_mean_the_same_count_the_same(one: object, same: object) -> None:
    assert annotated(one) == annotated(same)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (int, str),
        (int, int | None),
        (list, list[int]),
        (list[int], set[int]),
        (list[list[int]], list[list[str]]),
        (tuple[int, str], tuple[str, int]),
        (tuple[int, ...], tuple[int]),
        (Literal["a"], Literal["b"]),
        (Literal[1], Literal["1"]),
        (Literal[True], Literal[1]),
        (Literal[Colour.RED], Literal[Colour.BLUE]),
        (Literal[Colour.RED], Literal[Shade.RED]),
        (Callable[[int], str], Callable[[str], str]),
        (Callable[[int], str], Callable[[int, str], str]),
        (Callable[..., str], Callable[[], str]),
        (Hit, Colour),
        (Any, object),
        (Name, Title),
        (Alias, Other),
        (type[Hit], type[Work]),
        (T, Any),
    ],
    ids=repr,
)
def test_annotations_that_differ_count_as_different(one: object, other: object) -> None:
    assert annotated(one) != annotated(other)
