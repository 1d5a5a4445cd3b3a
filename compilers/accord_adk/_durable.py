"""Which session services outlive the process, and the key that they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.sessions import BaseSessionService, InMemorySessionService

from accord import ConfigError

if TYPE_CHECKING:
    from accord.kernel import SealKeys


def check_durable(service: BaseSessionService | None, keys: SealKeys) -> None:
    """Refuse a session service that outlives the process together with a key that does not.

    Raises:
        ConfigError: The message shows how to make a key.
    """
    if service is None or isinstance(service, InMemorySessionService) or not keys.is_ephemeral:
        return
    raise ConfigError(
        f"{type(service).__name__} keeps runs longer than this process, and the key that seals "
        "their checkpoints would be lost with it; make one with "
        '`python -c "import secrets; print(secrets.token_hex(32))"`, set it as '
        "ACCORD_CHECKPOINT_KEY or pass it as checkpoint_key=key.encode()"
    )
