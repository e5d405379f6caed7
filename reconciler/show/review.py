"""A plan's access review in words: who gains and who loses what, what stands out, what each step does."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from reconciler.dataclass import dataclass
from reconciler.manifest.guardrail_meaning import Meaning
from reconciler.model.characters import Style, as_name, counted, plain, safe
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, Expiry
from reconciler.model.flavor import release_text
from reconciler.model.kinds import listed_kind
from reconciler.model.kinds.quota import limit_text
from reconciler.model.listing import Create, ListedItem
from reconciler.model.state import FactSource
from reconciler.model.topic import Topic
from reconciler.plan.bridges import possible_barriers
from reconciler.plan.guards import GuardrailReview
from reconciler.plan.kinds.acl import is_acl_change
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Plan, Terms
from reconciler.plan.review.access_change import EVERYBODY_ELSE, PrincipalLimit, ending_words
from reconciler.plan.review.access_review import AccessReview
from reconciler.plan.review.callouts import LOGIN
from reconciler.plan.review.effects import Effect, EffectKind
from reconciler.plan.review.topics import BrokerAnswer, BrokerValidation, Ruling, TopicReview
from reconciler.plan.step import Bridge, Means, Unbridged
from reconciler.results.documents import DeclaredBinding, DeclaredTopic, EndEntry
from reconciler.results.words import binding_words, note_words, pattern_words
from reconciler.show.access_lines import (
    LINES_SHOWN,
    MOST_HARMLESS,
    NAMES_SHOWN,
    AccessLine,
    access_lines,
    ordered_lines,
    rows_shown,
)
from reconciler.show.document import Row, Section, SectionName, first_lines, first_names, first_rows, section_lines
from reconciler.show.kinds import ReportedKind, kind_of

_GRAVEST_SHOWN: Final = 20
_PERHAPS: Final = "  (perhaps)"
_WHY_PERHAPS: Final = "perhaps: depends on what is not known about the cluster (default-allow, unreadable ACLs)"


def review_lines(access: AccessReview, style: Style = plain) -> Iterator[str]:
    """The section of :func:`access_section` as lines."""
    yield from section_lines(access_section(access, access_lines_of(access, expand=False)), style)


def access_section(access: AccessReview, lines: Sequence[AccessLine], *, expand: bool = False) -> Section:
    """A title that counts, gains and losses (of more than 40 lines the gravest 20 unless ``expand``), callouts.

    ``lines`` are those of :func:`access_lines_of`.
    """
    rows = access_rows(access, lines, expand=expand)
    rows += callout_rows(access)[: callouts_shown(access, expand=expand)]
    return Section(SectionName.ACCESS, f"Access: {access_title(access)}", tuple(rows))


def callout_rows(access: AccessReview) -> list[Row]:
    """What stands out, the gravest first."""
    return [Row(callout.text, "!", "warn", callout.rule) for callout in access.callouts]


def access_rows(access: AccessReview, lines: Sequence[AccessLine], *, expand: bool = False) -> list[Row]:
    """The rows of ``lines``, which are those of ``access``, and what is said about all of them."""
    shown = lines[: _shown(len(lines), expand=expand)]
    rows = [Row(line_words(line), line.sign, "add" if line.sign == "+" else "remove") for line in shown]
    if len(lines) > len(shown):
        rows.append(Row("", unnamed=len(lines) - len(shown)))
    if not all(line.certain for line in lines):
        rows.append(Row(_WHY_PERHAPS, role="dim"))
    if access.more_principals:
        more = counted(access.more_principals, "more principal")
        rows.append(Row(f"{more} with ACLs of their own gain or lose through User:* and are not listed", role="dim"))
    return rows


def callouts_shown(access: AccessReview, *, expand: bool = False) -> int:
    """How many callouts :func:`review_lines` shows; they come the gravest first."""
    return _shown(len(access.callouts), expand=expand)


def _shown(lines: int, *, expand: bool) -> int:
    """All, or where there are so many that most of them are left out, as many as fit a screen with what follows."""
    return lines if expand or lines <= LINES_SHOWN else _GRAVEST_SHOWN


def cut_words(access: AccessReview, *, expand: bool = False, lines: Sequence[AccessLine] | None = None) -> str:
    """``40 of 3,996 rows of access shown``; empty where :func:`review_lines` shows all that the plan holds."""
    cut = rows_cut(access, expand=expand, lines=lines)
    return "" if cut is None else rows_shown(*cut)


def rows_cut(
    access: AccessReview, *, expand: bool = False, lines: Sequence[AccessLine] | None = None
) -> tuple[int, int] | None:
    """How many rows :func:`review_lines` shows, and of how many; ``None`` where it shows all that the plan holds."""
    lines = access_lines_of(access, expand=expand) if lines is None else lines
    shown = lines[: _shown(len(lines), expand=expand)]
    rows, named = sum(line.rows for line in lines), sum(line.rows - line.unnamed for line in shown)
    return (named, rows) if named < rows else None


def access_lines_of(access: AccessReview, *, expand: bool) -> list[AccessLine]:
    """All lines of gains and losses, in the order of the text."""
    return ordered_lines(access.access_changes, expand=expand, most_names=None if expand else NAMES_SHOWN)


def line_words(line: AccessLine) -> str:
    """``User:a: READ on topic `x` from 10.0.0.1``, safe to show; without its sign."""
    topics = f" ({line.topics})" if line.topics else ""
    hosts = f" from {line.hosts}" if line.hosts else ""
    note = f"  ({line.note})" if line.note else ""
    return safe(
        f"{line.name}: {line.operations} on {line.names}{topics}{hosts}{'' if line.certain else _PERHAPS}{note}"
    )


def access_title(access: AccessReview) -> str:
    """``2 principals gain, 1 principal loses``."""
    gaining, losing, later = movers(access)
    verbs = ((gaining, "gain", ""), (losing, "lose", ""), (later, "gain", later_words(access)))
    parts = [
        f"{_who(principals)} {verb}{'' if len(principals) > 1 else 's'}{more}"
        for principals, verb, more in verbs
        if principals
    ]
    if parts:
        return ", ".join(parts)
    logins = any(callout.rule == LOGIN for callout in access.callouts)
    return "no ACL gives or takes anything, and logins change" if logins else "nobody gains or loses anything"


def movers(access: AccessReview) -> tuple[set[str | None], set[str | None], set[str | None]]:
    """Who gains now, who loses now, and who gains at a later end; ``None`` is everybody else."""
    now = access.at_once.access_changes
    later = {row.principal for row in access.access_changes if row.since is not None}
    return {row.principal for row in now if row.gained}, {row.principal for row in now if row.lost}, later


def later_words(access: AccessReview) -> str:
    """`` on 2027-02-23, when a DENY ends``: the first end at which somebody gains; empty where there is none."""
    ends = {row.since for row in access.access_changes if row.since is not None}
    if not ends:
        return ""
    day, comma, why = ending_words(min(ends)).partition(",")
    return f" {day}{' and later' if len(ends) > 1 else ''}{comma}{why}"


def _who(principals: Collection[str | None]) -> str:
    """``2 principals``, ``everybody else and 1 principal``."""
    named = len(principals) - (None in principals)
    parts = [EVERYBODY_ELSE] if None in principals else []
    return " and ".join([*parts, counted(named, "principal")] if named else parts)


def effect_words(effect: Effect | None) -> str:
    """``grant``; ``redundant: covered by User:a ALLOW ALL on TOPIC PREFIXED x, acls.yaml:3:5``."""
    if effect is None:
        return ""
    if effect.kind is EffectKind.NARROWS_NEW:
        return "narrows an ALLOW of this plan"
    if effect.kind is not EffectKind.REDUNDANT or effect.covered_by is None:
        return str(effect.kind).replace("-", " ")
    place = "" if effect.origin is None else f", {effect.origin}"
    return f"redundant: covered by {binding_words(effect.covered_by)}{place}"


# Client quotas of those who gain access, a sentence for each set of limits; for all formats.

GAINING_TITLE: Final = "Client quotas of those who gain access, without a client id"


def gaining_words(plan: Plan, *, expand: bool = False) -> Iterator[str]:
    """Principals with equal limits share a sentence, those without any first; nothing is escaped."""
    alike: dict[tuple[PrincipalLimit, ...], list[str]] = defaultdict(list)
    for entry in plan.gaining:
        alike[entry.limits].append(as_name(entry.principal))
    for limits, names in sorted(alike.items()):
        shown = names if expand else first_names(names, MOST_HARMLESS)
        more = f" and {len(names) - len(shown):,} more" if len(shown) < len(names) else ""
        text = "; ".join(
            f"{limit.key} = {limit_text(limit.key, limit.value)} by {as_name(limit.entity)}" for limit in limits
        )
        yield f"{', '.join(shown)}{more}: {text or 'unlimited'}"


# The gravest of a plan's access in a few lines, for messages, test reports and code scanning.
#
# Callouts have half the room, rows what callouts leave, and no line has much of it: whoever proposes a change chooses
# how many rows it has and how long its names are, and must not be able to push out the one row that matters.

_NAMES_SHOWN: Final = 4
#: No line takes more of the room than this part of it.
_PART: Final = 3


@dataclass(frozen=True, slots=True)
class AccessDigest:
    """Lines that are safe to show: callouts first, then what is gained and lost, each the gravest first.

    They show ``shown`` of ``rows`` rows of access completely.
    """

    lines: tuple[str, ...] = ()
    shown: int = 0
    rows: int = 0

    @property
    def cut(self) -> str:
        """``11 of 3,996 rows of access shown``, which comes first; empty where all are shown."""
        return rows_shown(self.shown, self.rows) if self.shown < self.rows else ""

    @property
    def heading(self) -> str:
        """The same with the order of the lines; ``7 rows of access`` where all are shown."""
        return f"{self.cut}, the gravest first" if self.cut else f"{counted(self.rows, 'row')} of access"


def access_digest(plans: Sequence[Plan], *, most: int, room: int) -> AccessDigest:
    """At most ``most`` lines, of ``room`` characters in all, about the access that all plans change together."""
    callouts = list(dict.fromkeys(f"! {safe(callout.text)}" for plan in plans for callout in plan.access.callouts))
    changes = [row for plan in plans for row in plan.access.access_changes]
    lines = list(access_lines(changes, most_names=_NAMES_SHOWN, gravest_first=True))
    texts = [f"{line.sign} {line_words(line)}" for line in lines]
    above = _fitting(callouts, most // 2, room // 2)
    more = len(callouts) - len(above)
    above += [f"{counted(more, 'more warning')} about access"] if more else []
    below = _fitting(texts, most - len(above), room - sum(len(line) + 1 for line in above))
    shown = sum(_named(line) for line, text, kept in zip(lines, texts, below, strict=False) if text == kept)
    return AccessDigest((*above, *below), shown, sum(line.rows for line in lines))


def _named(line: AccessLine) -> int:
    return line.rows - line.unnamed


def _fitting(texts: Iterable[str], most: int, room: int) -> list[str]:
    """The first lines, as many as fit; one that is too long is cut and not skipped: it may be the grave one."""
    kept: list[str] = []
    longest = room // _PART
    for text in texts:
        line = text if len(text) <= longest else f"{text[: longest - 1]}…"
        room -= len(line) + 1
        if room < 0 or len(kept) == most:
            break
        kept.append(line)
    return kept


# Conditional steps of a plan in words: what apply keeps open while it runs, and whom it may refuse for a moment.

_IF: Final = "only where every broker is seen to have default-allow"
_OWN: Final = {
    Means.CREATED_FIRST: "the plan's own ALLOW User:* ALL is created here",
    Means.DELETED_LAST: "the plan's own ALLOW User:* ALL is deleted last",
}


def stage_number(plan: Plan, phase: Phase) -> int:
    """The number of a phase among those that are sent: temporary ACLs are created before all others, and go again."""
    number = 1 + len({step.phase for step in plan.steps if step.phase < phase})
    if not plan.bridges.wanted:
        return number
    return number + (2 if phase > Phase.DELETE_LAST else 1)


def opening_sections(plan: Plan, *, expand: bool = False) -> Iterator[Section]:
    """What precedes the first step: the probe's ACLs, and temporary allow-all ACLs."""
    probe = plan.terms.probe
    if probe is not None and any(is_acl_change(step.change) for step in plan.steps):
        yield Section(SectionName.NOTES, "", closing=f"probe ACLs: {probe} on names under __kr.<run>., until the end")
    if plan.bridges.wanted:
        rows = [Row(_bridge(bridge), "?", "change") for bridge in plan.bridges.wanted]
        yield Section(SectionName.NOTES, f"1. create temporary allow-all ACLs, {_IF}", first_rows(rows, expand=expand))


def removal_sections(plan: Plan) -> Iterator[Section]:
    """Where temporary ACLs go: behind every ACL, and before quotas, group configs and moves of replicas."""
    if not plan.bridges.wanted:
        return
    covered = [step.phase for step in plan.steps if step.phase <= Phase.DELETE_LAST]
    if any(phase >= max(covered) for phase in possible_barriers(plan)):
        yield Section(SectionName.NOTES, "", closing="propagation check, for temporary allow-all ACLs")
    number = stage_number(plan, Phase.DELETE_LAST) + (Phase.DELETE_LAST in covered)
    row = Row(counted(len(plan.bridges.wanted), "temporary allow-all ACL"), "?", "change")
    yield Section(SectionName.NOTES, f"{number}. delete temporary allow-all ACLs", (row,))


def unbridged_sections(plan: Plan, *, expand: bool = False) -> Iterator[Section]:
    """What nothing keeps open."""
    changes = plan.bridges.unbridged
    if changes:
        title = "Changes its coverage without a temporary allow-all ACL"
        yield Section(SectionName.NOTES, title, first_rows(map(_unbridged, changes), expand=expand), len(changes))


def _unbridged(item: Unbridged) -> Row:
    who = ", ".join(item.principals)
    whom = f"{who} may be refused for a moment" if who else "nobody is permitted both before and after"
    return Row(f"{pattern_words(item.pattern)}: {whom}", role="warn", below=(Row(item.reason, role="dim"),))


def _bridge(bridge: Bridge) -> str:
    how = _OWN.get(bridge.means, f"as open as {'before' if bridge.side == 'closing' else 'after'} the plan")
    return f"{pattern_words(bridge.pattern)}: {how}"


# The settings of a plan's cluster that no API returns, and who states each.

_WORDS = {
    FactSource.OPERATOR: "the operator's file",
    FactSource.MANIFESTS: "the manifests alone",
    FactSource.NOBODY: "nobody",
    FactSource.FLAVOR: "the vendor's default",
}


def settings_section(terms: Terms) -> Section:
    """A row for each setting: its field in a Cluster document, its value, and who states it."""
    rows = []
    for name, value, source in _facts(terms):
        stated = source is not FactSource.NOBODY
        notes = (f"({_WORDS[source]})",) if stated else ()
        rows.append(Row(f"{name}: {value if stated else 'not stated'}", notes=notes))
    return Section(SectionName.SETTINGS, "Settings that operators declare, and who states them", tuple(rows))


def _facts(terms: Terms) -> Iterator[tuple[str, str, FactSource]]:
    facts, sources = terms.facts, terms.facts.sources
    yield "principal", _names([facts.principal] if facts.principal else []), sources.principal
    if sources.flavor is not FactSource.NOBODY:
        yield "flavor", terms.flavor.name, sources.flavor
    yield "superUsers", _names(facts.super_users), sources.super_users
    yield "allowEveryoneIfNoAclFound", str(terms.default_allow).lower(), sources.default_allow
    if facts.kafka_version is not None:  # most clusters tell it themselves
        yield "kafkaVersion", release_text(facts.kafka_version), sources.kafka_version
    yield (
        "interBrokerPrincipals",
        _names(facts.inter_broker_principals),
        sources.inter_broker_principals,
    )
    yield "brokers", ", ".join(map(str, terms.brokers)) or "none", sources.brokers
    asked = f"{as_name(terms.probe or '')} asks, for {terms.barrier_seconds:g} s at most"
    yield "barrier", f"wait {terms.barrier_wait:g} s" if terms.probe is None else asked, sources.barrier
    yield "protect", counted(len(facts.protect), "item"), sources.protect
    limits = terms.limits
    most = [
        f"{name} {value}"
        for name, value in (("maxDeletes", limits.max_deletes), ("maxDeletePercent", limits.max_delete_percent))
        if value is not None
    ]
    yield "deleteLimits", ", ".join(most) or "none", sources.limits
    yield "exceptions", "see Accepted", sources.exceptions


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(as_name, names)) or "none"


# What a proposal changes about the rules that judge it, and where they hold although it does, as text.

_STYLES: Final = {Meaning.LOOSER: "error", Meaning.UNCLEAR: "warn", Meaning.TIGHTER: "add"}


def guardrail_sections(review: GuardrailReview) -> Iterator[Section]:
    """A row for each change and notice; nothing where there is none."""
    rows = [
        Row(change.words, change.meaning, _STYLES[change.meaning], place=str(change.origin))
        for change in review.changes
    ]
    for notice in review.notices:
        places = tuple(str(place) for place in (notice.origin, notice.related) if place is not None)
        rows.append(Row(notice.message, "warning", "warn", place=", ".join(places)))
    if rows:
        title = "Guardrails changed: this proposal edits rules that judge it"
        yield Section(SectionName.GUARDRAILS, title if review.changes else "Guardrails", tuple(rows))


def guardrail_lines(review: GuardrailReview, style: Style) -> Iterator[str]:
    """The same as lines, which come before others."""
    for section in guardrail_sections(review):
        yield from section_lines(section, style)
        yield ""


def together(reviews: Iterable[GuardrailReview]) -> GuardrailReview:
    """What is said of several clusters, each thing once."""
    reviews = tuple(reviews)
    changes = dict.fromkeys(change for review in reviews for change in review.changes)
    notices = dict.fromkeys(notice for review in reviews for notice in review.notices)
    return GuardrailReview(None, tuple(changes), tuple(notices))


def no_tests_line(style: Style) -> str:
    """For manifests that claim nothing about access, so that no change of theirs can break a claim."""
    return style("dim", "note: no AccessTests are declared, so nothing says who must not get access")


# What the broker said when it was asked about a plan's steps.

_NO_ANSWER: Final = (
    "A step without an answer is not refused: nothing is known about it. UNKNOWN_SERVER_ERROR means that a policy",
    "plug-in throws something other than PolicyViolationException, which the controller's log shows. Fix that first:",
    "in some versions the controller resigns each time it is asked.",
)


def answer_words(answer: BrokerAnswer) -> str:
    """Why a step was not simply accepted."""
    text = f"{answer.code}: {answer.message}"
    match answer.ruling:
        case Ruling.REFUSED if answer.code == "POLICY_VIOLATION":
            return f"the cluster's policy refuses this: {text}"
        case Ruling.REFUSED:
            return f"the broker refuses this: {text}"
        case Ruling.AFTER_GRANT:
            return f"the broker could not be asked, because this plan grants the right first: {text}"
        case _:
            return f"the broker gave no answer about this: {text}"


def validation_sections(validation: BrokerValidation | None) -> Iterator[Section]:
    """What was asked of the broker, when, and what came of it."""
    if validation is None:
        return
    asked, when = len(validation.answers), f"Asked of the broker at {validation.asked}"
    if not asked:
        yield Section(SectionName.NOTES, f"{when}: nothing, no step can be asked about.", role="dim")
        return
    words = ((Ruling.ACCEPTED, "accepted"), (Ruling.REFUSED, "refused"), (Ruling.AFTER_GRANT, "not asked yet"))
    parts = [f"{validation.count(ruling):,} {word}" for ruling, word in words if validation.count(ruling)]
    if unknown := validation.count(Ruling.UNKNOWN):
        parts.append(f"{unknown:,} without an answer")
    role = "add" if validation.count(Ruling.ACCEPTED) == asked else "warn"
    rows = tuple(Row(line, role="warn") for line in _NO_ANSWER) if unknown else ()
    yield Section(SectionName.NOTES, f"{when}: {counted(asked, 'step')}, {', '.join(parts)}.", rows, role=role)


# How far a saved plan was verified, in words and as JSON values.

#: What a report says of a plan that was only read from a file.
NOT_VERIFIED: Final = (
    "Not verified against a cluster: access, effects, callouts, facts, counts and warnings are what the file says. "
    "Its bytes, ids and the order of its phases are checked."
)
#: What to do about that.
VERIFY: Final = "verify it with reconciler show PLAN PATH --cluster NAME, or plan again"


def verification_lines(cluster: str | None, differences: Sequence[str], style: Style = plain) -> Iterator[str]:
    """What comes before a saved plan; ``cluster`` is what it was verified against, ``None``: nothing."""
    if cluster is None:
        yield style("warn", NOT_VERIFIED)
        yield style("dim", VERIFY)
    elif differences:
        yield style("error", f"Not the plan that the manifests give for cluster {safe(cluster)} now. These differ:")
        yield from (style("error", f"  {safe(place)}") for place in differences)
    else:
        yield style("add", f"Verified: planned again for cluster {safe(cluster)}, it is the same plan.")
    yield ""


def verification_document(cluster: str | None, differences: Sequence[str]) -> dict[str, Any]:
    """The same as JSON values: ``verified`` only if there was a cluster and nothing differs."""
    return {
        "verified": cluster is not None and not differences,
        "cluster": cluster,
        "differences": list(differences),
        "note": NOT_VERIFIED if cluster is None else "",
    }


# What manifests declare for a cluster, variables and roles resolved: each with its place.

#: So many ends are shown one by one.
_FEW_ENDS: Final = 5


def declared_lines(desired: DesiredState, style: Style = plain) -> Iterator[str]:
    """A line for each, of bindings, of topics, then of the listed kinds; configs of a topic have lines of their own."""
    for binding, declared in sorted(desired.bindings.items()):
        role = "" if declared.role is None else f"  by the Role at {declared.role}"
        yield from _line(binding_words(binding), f"{note_words(declared)}{role}", style)
    for name, topic in sorted(desired.topics.items()):
        gone = f"topic {as_name(name)}" if topic.absent else ""
        yield from _thing(topic.topic, Declaration(topic.origin), style, gone)
    for items in desired.listed.values():
        for _, desired_item in sorted(items.items(), key=lambda pair: pair[0]):
            if not desired_item.expired:
                yield from _thing(
                    desired_item.item,
                    desired_item.declaration,
                    style,
                    desired_item.item.subject if desired_item.absent else "",
                )


def declared_entries(desired: DesiredState) -> tuple[DeclaredBinding, ...]:
    """Each binding, for JSON."""
    bindings = sorted(desired.bindings.items())
    return tuple(DeclaredBinding(binding, declared.origin, declared.role) for binding, declared in bindings)


def declared_topic_entries(desired: DesiredState) -> tuple[DeclaredTopic, ...]:
    """Each topic, for JSON."""
    return tuple(DeclaredTopic(name, topic.origin, topic.absent) for name, topic in sorted(desired.topics.items()))


def ending_entries(desired: DesiredState) -> tuple[EndEntry, ...]:
    """The items of listed kinds that end, the first to end first: no plan says so before the day comes."""
    endings = [
        (desired_item.declaration.expires.end, _end(desired_item, desired_item.declaration.expires))
        for items in desired.listed.values()
        for desired_item in items.values()
        if desired_item.declaration.expires is not None and not desired_item.goes
    ]
    return tuple(entry for _, entry in sorted(endings, key=lambda pair: (pair[0], pair[1].subject)))


def _end(desired_item: DesiredItem[Any], expiry: Expiry) -> EndEntry:
    resource: type[ListedItem] = type(desired_item.item)
    special: ReportedKind = listed_kind(resource)
    subject = desired_item.item.subject
    message = f"{subject} ends {expiry}: {special.at_end}"
    return EndEntry(desired_item.declaration.origin, subject, str(expiry), message)


def end_lines(ends: Sequence[EndEntry], style: Style = plain, *, expand: bool = False) -> Iterator[str]:
    """A line for each; of many, the first to end."""
    lines = [style("dim", "ends") + f"  {safe(str(end.place))}: {safe(end.message)}" for end in ends]
    yield from first_lines(lines, expand=expand, most=_FEW_ENDS, indent="ends  ")


def _thing(thing: Topic | ListedItem, declared: Declaration, style: Style, gone: str) -> Iterator[str]:
    """``gone`` is the name of what must not exist."""
    if gone:
        yield from _line(f"{gone}: absent", note_words(declared), style)
        return
    words = kind_of(change := Create(thing)).words([change], TopicReview())
    yield from _line(words.text, note_words(declared), style)
    yield from (style("dim", f"      {safe(detail.text)}") for detail in words.details)


def _line(text: str, note: str, style: Style) -> Iterator[str]:
    yield f"    {safe(text)}  {style('dim', safe(note))}"
