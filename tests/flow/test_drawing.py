"""A graph as data and as a Mermaid flowchart."""

from __future__ import annotations

import json

from pydantic import BaseModel

from accord import Flow, Route
from accord_parity.flows.research import flow as research


def test_the_research_flow_as_a_mermaid_flowchart() -> None:
    assert (
        research.validate().to_mermaid()
        == """\
flowchart TB
  node_classify["classify"]
  node_retrieve[["retrieve<br/>Map over plan_steps"]]
  node_merge{{"merge<br/>Join"}}
  node_reason["reason"]
  node_approve["approve<br/>pause"]
  start((start)) --> node_classify
  node_classify --> node_retrieve
  node_retrieve --> node_merge
  node_merge --> node_reason
  node_reason -- "retrieve" --> node_retrieve
  node_reason -- "approve, after 3 loops" --> node_approve
  node_approve --> finish((end))
"""
    )


class Empty(BaseModel):
    pass


def test_a_node_may_be_called_end_and_a_label_may_hold_marks_of_mermaid() -> None:
    flow = (
        Flow("words", state=Empty)
        .node("start", lambda s: None)
        .node("end", lambda s: None)
        .route("start", Route(lambda s: 'a "b" <c>', {'a "b" <c>': "end"}))
        .end("end")
    )

    drawn = flow.validate().to_mermaid()

    assert 'node_start -- "a &quot;b&quot; &lt;c>" --> node_end' in drawn
    assert "node_end --> finish((end))" in drawn


def test_the_research_flow_as_data() -> None:
    graph = research.validate()

    data = graph.to_dict()

    assert json.loads(json.dumps(data)) == data
    assert (data["name"], data["version"], data["start"]) == ("research", "1", "classify")
    assert data["digest"] == graph.digest
    assert data["ends"] == ["approve"]
    assert [node["name"] for node in data["nodes"]] == list(graph.nodes)
    assert data["nodes"][1] == {
        "name": "retrieve",
        "kind": "map",
        "action": {
            "over": "plan_steps",
            "tool": None,
            "tool_from": "tool",
            "into": "evidence",
            "args_from": "args",
            "on_error": "fail",
        },
        "concurrency": 8,
    }
    assert data["nodes"][2]["action"] == {"sources": ["retrieve"], "fn": None}
    assert data["nodes"][3]["prompt"] == "Answer from the evidence only."
    assert data["nodes"][4]["pause"].endswith("<lambda>")
    assert data["edges"]["classify"] == ["retrieve"]
    assert data["routes"]["reason"]["max_loops"] == 3
    assert data["routes"]["reason"]["on_exhausted"] == "approve"
    assert data["state"]["rules"]["rounds"] == "Merge.sum"
    assert data["state"]["rules"]["evidence"] == "Merge.keyed(by='source_id')"
