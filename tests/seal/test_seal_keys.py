"""The keys of the seal: which are taken, what they sign, and that they stay hidden."""

from __future__ import annotations

import hmac
import os
import subprocess
import sys
from hashlib import sha256
from typing import Any

import pytest

from accord.errors import ConfigError
from accord.seal import SealKeys

OLD = b"old key, 16 byte"
NEW = b"new key, 16 byte"


# --- which keys are taken --------------------------------------------------------------------


def test_one_key_signs_and_verifies() -> None:
    mac = SealKeys.resolve(NEW).sign("checkpoint", "text")

    assert SealKeys.resolve(NEW).verify("checkpoint", "text", mac)
    assert not SealKeys.resolve(OLD).verify("checkpoint", "text", mac)


@pytest.mark.parametrize("given", [[NEW, OLD], (NEW, OLD)], ids=["list", "tuple"])
def test_of_several_keys_the_first_signs_and_all_verify(given: list[bytes]) -> None:
    keys = SealKeys.resolve(given)
    old_mac, new_mac = SealKeys([OLD]).sign("p", "t"), SealKeys([NEW]).sign("p", "t")

    assert keys.sign("p", "t") == new_mac
    assert keys.verify("p", "t", new_mac)
    assert keys.verify("p", "t", old_mac)


def test_a_key_that_was_taken_out_of_the_list_no_longer_verifies() -> None:
    mac = SealKeys.resolve([OLD]).sign("p", "t")

    assert not SealKeys.resolve([NEW]).verify("p", "t", mac)


def test_the_environment_gives_the_key_where_none_is_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACCORD_CHECKPOINT_KEY", NEW.decode())

    keys = SealKeys.resolve(None)

    assert keys.sign("p", "t") == SealKeys([NEW]).sign("p", "t")
    assert not keys.is_ephemeral


def test_a_passed_key_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCORD_CHECKPOINT_KEY", OLD.decode())

    keys = SealKeys.resolve(NEW)

    assert keys.sign("p", "t") == SealKeys([NEW]).sign("p", "t")


def test_the_key_of_the_environment_is_its_utf_8_bytes() -> None:
    keys = SealKeys.resolve(None, {"ACCORD_CHECKPOINT_KEY": "sixteen é bytes"})

    assert keys.sign("p", "t") == SealKeys(["sixteen é bytes".encode()]).sign("p", "t")


def test_an_environment_that_is_no_utf_8_gives_a_key_all_the_same() -> None:
    undecodable = b"\xff" * 6

    keys = SealKeys.resolve(
        None, {"ACCORD_CHECKPOINT_KEY": undecodable.decode("utf-8", "surrogateescape")}
    )

    assert keys.verify("p", "t", keys.sign("p", "t"))


def test_without_a_key_every_runner_of_the_process_shares_a_random_one() -> None:
    one, other = SealKeys.resolve(None, {}), SealKeys.resolve(None, {})

    assert one.is_ephemeral
    assert other.verify("p", "t", one.sign("p", "t"))


def test_another_process_has_another_random_key() -> None:
    mac = subprocess.run(
        [
            sys.executable,
            "-c",
            "from accord.seal import SealKeys; print(SealKeys.resolve(None, {}).sign('p', 't'))",
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()

    assert len(mac) == 64
    assert not SealKeys.resolve(None, {}).verify("p", "t", mac)


def test_a_passed_key_is_not_ephemeral() -> None:
    assert not SealKeys.resolve(NEW).is_ephemeral


# --- which keys are refused ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (NEW[:-1], "checkpoint_key has only 15 bytes"),
        (b"", "checkpoint_key has only 0 bytes"),
        ([NEW, OLD[:-1]], r"checkpoint_key\[1\] has only 15 bytes"),
        ([NEW, OLD.decode()], r"checkpoint_key\[1\] is str, not bytes"),
        ([], "checkpoint_key is an empty list"),
        (NEW.decode(), "checkpoint_key is str, not bytes"),
        (bytearray(NEW), "checkpoint_key is bytearray, not bytes"),
        (memoryview(NEW), "checkpoint_key is memoryview, not bytes"),
        ({NEW}, "checkpoint_key is set, not bytes"),
        (16, "checkpoint_key is int, not bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_key_is_refused_with_a_way_to_make_one(given: Any, reason: str) -> None:
    with pytest.raises(ConfigError, match=f"{reason}.*secrets.token_hex.*ACCORD_CHECKPOINT_KEY"):
        SealKeys.resolve(given)


@pytest.mark.parametrize("text", ["", NEW.decode()[:-1]], ids=["empty", "short"])
def test_a_short_key_in_the_environment_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(ConfigError, match=f"ACCORD_CHECKPOINT_KEY has only {len(text)} bytes"):
        SealKeys.resolve(None, {"ACCORD_CHECKPOINT_KEY": text})


# --- a key stays hidden ----------------------------------------------------------------------


def test_a_repr_shows_how_many_keys_there_are_and_none_of_them() -> None:
    keys = SealKeys.resolve([NEW, OLD])

    assert repr(keys) == str(keys) == "SealKeys(<2 hidden>, is_ephemeral=False)"


def test_a_refused_key_is_not_in_the_message() -> None:
    with pytest.raises(ConfigError) as refused:
        SealKeys.resolve(b"half of a key")

    assert "half of a key" not in str(refused.value)


# --- what a MAC covers -----------------------------------------------------------------------


def test_a_mac_is_the_hmac_sha256_of_format_purpose_and_text() -> None:
    # Sealed checkpoints outlive a release, so this must not change.
    expected = hmac.new(NEW, b"accord-seal:1:10:checkpointtext", sha256).hexdigest()

    assert SealKeys([NEW]).sign("checkpoint", "text") == expected


def test_a_long_text_is_signed_as_a_whole() -> None:
    text = "é\ud83d" * 70_000
    covered = b"accord-seal:1:1:p" + text.encode("utf-8", "surrogatepass")

    assert SealKeys([NEW]).sign("p", text) == hmac.new(NEW, covered, sha256).hexdigest()


@pytest.mark.parametrize("place", [0, 65_535, 65_536, 139_999])
def test_one_changed_letter_of_a_long_text_changes_the_mac(place: int) -> None:
    keys, text = SealKeys([NEW]), "a" * 140_000

    changed = f"{text[:place]}b{text[place + 1 :]}"

    assert not keys.verify("p", changed, keys.sign("p", text))


def test_a_mac_is_bound_to_its_purpose() -> None:
    keys = SealKeys([NEW])

    assert not keys.verify("answer", "text", keys.sign("checkpoint", "text"))


def test_a_mac_is_bound_to_its_format() -> None:
    keys = SealKeys([NEW])
    mac = keys.sign("p", "text", version=2)

    assert keys.verify("p", "text", mac, version=2)
    assert not keys.verify("p", "text", mac)


def test_a_letter_cannot_move_from_the_text_to_the_purpose() -> None:
    keys = SealKeys([NEW])

    assert not keys.verify("pt", "ext", keys.sign("p", "text"))


def test_a_purpose_may_hold_any_text() -> None:
    keys = SealKeys([NEW])

    assert keys.verify("é:\ud800", "t", keys.sign("é:\ud800", "t"))


@pytest.mark.parametrize(
    "change",
    [str.upper, str.encode, lambda mac: mac[:-1], lambda mac: f"\ud800{mac[1:]}", lambda mac: None],
    ids=["upper case", "bytes", "shorter", "surrogate", "none"],
)
def test_what_is_not_the_mac_to_the_letter_does_not_verify(change: Any) -> None:
    keys = SealKeys([NEW])
    mac = keys.sign("p", "text")

    assert not keys.verify("p", "text", change(mac))
