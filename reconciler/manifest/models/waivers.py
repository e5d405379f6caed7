"""Waivers: a finding or a failure that is accepted for a while, with a reason, and stays counted."""

import re
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from reconciler.manifest.codes import Code
from reconciler.manifest.models.fields import VARIABLE_PATTERN, Day, ManifestModel, Text, refuse
from reconciler.manifest.models.resources import Names, Resources
from reconciler.manifest.source import quoted

_RULE_PATTERN = "^KA[0-9]{3}$"
_RULE_SCHEMA = {"type": "string", "pattern": f"{_RULE_PATTERN}|{VARIABLE_PATTERN}"}


def _rule(value: object) -> object:
    if not isinstance(value, str) or not re.search(_RULE_PATTERN, value, re.ASCII):
        shown = quoted(value) if isinstance(value, str) else "this"
        raise refuse(Code.WRONG_VALUE, f"{shown} is no code of a lint finding", "write it as lint shows it: KA001")
    return value


RuleCode = Annotated[str, BeforeValidator(_rule), WithJsonSchema(_RULE_SCHEMA)]


class SelectorItem(Resources):
    """Bindings or topics by principal and by one kind of resource; both must fit."""

    principals: Names | None = Field(
        None, description="Principals, in the forms of names.", examples=[{"prefix": "User:svc-"}]
    )


class FailureWaiver(ManifestModel):
    """A failure of a test that is accepted for a while."""

    reason: Text = Field(description="Why the failure is accepted.", examples=["the old reader goes in March"])
    expires: Day = Field(description="The last day on which it is accepted.", examples=["2027-03-31"])
    ticket: Text | None = Field(None, description="Where it was agreed.", examples=["SEC-1204"])


class LintWaiverSpec(SelectorItem):
    """Findings of one lint rule that are accepted; with a selector, only those about bindings it selects."""

    rule: RuleCode = Field(description="The rule, by its code.", examples=["KA007"])
    reason: Text = Field(description="Why the finding is accepted.", examples=["the exporter reads every topic"])
    expires: Day = Field(description="The last day on which it is accepted.", examples=["2027-03-31"])
    ticket: Text | None = Field(None, description="Where it was agreed.", examples=["SEC-1204"])


WaiveField = Annotated[
    list[LintWaiverSpec],
    Field(
        default_factory=list,
        description="Findings of lint that are accepted, each with a reason and a last day; they stay counted.",
        examples=[[{"rule": "KA007", "reason": "the exporter reads every topic", "expires": "2027-03-31"}]],
    ),
]
