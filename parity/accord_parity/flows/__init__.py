"""Flows that the demo and the scenarios run."""
