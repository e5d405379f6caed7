"""``reconciler policy``: a topic policy to begin with, from a cluster or without one."""

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from reconciler.cli.console import say, say_json, tell
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import Reach, as_of_option, cluster_option, connection_options, output_option

if TYPE_CHECKING:
    from reconciler.cli.wiring import Target
    from reconciler.model import Topic
    from reconciler.policy import ProposedRule

#: How long what does not fit is accepted: two quarters to decide.
_GRACE: Final = datetime.timedelta(days=182)


@click.group("policy", short_help="Propose a topic policy")
def command() -> None:
    """Topic policies: what declared topics may be. validate, plan and apply decide them."""


@command.command("init", short_help="Propose a topic policy, from what a cluster has")
@click.argument("path", required=False, type=click.Path(exists=True), metavar="[PATH]")
@cluster_option(required=False)
@click.option("--defaults", is_flag=True, help="Print a policy of good defaults; nothing is asked of any cluster.")
@click.option("--name", metavar="NAME", default=None, help="The policy's name.  [default: the cluster's]")
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False), help="Write it there; the file must be new.")
@connection_options
@as_of_option
@output_option
def init(
    *,
    path: str | None,
    cluster: str | None,
    defaults: bool,
    name: str | None,
    out: str | None,
    reach: Reach,
    as_of: datetime.date | None,
    output: str,
) -> int:
    """Propose a TopicPolicy that the topics of a cluster keep: names, ranges, settings that most of them have.

    Topics that do not fit are waived by name for half a year, so that the proposal passes on this very cluster. It has
    been checked to.
    """
    if defaults == (cluster is not None):
        raise CommandError("a proposal comes from a cluster, or is --defaults", "give one of the two", Exit.USAGE)
    if defaults and name is not None:
        raise CommandError("--defaults has a name of its own", "leave --name out", Exit.USAGE)
    if defaults:
        from reconciler.report.policy_defaults import DEFAULT_POLICY

        _write(DEFAULT_POLICY, (), out, output)
        return Exit.OK
    from reconciler.cli.reading import reached
    from reconciler.cli.wiring import today
    from reconciler.manifest import document_name_problem

    if name is not None and (problem := document_name_problem(name)) is not None:
        raise CommandError(f"--name: {problem}", status=Exit.USAGE)
    with reached(path, str(cluster), reach) as target:
        topics = _topics(target)
    if not topics:
        raise CommandError(f"cluster {target.name} has no topics to learn from", "begin with --defaults")
    text, rules = _proposal(target, topics, name, as_of or today())
    _write(text, rules, out, output)
    return Exit.OK


def _topics(target: "Target") -> "list[Topic]":
    from reconciler.cli.export import in_scope
    from reconciler.cli.state import read_cluster
    from reconciler.ports import ReadRequest

    declaration = target.declaration
    request = ReadRequest(
        acls=False,
        principal=declaration.principal if declaration else None,
        super_users=declaration.super_users if declaration else (),
    )
    state = in_scope(read_cluster(target.cluster, request), target)
    if state.topic_gap:
        tell(f"warning: {state.topic_gap}")
    for topic, reason in state.unreadable_topics.items():
        tell(f"warning: topic {topic}: {reason}")
    return list(state.topics.values())


def _proposal(
    target: "Target", topics: "list[Topic]", name: str | None, day: datetime.date
) -> "tuple[str, tuple[ProposedRule, ...]]":
    from reconciler.policy import Occasion, propose_policy
    from reconciler.report.export.file_names import document_name
    from reconciler.report.export.policy import policy_text
    from reconciler.report.export.sayable import topic_problem

    labels = target.declaration.labels if target.declaration else {}
    notes = [] if labels else ["Without clusters below spec, it is for every cluster."]
    unsayable = [topic.name for topic in topics if topic_problem(topic) is not None]
    notes += [f"Left out, because no manifest can say it: topic {topic}" for topic in unsayable]
    topics = [topic for topic in topics if topic.name not in unsayable]
    document, origin = name or document_name(target.name), f"cluster {target.name}"
    reason = f"as it was on {target.name} on {day}; decide what becomes of it"
    proposed = propose_policy(topics, Occasion(document, reason, day + _GRACE))
    rules = tuple(one for one in proposed if _is_manifest(policy_text(document, [one], origin=origin, labels={})))
    notes += [f"Left out, because no manifest can say it: {one.rule.name}" for one in proposed if one not in rules]
    text = policy_text(document, rules, origin=origin, labels=labels, notes=notes)
    _prove(text, topics, target.name, day)
    return text, rules


def _is_manifest(text: str) -> bool:
    """Whether it can be read: a broker may have values that the manifests' rules refuse."""
    from reconciler.manifest import ManifestError, Source, load

    try:
        load([Source("the proposal", text)])
    except ManifestError:
        return False
    return True


def _prove(text: str, topics: "list[Topic]", cluster: str, day: datetime.date) -> None:
    """Read the proposal as a manifest and hold it against the topics: what does not pass is never shown."""
    from reconciler.cli.topic_policies import compiled
    from reconciler.cli.wiring import manifest_failure
    from reconciler.manifest import ManifestError, Source, TopicPolicyDeclaration, load
    from reconciler.model import DesiredState, DesiredTopic, Origin
    from reconciler.policy import Surroundings
    from reconciler.report.policy_text import message

    try:
        manifests = load([Source("the proposal", text)])
    except ManifestError as error:
        raise manifest_failure(error.problems) from error
    rules = (rule for policy in manifests.of(TopicPolicyDeclaration) for rule in policy.rules)
    declared = {topic.name: DesiredTopic(topic, Origin(cluster, 1, 1)) for topic in topics}
    result = compiled(rules, manifests).decide(DesiredState(topics=declared), day, Surroundings(cluster))
    if result.stopping:
        worst = result.stopping[0]
        raise CommandError(f"the proposal does not hold on the cluster itself: {worst.topic}: {message(worst)}")


def _write(text: str, rules: "tuple[ProposedRule, ...]", out: str | None, output: str) -> None:
    waived = {proposed.rule.name: [*waiver.topics.literal] for proposed in rules for waiver in proposed.rule.waivers}
    if output == "json":
        say_json({"policy": text, "waived": waived})
    elif out is None:
        say([text.rstrip("\n")])
    if out is not None:
        try:
            with Path(out).open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            raise CommandError(f"{out} exists: nothing was written", "give a new file", Exit.USAGE) from None
        except OSError as error:
            raise CommandError(f"the policy cannot be written: {error}") from error
        tell(f"wrote {out}")
    if waived:
        tell(f"{sum(map(len, waived.values())):,} exceptions are waived by name, in {len(waived):,} rules")
