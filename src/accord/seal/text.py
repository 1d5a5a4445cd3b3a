"""Sealed text: a JSON tree with its purpose, format version and MAC, for any storage."""

from __future__ import annotations

import json
import re

from pydantic import JsonValue

from accord.errors import FlowError
from accord.seal.canonical import tree_text
from accord.seal.mac import FORMAT, SealKeys

_HEAD = re.compile(r'\{"accord":([1-9][0-9]{0,8}),"body":')
_MAC = re.compile(r',"mac":"([0-9a-f]{64})')
_MAC_LENGTH = len(',"mac":"') + 64


def pack(purpose: str, body: JsonValue, keys: SealKeys) -> str:
    """Seal a tree as JSON text: an object of `accord` (the format), `body`, `mac`, `purpose`.

    Implements: "Storing checkpoints".

    Args:
        purpose: What the text is for, such as `checkpoint`.
        body: What to seal.
        keys: The first of them signs.

    Raises:
        FlowError: With code `state-not-sealable` if the body is no JSON.
    """
    # A dict is to come back in its order, which a node may iterate over.
    text = tree_text(body, keeps_order=True)
    mac = keys.sign(purpose, text)
    return f'{{"accord":{FORMAT},"body":{text},"mac":"{mac}{_tail(purpose)}'


def unpack(purpose: str, text: object, keys: SealKeys) -> JsonValue:
    """Return the body of sealed text after all of the text has been checked.

    Implements: "Storing checkpoints".

    Args:
        purpose: What the text must be for.
        text: What `pack` returned, to the letter; anything else is refused.
        keys: Any of them may have signed.

    Raises:
        FlowError: With code `checkpoint-tampered`, or with `checkpoint-newer-format` if a later
            release of Accord sealed it with one of these keys.
    """
    # The frame is fixed to the letter and the MAC covers the letters in between, so the JSON
    # parser sees only what a holder of a key has written.
    tail = _tail(purpose)
    if not isinstance(text, str) or (head := _HEAD.match(text)) is None:
        raise _tampered("it is no sealed text", keys)
    if not text.endswith(tail):
        raise _tampered(f"it is incomplete, or not sealed as {purpose!r}", keys)
    end = len(text) - len(tail) - _MAC_LENGTH
    mac = _MAC.match(text, max(end, 0))
    if end < head.end() or mac is None:
        raise _tampered("it has no MAC", keys)
    body, version = text[head.end() : end], int(head[1])
    if not keys.verify(purpose, body, mac[1], version=version):
        raise _tampered("it was changed, or sealed with another key", keys)
    if version != FORMAT:
        raise FlowError(
            f"the checkpoint has format {version}, and this release of Accord reads up to "
            f"{FORMAT}; nothing was run. Upgrade Accord here to resume it",
            code="checkpoint-newer-format",
        )
    try:
        tree: JsonValue = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _tampered(f"its body is no readable JSON ({error})", keys) from error
    return tree


def _tail(purpose: str) -> str:
    return f'","purpose":{json.dumps(purpose)}}}'


def _tampered(reason: str, keys: SealKeys) -> FlowError:
    key = (
        "this process has a random key and reads only what it sealed itself: set the same "
        "ACCORD_CHECKPOINT_KEY (or checkpoint_key) in both"
        if keys.is_ephemeral
        else "ACCORD_CHECKPOINT_KEY (or checkpoint_key) is the one it was sealed with"
    )
    return FlowError(
        f"the sealed checkpoint is refused: {reason}; nothing was run. Check that the text is "
        f"whole and unchanged, and the key: {key}",
        code="checkpoint-tampered",
    )
