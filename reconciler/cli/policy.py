"""``reconciler policy``: a topic policy to begin with, from a cluster or without one."""

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from reconciler.cli.console import info, out, out_json
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import as_of_option, cluster_option, connection_options, output_option
from reconciler.workflow.options import ConnectionOptions

if TYPE_CHECKING:
    from reconciler.model import Topic
    from reconciler.policy import ProposedRule
    from reconciler.workflow import Target

#: How long what does not fit is accepted: two quarters to decide.
_GRACE: Final = datetime.timedelta(days=182)


@click.group("policy", short_help="Propose a topic policy from a cluster")
def command() -> None:
    """Topic policies: rules for declared topics. validate, plan and apply check them."""


@command.command("init", short_help="Propose a topic policy from a cluster")
@click.argument("path", required=False, type=click.Path(exists=True), metavar="[PATH]")
@cluster_option(required=False)
@click.option("--defaults", is_flag=True, help="Print a policy of good defaults, without a cluster.")
@click.option("--name", metavar="NAME", default=None, help="Name of the policy.  [default: the cluster's]")
@click.option(
    "--out", "file", metavar="FILE", type=click.Path(dir_okay=False), help="Write to this file, which must not exist."
)
@connection_options
@as_of_option
@output_option
def init(
    *,
    path: str | None,
    cluster: str | None,
    defaults: bool,
    name: str | None,
    file: str | None,
    connection: ConnectionOptions,
    as_of: datetime.date | None,
    output: str,
) -> int:
    """Propose a TopicPolicy from the topics of a cluster: names, ranges and configs that most of them have.

    Topics that do not fit are waived by name for half a year, so the proposal passes on this cluster. It is checked
    before it is shown.
    """
    if defaults == (cluster is not None):
        raise CommandError("a proposal comes from a cluster, or is --defaults", "give one of the two", Exit.USAGE)
    if defaults and name is not None:
        raise CommandError("--defaults has a name of its own", "leave --name out", Exit.USAGE)
    if defaults:
        from reconciler.report.policy_defaults import DEFAULT_POLICY

        _write(DEFAULT_POLICY, (), file, output)
        return Exit.OK
    from reconciler import workflow
    from reconciler.cli.export import info_gaps
    from reconciler.cli.notes import info_note
    from reconciler.manifest import document_name_problem
    from reconciler.workflow.options import today

    if name is not None and (problem := document_name_problem(name)) is not None:
        raise CommandError(f"--name: {problem}", status=Exit.USAGE)
    exported = workflow.export(path, str(cluster), connection, acls=False, tell=info_note)
    info_gaps(exported.state)
    target, topics = exported.target, list(exported.state.topics.values())
    if not topics:
        raise CommandError(f"cluster {target.name} has no topics to learn from", "begin with --defaults")
    text, rules = _proposal(target, topics, name, as_of or today())
    _write(text, rules, file, output)
    return Exit.OK


def _proposal(
    target: "Target", topics: "list[Topic]", name: str | None, day: datetime.date
) -> "tuple[str, tuple[ProposedRule, ...]]":
    from reconciler.policy import Occasion, propose_policy
    from reconciler.report.export.expressible import topic_problem
    from reconciler.report.export.file_names import document_name
    from reconciler.report.export.policy import policy_text

    labels = target.declaration.labels if target.declaration else {}
    notes = [] if labels else ["Without clusters below spec, it applies to every cluster."]
    inexpressible = [topic.name for topic in topics if topic_problem(topic) is not None]
    notes += [f"Skipped, because no manifest can declare it: topic {topic}" for topic in inexpressible]
    topics = [topic for topic in topics if topic.name not in inexpressible]
    document, origin = name or document_name(target.name), f"cluster {target.name}"
    reason = f"as it was on {target.name} on {day}; decide whether it should stay"
    proposed = propose_policy(topics, Occasion(document, reason, day + _GRACE))
    rules = tuple(one for one in proposed if _is_manifest(policy_text(document, [one], origin=origin, labels={})))
    notes += [f"Skipped, because no manifest can declare it: {one.rule.name}" for one in proposed if one not in rules]
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
    from reconciler.manifest import Source, TopicPolicyDeclaration
    from reconciler.model import DesiredState, DesiredTopic, Origin
    from reconciler.policy import ClusterContext
    from reconciler.report.policy_text import message
    from reconciler.workflow.manifests import checked
    from reconciler.workflow.topic_checks import compiled

    manifests = checked([Source("the proposal", text)])
    rules = (rule for policy in manifests.of(TopicPolicyDeclaration) for rule in policy.rules)
    declared = {topic.name: DesiredTopic(topic, Origin(cluster, 1, 1)) for topic in topics}
    result = compiled(rules, manifests).decide(DesiredState(topics=declared), day, ClusterContext(cluster))
    if result.stopping:
        worst = result.stopping[0]
        raise CommandError(f"the proposal does not pass on the cluster itself: {worst.topic}: {message(worst)}")


def _write(text: str, rules: "tuple[ProposedRule, ...]", file: str | None, output: str) -> None:
    waived = {proposed.rule.name: [*waiver.topics.literal] for proposed in rules for waiver in proposed.rule.waivers}
    if output == "json":
        out_json({"policy": text, "waived": waived})
    elif file is None:
        out([text.rstrip("\n")])
    if file is not None:
        try:
            with Path(file).open("x", encoding="utf-8") as new:
                new.write(text)
        except FileExistsError:
            raise CommandError(f"{file} exists: nothing was written", "give a new file", Exit.USAGE) from None
        except OSError as error:
            raise CommandError(f"the policy cannot be written: {error}") from error
        info(f"wrote {file}")
    if waived:
        info(f"{sum(map(len, waived.values())):,} exceptions are waived by name, in {len(waived):,} rules")
