"""Flows: the builder, the graph, the superstep and the native runner."""
