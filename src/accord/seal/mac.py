"""The keys of the seal: where they come from, and the MAC that they make."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Self

from accord.errors import ConfigError

FORMAT = 1
"""The version of the sealed format that this release writes."""

_VARIABLE = "ACCORD_CHECKPOINT_KEY"
_MIN_BYTES = 16
_PIECE = 65_536
_HOW_TO = (
    f"a checkpoint key is at least {_MIN_BYTES} bytes; make one with "
    f'`python -c "import secrets; print(secrets.token_hex(32))"`, set it as {_VARIABLE} or pass '
    "it as checkpoint_key=key.encode(), the same wherever a checkpoint is resumed"
)
# One for the process, so that what one runner seals, another one here can read.
_PROCESS_KEY = secrets.token_bytes(32)


class SealKeys:
    """The keys that sign and verify: the first one signs, all verify.

    Implements: "Checkpoints".

    Attributes:
        is_ephemeral: Whether the key is this process's own, so that no other process can verify.
    """

    __slots__ = ("_keys", "is_ephemeral")

    def __init__(self, keys: Sequence[bytes], *, is_ephemeral: bool = False) -> None:
        self._keys = tuple(keys)
        self.is_ephemeral = is_ephemeral

    @classmethod
    def resolve(
        cls,
        checkpoint_key: bytes | Sequence[bytes] | None,
        environ: Mapping[str, str] = os.environ,
    ) -> Self:
        """Choose the keys: those given, else the environment's, else the process's random one.

        Implements: "Checkpoints".

        Args:
            checkpoint_key: One key, or several, of at least 16 bytes each.
            environ: Where `ACCORD_CHECKPOINT_KEY` is looked up; its UTF-8 bytes are the key.

        Raises:
            ConfigError: If a key is too short or no bytes, or the list is empty.
        """
        if checkpoint_key is not None:
            return cls(_checked_keys(checkpoint_key))
        text = environ.get(_VARIABLE)
        if text is None:
            return cls([_PROCESS_KEY], is_ephemeral=True)
        return cls([_checked(text.encode("utf-8", "surrogatepass"), _VARIABLE)])

    def require_lasting(self, keeper: str) -> None:
        """Refuse a key that is lost with this process, where what it seals is not.

        Implements: "Checkpoints".

        Args:
            keeper: What keeps the sealed text, for the message.

        Raises:
            ConfigError: If the key is this process's own.
        """
        if self.is_ephemeral:
            raise ConfigError(
                f"{keeper} keeps runs longer than this process, and the key that seals their "
                f"checkpoints would be lost with it; {_HOW_TO}"
            )

    def sign(self, purpose: str, text: str, *, version: int = FORMAT) -> str:
        """Return the MAC of a text as 64 hexadecimal digits.

        Implements: "Checkpoints".

        Args:
            purpose: What the text is for; a MAC for one purpose does not hold for another.
            text: What to sign.
            version: The version of the sealed format; the MAC is bound to it.
        """
        return _mac(self._keys[0], purpose, text, version)

    def verify(self, purpose: str, text: str, mac: object, *, version: int = FORMAT) -> bool:
        """Tell, in constant time, whether one of the keys made this MAC.

        Implements: "Checkpoints".

        Args:
            purpose: What the text is for.
            text: What was signed.
            mac: What `sign` returned; anything but text is False.
            version: The version of the sealed format that the text claims.
        """
        if not isinstance(mac, str):
            return False
        given = mac.encode("utf-8", "surrogatepass")
        return any(
            hmac.compare_digest(_mac(key, purpose, text, version).encode(), given)
            for key in self._keys
        )

    def __repr__(self) -> str:
        return f"SealKeys(<{len(self._keys)} hidden>, is_ephemeral={self.is_ephemeral})"


def _checked_keys(given: object) -> list[bytes]:
    if isinstance(given, bytes):
        return [_checked(given, "checkpoint_key")]
    if not isinstance(given, Sequence) or isinstance(given, str | bytearray | memoryview):
        raise ConfigError(
            f"checkpoint_key is {type(given).__name__}, not bytes or a list of bytes; {_HOW_TO}"
        )
    if not given:
        raise ConfigError(f"checkpoint_key is an empty list; {_HOW_TO}")
    return [_checked(key, f"checkpoint_key[{index}]") for index, key in enumerate(given)]


def _checked(key: object, name: str) -> bytes:
    if not isinstance(key, bytes):
        raise ConfigError(f"{name} is {type(key).__name__}, not bytes; {_HOW_TO}")
    if len(key) < _MIN_BYTES:
        raise ConfigError(f"{name} has only {len(key)} bytes; {_HOW_TO}")
    return key


def _mac(key: bytes, purpose: str, text: str, version: int) -> str:
    label = purpose.encode("utf-8", "surrogatepass")
    # The length in front of the purpose keeps it apart from the text, whatever either holds.
    mac = hmac.new(key, f"accord-seal:{version}:{len(label)}:".encode(), sha256)
    mac.update(label)
    # In pieces, because a second copy of a large text costs more than its hash.
    for start in range(0, len(text), _PIECE):
        mac.update(text[start : start + _PIECE].encode("utf-8", "surrogatepass"))
    return mac.hexdigest()
