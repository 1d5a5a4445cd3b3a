"""Commands keep the frameworks quiet, and nothing else."""

from __future__ import annotations

import logging
import warnings

import pytest

from accord_parity.quiet import quiet_frameworks


def test_warnings_of_frameworks_are_left_out_and_their_errors_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    framework = logging.getLogger("google_adk.runners")

    with quiet_frameworks():
        framework.warning("an experimental feature")
        framework.error("the session is gone")
        warnings.warn("an experimental class", UserWarning, stacklevel=1)

    assert caplog.messages == ["the session is gone"]


def test_warnings_of_accord_are_shown(caplog: pytest.LogCaptureFixture) -> None:
    with quiet_frameworks():
        logging.getLogger("accord.approval").warning("no port")

    assert caplog.messages == ["no port"]


def test_afterwards_frameworks_may_speak_again(caplog: pytest.LogCaptureFixture) -> None:
    with quiet_frameworks():
        pass

    logging.getLogger("google_adk.runners").warning("an experimental feature")

    assert caplog.messages == ["an experimental feature"]
