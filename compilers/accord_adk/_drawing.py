"""The graph of a flow as ADK edges, for the eye and for ADK's tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from google.adk.workflow import START, BaseNode, Edge

if TYPE_CHECKING:
    from accord import FlowGraph


def flow_edges(graph: FlowGraph, nodes: Mapping[str, BaseNode]) -> list[Edge]:
    """Return the edges of a flow: start, static edges, and routes with their labels.

    Args:
        graph: The flow.
        nodes: What each node is drawn as.
    """
    edges = [Edge(from_node=START, to_node=nodes[graph.start])]
    for node, successors in graph.edges.items():
        edges += [Edge(from_node=nodes[node], to_node=nodes[each]) for each in successors]
    for node, route in graph.routes.items():
        edges += [
            Edge(from_node=nodes[node], to_node=nodes[target], route=list(labels))
            for target, labels in route.labels_by_target().items()
        ]
    return edges
