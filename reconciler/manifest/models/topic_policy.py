"""The fields of ``TopicPolicy`` documents."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from reconciler.manifest.parts.document import ApiVersion, ClustersField, Metadata
from reconciler.manifest.parts.fields import (
    LIST_TAG,
    TEXT_TAG,
    Boolean,
    Count,
    ManifestModel,
    OneOrMoreTexts,
    Partitions,
    Severity,
    Text,
    one_or_list,
    refuse,
    words_schema,
)
from reconciler.manifest.parts.resources import Names
from reconciler.manifest.parts.selectors import ExceptionItem
from reconciler.manifest.read.findings import quoted
from reconciler.manifest.read.problem import Code, one_of
from reconciler.model.topic_rule import TopicCheck


def _code(value: object) -> object:
    codes = [code.value for code in TopicCheck]
    if not isinstance(value, str) or value not in codes:
        shown = quoted(value) if isinstance(value, str) else "this"
        raise refuse(Code.WRONG_VALUE, f"{shown} is not a policy code", one_of(codes))
    return TopicCheck(value)


CheckCode = Annotated[
    TopicCheck,
    BeforeValidator(_code),
    words_schema(code.value for code in TopicCheck),
]
OneOrMoreCodes = Annotated[
    Annotated[CheckCode, Tag(TEXT_TAG)] | Annotated[list[CheckCode], Field(min_length=1), Tag(LIST_TAG)],
    Discriminator(one_or_list),
]
RequiredField = Annotated[
    Boolean | None,
    Field(
        description="Where it is not declared: with true that is a breach, with false the broker's default will do, "
        "without it the rule is undecided.",
        examples=[True],
    ),
]


class NameLimits(ManifestModel):
    """What a topic may be called."""

    pattern: Text | None = Field(
        None,
        description="A regular expression (RE2) that the whole name has to match.",
        examples=["[a-z0-9]+([.-][a-z0-9]+)*"],
    )
    max_length: Count | None = Field(None, description="At most so many characters.", examples=[200])


class CountLimits(ManifestModel):
    """Limits of a number, and for each broker."""

    min: Partitions | None = Field(None, description="At least so many.", examples=[3])
    max: Partitions | None = Field(None, description="At most so many.", examples=[48])
    min_per_broker: Partitions | None = Field(
        None, description="At least so many for each broker of the cluster.", examples=[1]
    )
    max_per_broker: Partitions | None = Field(
        None, description="At most so many for each broker of the cluster.", examples=[1]
    )
    required: RequiredField = None


class SettingLimits(ManifestModel):
    """What one setting may be."""

    required: RequiredField = None
    forbidden: Boolean = Field(False, description="With true, it may not be set on a topic.", examples=[True])
    allowed: OneOrMoreTexts | None = Field(
        None, description="The only values it may have.", examples=[["delete", "compact"]]
    )
    min: Text | None = Field(None, description="The least value, with a unit where it takes one.", examples=["1h"])
    max: Text | None = Field(None, description="The greatest value, with a unit where it takes one.", examples=["30d"])


class RelationItem(ManifestModel):
    """How two numbers of a topic compare: exactly one of below, atMost, above and atLeast."""

    value: Text = Field(
        description="A setting, partitions, replicationFactor or brokers.", examples=["min.insync.replicas"]
    )
    below: Text | None = Field(None, description="What it has to be less than.", examples=["replicationFactor"])
    at_most: Text | None = Field(None, description="What it may not exceed.", examples=["retention.ms"])
    above: Text | None = Field(None, description="What it has to be more than.", examples=["min.compaction.lag.ms"])
    at_least: Text | None = Field(None, description="What it may not be less than.", examples=["brokers"])
    required: RequiredField = None


class TopicExceptionItem(ExceptionItem):
    """Topics that may break a rule for a while."""

    check: Text = Field(description="The name of the rule, in this document.", examples=["replicas"])
    topics: Names = Field(description="The topics, in the forms of names.", examples=[["payments.legacy"]])
    codes: OneOrMoreCodes | None = Field(
        None, description="Only these breaches; without it, all of the rule's.", examples=[["KT003"]]
    )


class PolicyRule(ManifestModel):
    """One rule: which topics, and what is asked of them."""

    name: Text | None = Field(None, description="The rule's name, unique in its document.", examples=["replicas"])
    topics: Names | None = Field(
        None,
        description="The topics it is about: a name, a list of names, {prefix: …} or {any: true}.",
        examples=[{"prefix": "payments."}],
    )
    except_: Names | None = Field(
        None, alias="except", description="Topics that it is not about, in the same forms.", examples=[["payments.tmp"]]
    )
    match_labels: dict[str, Text] = Field(
        default_factory=dict,
        description="Only topics with all of these labels, their own or those of their document.",
        examples=[{"data": "personal"}],
    )
    names: NameLimits | None = Field(None, description="What a topic may be called.", examples=[{"maxLength": 200}])
    partitions: CountLimits | None = Field(None, description="How many partitions.", examples=[{"min": 3, "max": 48}])
    replication_factor: CountLimits | None = Field(
        None, description="How many replicas of each partition.", examples=[{"min": 3}]
    )
    configs: dict[str, SettingLimits] = Field(
        default_factory=dict,
        description="Settings by name, each with what it may be.",
        examples=[{"retention.ms": {"max": "30d"}}],
    )
    relations: list[RelationItem] = Field(
        default_factory=list,
        description="How numbers of a topic compare.",
        examples=[[{"value": "min.insync.replicas", "below": "replicationFactor"}]],
    )
    expression: Text | None = Field(
        None,
        description="What has to be true, in CEL; for what the other fields cannot say. Needs the extra policy.",
        examples=["name.startsWith(labels.team + '.')"],
    )
    message: Text | None = Field(
        None, description="Why the rule is there, for whoever breaks it.", examples=["production has three replicas"]
    )
    severity: Severity = Field("error", description="Whether a breach stops, or is only said.", examples=["warning"])


class TopicPolicySpec(ManifestModel):
    """The rules of a document."""

    clusters: ClustersField = None
    rules: list[PolicyRule] = Field(
        min_length=1,
        description="The rules; a topic has to keep all that are about it.",
        examples=[[{"topics": {"any": True}, "replicationFactor": {"min": 3}}]],
    )
    exceptions: list[TopicExceptionItem] = Field(
        default_factory=list,
        description="Topics that may break a rule for a while; that stays counted.",
        examples=[
            [{"check": "replicas", "topics": ["payments.legacy"], "reason": "moves in March", "expires": "2027-03-31"}]
        ],
    )


class TopicPolicyDocument(ManifestModel):
    """What declared topics may be: names, numbers, settings."""

    api_version: ApiVersion
    kind: Literal["TopicPolicy"] = Field(description="What the document declares.", examples=["TopicPolicy"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "production"}])
    spec: TopicPolicySpec = Field(
        description="The rules.",
        examples=[{"rules": [{"topics": {"any": True}, "replicationFactor": {"min": 3}}]}],
    )
