"""The parity suite: run one scenario on every engine, observe, and compare with native."""

from accord_parity.calls import CallLog
from accord_parity.compare import FieldDifference, Verdict, compare, judge
from accord_parity.drive import ScenarioRun, run_scenario
from accord_parity.observation import Failure, Observation, PendingApproval
from accord_parity.replies import ScriptedModel
from accord_parity.scenario import Mode, Scenario, ScenarioError

__all__ = [
    "CallLog",
    "Failure",
    "FieldDifference",
    "Mode",
    "Observation",
    "PendingApproval",
    "Scenario",
    "ScenarioError",
    "ScenarioRun",
    "ScriptedModel",
    "Verdict",
    "compare",
    "judge",
    "run_scenario",
]
