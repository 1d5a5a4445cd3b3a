"""Keeping the frameworks' chatter out of the terminal, and their errors in it."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_FRAMEWORK_LOGGERS = ("google_adk", "google_genai", "langgraph", "langchain_core", "opentelemetry")


@contextmanager
def quiet_frameworks() -> Iterator[None]:
    """Show of the frameworks' logs the errors alone, and none of their warnings.

    Logs of Accord itself are left as they are.
    """
    loggers = [logging.getLogger(name) for name in _FRAMEWORK_LOGGERS]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
