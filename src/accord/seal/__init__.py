"""The seal: the canonical form of state, the MAC over it, and sealed text for any storage."""

from pydantic import JsonValue

from accord.seal.canonical import canonical_text, encode, tree_text
from accord.seal.classes import class_name, reachable_models
from accord.seal.mac import SealKeys
from accord.seal.restore import decode
from accord.seal.text import pack, unpack

__all__ = [
    "JsonValue",
    "SealKeys",
    "canonical_text",
    "class_name",
    "decode",
    "encode",
    "pack",
    "reachable_models",
    "tree_text",
    "unpack",
]
