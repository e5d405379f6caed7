"""Reports whose every text is anything: built as values, because no cluster would hold all of this at once."""

import datetime

from hypothesis import strategies as st

from reconciler.access.difference import Witness
from reconciler.access.names import NameSet, ResourceSet, literal
from reconciler.model.acl import AclBinding, AclOperation, ResourceType
from reconciler.model.desired import Origin
from reconciler.model.listing import Create, Delete
from reconciler.model.topic import Topic
from reconciler.plan.difference import Skipped, SkipReason
from reconciler.plan.kinds.acl import is_acl_change
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.refusal import Guard, Judges, Refusal
from reconciler.plan.review.access_change import AccessChange
from reconciler.plan.review.access_review import AccessReview
from reconciler.plan.review.callouts import Callout
from reconciler.plan.review.effects import Effect, EffectKind
from reconciler.plan.step import Step
from reconciler.results.findings import Check, CheckStatus, Finding, Level
from reconciler.show.reading import Report
from tests.property.strategies import entries, patterns, wild_text

#: What would leave its place in Markdown, HTML, XML, JSON, a job's log, a terminal or a spreadsheet.
ATTACKS = (
    "<script>alert(1)</script>",
    "</code></td></tr></table></details><img src=x onerror=alert(1)>",
    "@org/team @user",
    "#1 GH-1 org/repo#1 !1 ~label %1 deadbeefcafe1234567",
    "[x](https://e.example) ![x](//e.example/x) <https://e.example> www.e.example https://e.example",
    "| a | b |",
    "`a``b```c`",
    "$x$ $$y$$ :smile: **b** _i_ ~~s~~ <!-- c --> --> &amp; &#60; \\",
    "::error::x",
    "##[error]x ##vso[task.complete]x ##teamcity[x]",
    "%0A::set-output name=x::y",
    "\n::add-mask::x\r\n# heading\n- item\n\n    code",
    "\x1b[31m\x9b2J\x07\x00",
    "\u202e\u2066\u200b\ufeff\ufffe",
    "=1+1",
    "+1",
    "-1",
    "@SUM(1)",
    "\t=1",
    "]]></failure><testcase name='x'/>",
    "{{ 7*7 }}{% x %}{0}",
    "<!channel> <@U1>",
    "a" * 300,
    "",
    " ",
)
texts = st.one_of(
    st.sampled_from(ATTACKS),
    wild_text,
    st.lists(st.sampled_from([*"`|<>[]()!@#$~%&*_=+-:;'\"\\/{}^.,? \n\t", "a", "B", "1", "http://"]), max_size=8).map(
        "".join
    ),
    st.tuples(st.sampled_from(ATTACKS), st.sampled_from(ATTACKS)).map("".join),
)
names = texts.filter(bool)
places = st.none() | st.builds(Origin, texts, st.integers(1, 9), st.integers(1, 9))
#: What JSON can hold and no encoding carry; a plan with it is refused.
_any_texts = texts | st.just("a\ud800b")
findings = st.builds(
    Finding,
    names,
    names,
    st.sampled_from(Level),
    _any_texts,
    _any_texts,
    _any_texts,
    _any_texts,
    places,
    st.lists(_any_texts, max_size=2).map(tuple),
    st.just("") | texts,
    checked=st.booleans(),
)
checks = st.builds(
    Check,
    st.sampled_from(["AccessTests", "Ownership", "TopicPolicy", "Guards"]),
    _any_texts,
    _any_texts,
    st.sampled_from(CheckStatus),
    _any_texts,
    st.lists(_any_texts, max_size=2).map(tuple),
    places,
)
_bindings = st.builds(AclBinding, patterns(names), entries(names, names))
_refusals = st.builds(Refusal, st.sampled_from(Guard), texts, texts, texts, st.sampled_from(Judges))
_topics = st.builds(Topic, names, st.integers(1, 3), st.just(1), st.dictionaries(names, texts, max_size=1))
_operations = st.lists(st.sampled_from([AclOperation.READ, AclOperation.WRITE]), unique=True).map(tuple)
_steps = st.one_of(
    st.builds(Step, st.just(Phase.CREATE_ALLOW), st.builds(Create, _bindings), places),
    st.builds(Step, st.just(Phase.CREATE_TOPIC), st.builds(Create, _topics), places),
    st.builds(Step, st.just(Phase.DELETE_ALLOW), st.builds(Delete, _bindings), places),
    st.builds(Step, st.just(Phase.DELETE_TOPIC), st.builds(Delete, _topics), places),
)
_resource_sets = st.builds(
    ResourceSet,
    st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
    st.one_of(names.map(literal), names.map(NameSet)),
)
_rows = st.builds(
    AccessChange,
    st.none() | names,
    names,
    _resource_sets,
    _operations,
    _operations,
    st.builds(Witness, names, names, names),
    st.lists(names, max_size=3).map(tuple),
    st.integers(3, 30),
    st.sampled_from([None, "least", "most", "perhaps"]),
).filter(lambda row: row.gained or row.lost)


# Made once, as in ``strategies.py``.
_some_steps, _some_rows = st.lists(_steps, max_size=4), st.lists(_rows, max_size=3)
_some_callouts = st.lists(st.builds(Callout, names, names, texts), max_size=2)
_some_skipped = st.lists(st.builds(Skipped, st.sampled_from(SkipReason), texts, texts, origin=places), max_size=2)
_some_texts, _some_refusals = st.lists(texts, max_size=2), st.lists(_refusals, max_size=2)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A plan that says anything anywhere."""
    steps = sorted(draw(_some_steps), key=lambda step: step.phase)
    effects = [Effect(EffectKind.GRANT) if is_acl_change(step.change) else None for step in steps]
    access = AccessReview(
        tuple(draw(_some_rows)),
        tuple(effects),
        tuple(draw(_some_callouts)),
    )
    return Plan(
        draw(names),
        Terms(draw(names)),
        Options(),
        datetime.date(2026, 11, 21),
        tuple(steps),
        tuple(draw(_some_skipped)),
        tuple(draw(_some_texts)),
        refusals=tuple(draw(_some_refusals)),
        access=access,
    )


reports = st.builds(
    Report,
    st.lists(plans(), max_size=1).map(tuple),
    st.lists(plans(), max_size=1).map(tuple),
    st.lists(findings, max_size=3).map(tuple),
    st.lists(checks, max_size=3).map(tuple),
    st.just(()),
)
