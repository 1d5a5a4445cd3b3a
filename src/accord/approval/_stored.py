"""The form in which every store keeps an approval, and the steps that it can take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from accord.approval.request import ApprovalDecision, ApprovalRequest
from accord.approval.store import ApprovalRecord, ApprovalStatus
from accord.errors import ApprovalAlreadyDecided, ConfigError


def arguments_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the arguments as JSON text; equal texts are equal arguments.

    Raises:
        ConfigError: If an argument is no JSON value.
    """
    return _json_text(arguments, f"the arguments of {tool!r}")


def decision_text(approval_id: str, decision: ApprovalDecision) -> str:
    """Return the decision as JSON text; equal texts are equal decisions.

    Raises:
        ConfigError: If an edited argument is no JSON value.
    """
    return _json_text(
        {
            "approved": decision.approved,
            "edited_args": decision.edited_args,
            "reason": decision.reason,
        },
        f"the decision of approval {approval_id!r}",
    )


def _json_text(value: Mapping[str, Any], what: str) -> str:
    try:
        _refuse_other_keys(value)
        # ASCII only, so that a lone surrogate survives a store that takes UTF-8.
        return json.dumps(dict(value), sort_keys=True, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"{what} cannot be stored: {error}; an approval store takes JSON values only "
            "(None, bool, int, float, str, list, dict with text keys), so pass such values, "
            "for instance model.model_dump(mode='json') in place of a model"
        ) from error


def _refuse_other_keys(value: object) -> None:
    # The json module would turn the key 1 into "1", and one question into another.
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not text")
            _refuse_other_keys(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _refuse_other_keys(item)


@dataclass(frozen=True, slots=True)
class StoredApproval:
    """An approval as plain text, so that nobody shares a mutable value with the store.

    Attributes:
        id: The approval's id.
        kind: `node` or `tool`.
        tool: The tool's name, or the gate's.
        arguments: The arguments as JSON text.
        run_id: The run that waits.
        call_id: The call within the run.
        status: How far the approval has come.
        decision: The decision as JSON text; None while pending.
    """

    id: str
    kind: str
    tool: str
    arguments: str
    run_id: str
    call_id: str
    status: ApprovalStatus = "pending"
    decision: str | None = None

    @classmethod
    def of(cls, request: ApprovalRequest) -> StoredApproval:
        """Make the pending form of `request`."""
        return cls(
            id=request.id,
            kind=request.kind,
            tool=request.tool,
            arguments=arguments_text(request.tool, request.arguments),
            run_id=request.run_id,
            call_id=request.call_id,
        )

    def record(self) -> ApprovalRecord:
        """Make the record that callers see."""
        return ApprovalRecord.model_validate(
            {
                "request": {
                    "id": self.id,
                    "kind": self.kind,
                    "tool": self.tool,
                    "arguments": json.loads(self.arguments),
                    "run_id": self.run_id,
                    "call_id": self.call_id,
                },
                "status": self.status,
                "decision": None if self.decision is None else json.loads(self.decision),
            }
        )

    def decided(self, decision: str) -> StoredApproval:
        """Return the decided form.

        Raises:
            ApprovalAlreadyDecided: If it is not pending.
        """
        if self.status != "pending":
            raise already_decided(self.id, self.status)
        return replace(self, status="decided", decision=decision)

    def consumed(self) -> StoredApproval:
        """Return the consumed form.

        Raises:
            ApprovalAlreadyDecided: If it is consumed.
            ConfigError: If it is pending.
        """
        if self.status == "consumed":
            raise already_decided(self.id, self.status)
        if self.status == "pending":
            raise ConfigError(
                f"approval {self.id!r} is still pending, so there is no decision to use; "
                "call decide(id, ApprovalDecision(...)) first"
            )
        return replace(self, status="consumed")


def already_decided(approval_id: str, status: ApprovalStatus) -> ApprovalAlreadyDecided:
    """Make the error for an approval that someone else has decided or used."""
    now = "decided" if status == "decided" else "decided and used"
    return ApprovalAlreadyDecided(
        f"approval {approval_id!r} is already {now}; nothing was changed. "
        "Read the record with get(id) to see the decision that counts",
        approval_id=approval_id,
    )


def unknown_approval(approval_id: str) -> ConfigError:
    """Make the error for an id that the store does not hold."""
    return ConfigError(
        f"the store holds no approval {approval_id!r}; list(status='pending') gives the ids "
        "that wait, and a store of another process needs the same file or database"
    )


def taken_id(approval_id: str) -> ConfigError:
    """Make the error for a request whose id the store already holds."""
    return ConfigError(
        f"the store already holds an approval {approval_id!r}; make a new ApprovalRequest "
        "(each gets an id of its own), or read the old one with get(id)"
    )
