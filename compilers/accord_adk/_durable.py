"""Which session services outlive the process, and the key that they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.sessions import BaseSessionService, InMemorySessionService

if TYPE_CHECKING:
    from accord.kernel import SealKeys


def check_durable(service: BaseSessionService | None, keys: SealKeys) -> None:
    """Refuse a session service that outlives the process together with a key that does not.

    Raises:
        ConfigError: The message shows how to make a key.
    """
    if service is not None and not isinstance(service, InMemorySessionService):
        keys.require_lasting(type(service).__name__)
