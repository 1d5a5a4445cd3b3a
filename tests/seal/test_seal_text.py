"""Sealed text: what was packed comes back, and anything else is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accord.errors import FlowError
from accord.seal import JsonValue, SealKeys, pack, unpack
from accord.seal.mac import FORMAT

OLD = SealKeys([b"old key, 16 byte"])
NEW = SealKeys([b"new key, 16 byte"])
ROTATED = SealKeys([b"new key, 16 byte", b"old key, 16 byte"])

BODY: JsonValue = {"state": {"question": "why?", "rounds": [1, 2.5, None, True]}}
TEXT = pack("checkpoint", BODY, NEW)


def refusal(text: object, keys: SealKeys = NEW, purpose: str = "checkpoint") -> FlowError:
    with pytest.raises(FlowError) as refused:
        unpack(purpose, text, keys)
    return refused.value


# --- there and back --------------------------------------------------------------------------


def test_what_was_packed_is_unpacked() -> None:
    assert unpack("checkpoint", TEXT, NEW) == BODY


def test_sealed_text_is_ascii_json_with_its_format_and_purpose() -> None:
    frame = json.loads(pack('an "odd" pürpose', ["é"], NEW))

    assert frame == {
        "accord": FORMAT,
        "body": ["é"],
        "mac": NEW.sign('an "odd" pürpose', '["\\u00e9"]'),
        "purpose": 'an "odd" pürpose',
    }
    assert pack('an "odd" pürpose', ["é"], NEW).isascii()


def test_a_purpose_of_any_text_is_read_back() -> None:
    text = pack('an "odd" pürpose', ["é"], NEW)

    assert unpack('an "odd" pürpose', text, NEW) == ["é"]


def test_stored_text_of_this_format_stays_readable() -> None:
    # Written out, because stored checkpoints outlive the release that sealed them.
    text = (
        '{"accord":1,"body":{"b":1,"a":["\\u00e9",2.5]},"mac":'
        '"b4a2230d57054c7b0b63634a34bf6cc06f3f240a18db830972cab4aac379f1ad","purpose":"checkpoint"}'
    )

    assert unpack("checkpoint", text, NEW) == {"b": 1, "a": ["é", 2.5]}


def test_the_keys_of_a_dict_come_back_in_their_order() -> None:
    body: JsonValue = {"b": 1, "a": {"z": 1, "y": 2}}

    restored = unpack("p", pack("p", body, NEW), NEW)

    assert json.dumps(restored) == json.dumps(body)


@pytest.mark.parametrize("body", [{1}, float("nan"), [b"bytes"]], ids=["set", "nan", "bytes"])
def test_what_is_no_json_is_not_packed(body: Any) -> None:
    with pytest.raises(
        FlowError, match=r"a JSON tree cannot be sealed: .*encode its values"
    ) as got:
        pack("p", body, NEW)

    assert got.value.code == "state-not-sealable"


# --- every change is refused -----------------------------------------------------------------


def test_no_single_byte_can_be_changed() -> None:
    accepted, codes = [], set()
    for place, letter in enumerate(TEXT):
        for changed in map(chr, range(256)):
            if changed == letter:
                continue
            try:
                unpack("checkpoint", f"{TEXT[:place]}{changed}{TEXT[place + 1 :]}", NEW)
            except FlowError as refused:
                codes.add(refused.code)
            else:
                accepted.append((place, changed))

    assert accepted == []
    assert codes == {"checkpoint-tampered"}


def test_no_byte_can_be_left_out() -> None:
    for place in range(len(TEXT)):
        assert refusal(TEXT[:place] + TEXT[place + 1 :]).code == "checkpoint-tampered"


def test_no_truncation_is_read() -> None:
    for length in range(len(TEXT)):
        assert refusal(TEXT[:length]).code == "checkpoint-tampered"
        assert refusal(TEXT[length + 1 :]).code == "checkpoint-tampered"


@pytest.mark.parametrize("added", [" ", "\n", "}", "\x00", TEXT], ids=repr)
def test_nothing_can_be_added_before_or_after(added: str) -> None:
    assert refusal(TEXT + added).code == "checkpoint-tampered"
    assert refusal(added + TEXT).code == "checkpoint-tampered"


def test_the_same_json_in_other_letters_is_refused() -> None:
    assert refusal(json.dumps(json.loads(TEXT))).code == "checkpoint-tampered"


@pytest.mark.parametrize("digit", ["\u0661", "\uff11"], ids=["arabic", "fullwidth"])
def test_a_digit_of_another_script_is_no_format(digit: str) -> None:
    assert "it is no sealed text" in str(refusal(TEXT.replace('"accord":1', f'"accord":{digit}')))


@pytest.mark.parametrize("given", [None, 1, TEXT.encode(), {}], ids=["none", "int", "bytes", "{}"])
def test_what_is_no_text_is_refused(given: object) -> None:
    assert "it is no sealed text" in str(refusal(given))


def test_a_body_is_not_read_before_its_mac_holds() -> None:
    unreadable = TEXT.replace('{"state"', '{"state', 1)

    assert "it was changed" in str(refusal(unreadable))


# --- keys and purposes -----------------------------------------------------------------------


def test_another_key_is_refused() -> None:
    error = refusal(TEXT, OLD)

    assert error.code == "checkpoint-tampered"
    assert "sealed with another key; nothing was run" in str(error)
    assert "ACCORD_CHECKPOINT_KEY (or checkpoint_key) is the one it was sealed with" in str(error)


def test_a_process_with_a_random_key_says_that_it_has_one() -> None:
    error = refusal(TEXT, SealKeys.resolve(None, {}))

    assert "this process has a random key and reads only what it sealed itself" in str(error)


def test_after_a_rotation_old_text_is_read_and_new_text_needs_the_new_key() -> None:
    sealed_before, sealed_after = pack("p", [1], OLD), pack("p", [1], ROTATED)

    assert unpack("p", sealed_before, ROTATED) == [1]
    assert unpack("p", sealed_after, NEW) == [1]
    assert refusal(sealed_after, OLD, "p").code == "checkpoint-tampered"


def test_text_for_another_purpose_is_refused() -> None:
    error = refusal(TEXT, purpose="answer")

    assert error.code == "checkpoint-tampered"
    assert "not sealed as 'answer'" in str(error)


def test_text_whose_purpose_was_rewritten_is_refused() -> None:
    rewritten = TEXT.replace('"purpose":"checkpoint"', '"purpose":"answer"')

    assert "it was changed" in str(refusal(rewritten, purpose="answer"))


# --- formats ---------------------------------------------------------------------------------


def test_a_newer_format_is_named_when_one_of_the_keys_sealed_it() -> None:
    mac = NEW.sign("p", "[1]", version=2)

    error = refusal(f'{{"accord":2,"body":[1],"mac":"{mac}","purpose":"p"}}', NEW, "p")

    assert error.code == "checkpoint-newer-format"
    assert "has format 2, and this release of Accord reads up to 1; nothing was run" in str(error)


def test_a_newer_format_sealed_with_another_key_is_refused_as_tampered() -> None:
    mac = OLD.sign("p", "[1]", version=2)

    error = refusal(f'{{"accord":2,"body":[1],"mac":"{mac}","purpose":"p"}}', NEW, "p")

    assert error.code == "checkpoint-tampered"


def test_text_that_only_claims_a_newer_format_is_refused_as_tampered() -> None:
    claimed = TEXT.replace('"accord":1', '"accord":2')

    assert refusal(claimed).code == "checkpoint-tampered"


@pytest.mark.parametrize("version", ["0", "01", "-1", "1.0", "9999999999"])
def test_what_is_no_format_is_no_sealed_text(version: str) -> None:
    assert "no sealed text" in str(refusal(TEXT.replace('"accord":1', f'"accord":{version}')))


# --- a frame that does not fit ---------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '{"accord":1,"body":","purpose":"p"}',
        '{"accord":1,"body":[1],"mac":"","purpose":"p"}',
        f'{{"accord":1,"body":[1],"max":"{NEW.sign("p", "[1]")}","purpose":"p"}}',
        f'{{"accord":1,"body":[1],"mac":"{NEW.sign("p", "[1]").upper()}","purpose":"p"}}',
        f'{{"accord":1,"body":[1],"mac":"{NEW.sign("p", "[1]")[1:]}","purpose":"p"}}',
    ],
    ids=["no room", "empty", "other name", "upper case", "short"],
)
def test_a_frame_without_a_mac_is_refused(text: str) -> None:
    error = refusal(text, NEW, "p")

    assert error.code == "checkpoint-tampered"
    assert "it has no MAC" in str(error)


@pytest.mark.parametrize(
    "body",
    ["", "[1", "[" * 100_000, "1" * 5_000],
    ids=["empty", "open", "deep", "long int"],
)
def test_a_sealed_body_that_is_no_readable_json_is_refused(body: str) -> None:
    mac = NEW.sign("p", body)

    error = refusal(f'{{"accord":1,"body":{body},"mac":"{mac}","purpose":"p"}}', NEW, "p")

    assert error.code == "checkpoint-tampered"
    assert "its body is no readable JSON" in str(error)
