"""What a command answers: values with their JSON, below every view.

Here the kind of each JSON document: the word by which a program knows which fields it has.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

#: The field that holds the word.
KIND: Final = "kind"


class OutputKind(StrEnum):
    """The command's name in one word; where a command prints documents with other fields, a word more for those."""

    ACCESS = "Access"
    ACCESS_MATRIX = "AccessMatrix"
    ADOPT = "Adopt"
    APPLY = "Apply"
    APPROVE = "Approve"
    AUDIT_LIST = "AuditList"
    AUDIT_VERIFY = "AuditVerify"
    CAN_I = "CanI"
    CERTIFY_CLOSE = "CertifyClose"
    CERTIFY_OPEN = "CertifyOpen"
    CERTIFY_SIGN = "CertifySign"
    CERTIFY_STATUS = "CertifyStatus"
    CERTIFY_VERIFY = "CertifyVerify"
    CLEANUP = "Cleanup"
    CONVERT = "Convert"
    #: ``convert --path``: an edit of manifests that are there.
    CONVERT_INTO = "ConvertInto"
    DEMO = "Demo"
    DOCTOR = "Doctor"
    DRIFT = "Drift"
    EXPLAIN = "Explain"
    EXPORT = "Export"
    #: ``export --snapshot``: the file, and how much is in it.
    EXPORT_SNAPSHOT = "ExportSnapshot"
    #: No command prints it: a pipeline writes it of a command that ended without a result.
    FAILED = "Failed"
    FLEET_APPLY = "FleetApply"
    FLEET_APPROVE = "FleetApprove"
    FLEET_DRIFT = "FleetDrift"
    FLEET_LOCK = "FleetLock"
    FLEET_PLAN = "FleetPlan"
    FLEET_QUERY = "FleetQuery"
    FLEET_SNAPSHOT = "FleetSnapshot"
    FLEET_TIGHTEN = "FleetTighten"
    FLEET_USAGE = "FleetUsage"
    GRANT = "Grant"
    HISTORY = "History"
    LINT = "Lint"
    #: ``lint --fix``, and ``lint --simplify`` with ``--write`` or ``--branch``: an edit of the manifests.
    LINT_EDIT = "LintEdit"
    LINT_SIMPLIFY = "LintSimplify"
    LOCK = "Lock"
    LOCKS = "Locks"
    PLAN = "Plan"
    POLICY_INIT = "PolicyInit"
    QUOTA = "Quota"
    REACH = "Reach"
    REASSIGNMENTS_CANCEL = "ReassignmentsCancel"
    REASSIGNMENTS_LIST = "ReassignmentsList"
    RENAME = "Rename"
    #: ``report -o json``.
    REPORT = "Report"
    REVOKE = "Revoke"
    SANDBOX_DOWN = "SandboxDown"
    SANDBOX_STATUS = "SandboxStatus"
    SANDBOX_UP = "SandboxUp"
    SHOW = "Show"
    TEST = "Test"
    TIGHTEN = "Tighten"
    UNDO = "Undo"
    UNLOCK = "Unlock"
    USAGE = "Usage"
    USERS_DISABLE = "UsersDisable"
    VALIDATE = "Validate"
    VERSION = "Version"
    WHO_CAN = "WhoCan"


def output(kind: OutputKind, document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its kind: what ``--output json`` prints."""
    return {**document, KIND: kind.value}


class Made:
    """A list of a document whose items are made each time that somebody goes through it: there may be millions.

    The items are plain: objects of texts, numbers and truth values.
    """

    def __init__(self, items: Callable[[], Iterator[dict[str, Any]]]) -> None:
        """``items`` gives the same each time."""
        self._items = items

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Makes them."""
        return self._items()

    def for_json(self) -> "list[dict[str, Any]]":
        """What ``json.JSONEncoder.iterencode`` takes for a list; it draws the items one by one."""
        return _Drawn(self)


class _Drawn(list[dict[str, Any]]):
    """A list that the encoder asks whether there are any items, and then goes through."""

    def __init__(self, items: Made) -> None:
        super().__init__()
        self._items = items

    def __bool__(self) -> bool:
        return any(True for _ in self._items)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._items)
