"""The JSON of ``lint``, ``test``, ``validate``, and of failures: what is missing or of another shape is refused."""

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass

from reconciler.codec import SchemaError
from reconciler.codec.values import BINDING, ORIGIN
from reconciler.model import AclBinding, Origin
from reconciler.report.results.finding import Level

_SHAPE = ConfigDict(alias_generator=to_camel, arbitrary_types_allowed=True, populate_by_name=True)


def _origin(value: object) -> object:
    if value is None or isinstance(value, Origin):
        return value
    if not isinstance(value, str):
        raise ValueError("a place is a text")
    return ORIGIN.read(value)


def _binding(value: Any) -> object:
    try:
        return value if isinstance(value, AclBinding) else BINDING.read(value)
    except SchemaError as error:
        raise ValueError(f"not a binding: {error}") from error


Place = Annotated[Origin, BeforeValidator(_origin)]
Binding = Annotated[AclBinding, BeforeValidator(_binding)]


@dataclass(frozen=True, slots=True, config=_SHAPE)
class WaiverForm:
    """Why and until when something is accepted."""

    reason: str
    expires: str
    ticket: str | None = None


@dataclass(frozen=True, slots=True, config=_SHAPE)
class FindingForm:
    """One finding of ``lint``."""

    rule: str
    name: str
    severity: Level
    binding: Binding
    message: str
    advice: str
    evidence: tuple[str, ...]
    related: tuple[Binding, ...]
    place: Place | None
    waiver: WaiverForm | None = None


@dataclass(frozen=True, slots=True, config=_SHAPE)
class LintStateForm:
    """What ``lint`` says of one state."""

    cluster: str
    basis: str
    findings: tuple[FindingForm, ...]
    waived: tuple[FindingForm, ...]
    idle_waivers: tuple[Place, ...]


@dataclass(frozen=True, slots=True, config=_SHAPE)
class LintForm:
    """``lint --output json``."""

    states: tuple[LintStateForm, ...]


@dataclass(frozen=True, slots=True, config=_SHAPE)
class WitnessForm:
    """A request that breaks a claim, and why it is allowed or denied."""

    principal: str
    host: str
    operation: str
    resource_type: str
    resource_name: str
    via: str | None
    bindings: tuple[Binding, ...]
    origins: tuple[str, ...]


@dataclass(frozen=True, slots=True, config=_SHAPE)
class MendingForm:
    """Bindings to create and to delete."""

    create: tuple[Binding, ...]
    delete: tuple[Binding, ...]


@dataclass(frozen=True, slots=True, config=_SHAPE)
class ClaimForm:
    """One claim of an AccessTest and its result."""

    test: str
    document: str
    claim: str
    place: Place
    severity: Level
    standing: str
    stops: bool
    words: str
    about_nobody: tuple[str, ...] = ()
    witness: WitnessForm | None = None
    reason: str | None = None
    mending: MendingForm | None = None
    waiver: WaiverForm | None = None


@dataclass(frozen=True, slots=True, config=_SHAPE)
class TestedForm:
    """The claims of one state."""

    cluster: str
    basis: str
    claims: tuple[ClaimForm, ...]


@dataclass(frozen=True, slots=True, config=_SHAPE)
class TestForm:
    """``test --output json``."""

    passed: bool
    clusters: tuple[TestedForm, ...]


@dataclass(frozen=True, slots=True, config=_SHAPE)
class BreachForm:
    """A breach of ownership."""

    place: Place
    kind: str
    message: str
    advice: str


@dataclass(frozen=True, slots=True, config=_SHAPE)
class ProblemForm:
    """A problem in a manifest."""

    code: str
    severity: Level
    file: str
    line: int
    column: int
    message: str
    advice: str
    related: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, config=_SHAPE)
class PolicyFindingForm:
    """A topic that does not keep a policy; ``rule`` is a code, ``policy`` and ``policy_rule`` name the rule."""

    rule: str
    name: str
    severity: Level
    standing: str
    stops: bool
    topic: str
    place: Place
    policy: str
    policy_rule: str
    message: str
    reason: str
    advice: str
    waiver: WaiverForm | None = None


@dataclass(frozen=True, slots=True, config=_SHAPE)
class PoliciesForm:
    """Topics held against the rules of topic policies."""

    rules: int
    topics: int
    findings: tuple[PolicyFindingForm, ...]
    idle_waivers: tuple[Place, ...]


@dataclass(frozen=True, slots=True, config=_SHAPE)
class AgreedForm:
    """What was agreed about one cluster; what a command did not decide is not there."""

    claims: tuple[ClaimForm, ...] = ()
    breaches: tuple[BreachForm, ...] | None = None
    policies: PoliciesForm | None = None


@dataclass(frozen=True, slots=True, config=_SHAPE)
class ValidateForm:
    """``validate --output json``."""

    valid: bool
    clusters: dict[str, AgreedForm] = Field(default_factory=dict)
    problems: tuple[ProblemForm, ...] = ()


@dataclass(frozen=True, slots=True, config=_SHAPE)
class FailedForm:
    """A command that ended without a result, as a pipeline notes it."""

    failed: str
    status: int
    cluster: str = ""


@dataclass(frozen=True, slots=True, config=_SHAPE)
class RefusalForm:
    """What a guard refuses."""

    guard: str
    object: str
    message: str
    remedy: str
