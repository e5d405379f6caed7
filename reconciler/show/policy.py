"""Topics that do not keep a policy, as text: what they have and where, what is wanted and where, what to write."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from reconciler.model.characters import Style, as_name, counted, plain, safe, ticked
from reconciler.model.topic_configs import UNLIMITED_CONFIGS, readable
from reconciler.model.topic_rule import TopicCheck
from reconciler.policy.topic_policy import TopicFinding, TopicFindingStatus, TopicPolicyResult
from reconciler.results.documents import ExceptionEntry, PoliciesEntry, PolicyEntry
from reconciler.results.findings import Level

_STYLE: Final = {
    TopicFindingStatus.BROKEN: "error",
    TopicFindingStatus.UNDECIDED: "warn",
    TopicFindingStatus.EXCEPTED: "warn",
}


def policy_lines(result: TopicPolicyResult, style: Style = plain) -> Iterator[str]:
    """Each finding, exceptions that accept nothing, then how many there are; nothing where there is no rule."""
    for finding in result.findings:
        yield from _finding_lines(finding, style)
    for exception in result.unused_exceptions:
        yield style("dim", safe(f"the exception at {exception.origin} matches no finding: remove it"))
    if result.rules:
        yield summary(result)


def summary(result: TopicPolicyResult) -> str:
    """``12 topics against 3 rules of policies: 1 broken, 2 excepted``."""
    counts = Counter(finding.status for finding in result.findings)
    parts = ", ".join(f"{counts[standing]:,} {standing}" for standing in TopicFindingStatus if counts[standing])
    rules = counted(result.rules, "rule")
    return f"{counted(result.topics, 'topic')} against {rules} of topic policies: {parts or 'all kept'}"


def _finding_lines(finding: TopicFinding, style: Style) -> Iterator[str]:
    word = str(finding.status)
    if finding.rule.severity == "warning" and finding.status is not TopicFindingStatus.EXCEPTED:
        word += " (warning)"
    head = style(_STYLE[finding.status], f"{word} {finding.code}")
    yield f"{head}  {safe(finding.topic)}{style('dim', safe(f'  {finding.origin}'))}"
    yield safe(f"    {message(finding)}")
    if finding.rule.message:
        yield safe(f"    {ticked(finding.rule.message)}")
    yield safe(f"    rule {as_name(rule_name(finding))} at {finding.rule_origin}")
    if finding.exception is not None:
        stands = "accepted until" if finding.status is TopicFindingStatus.EXCEPTED else "was accepted until"
        yield safe(f"    {stands} {finding.exception.expires}: {ticked(finding.exception.reason)}")
    if finding.status is not TopicFindingStatus.EXCEPTED:
        yield safe(f"    {advice(finding)}")


def rule_name(finding: TopicFinding) -> str:
    """``production/replicas``, or the document alone where the rule has no name."""
    rule = finding.rule
    return f"{rule.document}/{rule.name}" if rule.name else rule.document


def message(finding: TopicFinding) -> str:
    """What the topic has, and what is wanted; times and sizes both ways."""
    unlimited = finding.about in UNLIMITED_CONFIGS and finding.found == "-1"
    shown = "no limit" if unlimited else readable(finding.about, finding.found)
    value = finding.found if shown == finding.found else f"{finding.found} ({shown})"
    if finding.code in (TopicCheck.RELATION, TopicCheck.EXPRESSION):
        return f"{value}; wanted: {finding.wanted}"
    subject = "its name" if finding.about == "name" else finding.about
    return f"{subject} is {value}; wanted: {finding.wanted}"


def advice(finding: TopicFinding) -> str:
    """What to write."""
    if finding.status is TopicFindingStatus.UNDECIDED:
        return _advice_in_doubt(finding)
    match finding.code:
        case TopicCheck.NAME:
            return "choose another name; a live topic cannot be renamed"
        case TopicCheck.PARTITIONS:
            return "declare partitions; a live topic can get more of them, and never fewer"
        case TopicCheck.REPLICATION_FACTOR:
            return "declare replicationFactor; a live topic keeps its replicas until somebody moves them"
        case TopicCheck.MISSING_SETTING | TopicCheck.SETTING_VALUE | TopicCheck.SETTING_RANGE:
            return f"declare {finding.about} in configs, of the topic or of the document's defaults"
        case TopicCheck.FORBIDDEN_SETTING:
            return f"remove {finding.about} from configs: the topic takes the broker's default"
        case TopicCheck.RELATION:
            return "change one of the two"
        case TopicCheck.EXPRESSION:
            return "change what the expression speaks of"


def _advice_in_doubt(finding: TopicFinding) -> str:
    if "brokers" in finding.found:
        return "list brokers in the Cluster document"
    if finding.code is TopicCheck.EXPRESSION:
        return "declare what the expression speaks of, or let it ask first: 'retention.ms' in configs"
    return "declare it, or say in the rule, with required, whether the broker's default will do"


def policies_entry(result: TopicPolicyResult) -> PoliciesEntry:
    """A result as commands print it for programs."""
    findings = tuple(map(_entry, result.findings))
    return PoliciesEntry(
        result.rules, result.topics, findings, tuple(exception.origin for exception in result.unused_exceptions)
    )


def _entry(finding: TopicFinding) -> PolicyEntry:
    exception = finding.exception
    return PolicyEntry(
        rule=finding.code.value,
        name=finding.code.slug,
        severity=Level(finding.rule.severity),
        standing=finding.status.value,
        stops=finding.stops,
        topic=finding.topic,
        place=finding.origin,
        policy=finding.rule.document,
        policy_rule=finding.rule.name or "",
        rule_place=str(finding.rule_origin),
        about=finding.about,
        found=finding.found,
        wanted=finding.wanted,
        message=message(finding),
        reason=finding.rule.message or "",
        advice=advice(finding),
        exception=None
        if exception is None
        else ExceptionEntry(exception.reason, str(exception.expires), exception.ticket, exception.origin),
    )


# A topic policy to begin with, where no cluster can be asked: what is rarely wrong for topics that matter.

DEFAULT_POLICY: Final = """\
# yaml-language-server: $schema=../../schema/manifest.json
#
# A topic policy to begin with. Take out what does not fit, and say in message why the rest is there.
apiVersion: reconciler/v1
kind: TopicPolicy
metadata: {name: defaults}
spec:
  # For some clusters only:
  # clusters: {matchLabels: {env: production}}
  rules:
    - name: names
      topics: {any: true}
      except: {prefix: _}
      # Kafka takes '.' and '_' for the same in names of metrics, so only one of them is a separator.
      names: {pattern: '[a-z0-9]+([.-][a-z0-9]+)*', maxLength: 200}
      message: lower case, words joined by dots or hyphens

    - name: replicas
      topics: {any: true}
      replicationFactor: {min: 3, required: true}
      configs:
        min.insync.replicas: {min: 2, required: true}
      relations: [{value: min.insync.replicas, below: replicationFactor, required: false}]
      message: records survive the loss of a broker, and one broker may be away without stopping producers

    - name: no unclean leaders
      topics: {any: true}
      configs:
        unclean.leader.election.enable: {allowed: false, required: false}
      message: a replica that lags behind must not become leader, because it loses accepted records

    - name: partitions
      topics: {any: true}
      partitions: {max: 100, required: true}
      severity: warning
      message: every partition costs memory and time of recovery; more can be added, none taken away

    - name: retention
      topics: {any: true}
      configs:
        retention.ms: {max: 90d, required: false}
      severity: warning
      message: what is kept for longer is kept on purpose, with an exception that says why

    - name: personal data
      matchLabels: {data: personal}
      configs:
        retention.ms: {max: 30d, required: true}
        cleanup.policy: {allowed: [delete, 'compact,delete'], required: false}
      message: personal data goes within 30 days

    - name: large records
      topics: {any: true}
      configs:
        max.message.bytes: {max: 10MiB, required: false}
      severity: warning
      message: large records belong into an object store, their address into Kafka

    - name: segments
      topics: {any: true}
      relations:
        - {value: segment.ms, atMost: retention.ms, required: false}
        - {value: segment.bytes, atMost: retention.bytes, required: false}
      severity: warning
      message: retention drops whole closed segments, so a segment that is open for longer keeps its records

    - name: settings of other tools
      topics: {any: true}
      configs:
        leader.replication.throttled.replicas: {forbidden: true}
        follower.replication.throttled.replicas: {forbidden: true}
        message.format.version: {forbidden: true}
        message.downconversion.enable: {forbidden: true}
      message: throttles belong to reassignments while they run; the message settings went with Kafka 4
"""
