"""What an error says about its place."""

from __future__ import annotations

from accord import FlowError


def test_an_error_notes_its_place() -> None:
    error = FlowError("it broke", flow="f", node="n", field="a")

    assert error.__notes__ == ["at flow 'f', node 'n', field 'a'"]


def test_an_error_without_a_place_has_no_note() -> None:
    assert not hasattr(FlowError("it broke"), "__notes__")


def test_naming_the_flow_later_replaces_the_place_and_keeps_other_notes() -> None:
    error = FlowError("it broke", node="n")
    error.add_note("at noon, said the author")

    error.within("f")

    assert error.__notes__ == ["at noon, said the author", "at flow 'f', node 'n'"]


def test_a_flow_that_is_named_already_stays() -> None:
    error = FlowError("it broke", flow="inner")

    error.within("outer")

    assert (error.flow, error.__notes__) == ("inner", ["at flow 'inner'"])
