"""What every test gets: repeatable examples, and no settings from the developer's own shell."""

import pytest
from hypothesis import settings

# The time of an example depends on the machine, so a deadline would fail at random; the timeout of
# pytest still ends a test that hangs.
settings.register_profile("accord", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("accord")


@pytest.fixture(autouse=True)
def _no_key_from_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACCORD_CHECKPOINT_KEY", raising=False)
