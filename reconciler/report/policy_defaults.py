"""A topic policy to begin with, where no cluster can be asked: what is rarely wrong for topics that matter."""

from typing import Final

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
      message: a replica that lags behind must not become leader, because it loses acknowledged records

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
      message: what is kept for longer is kept on purpose, with a waiver that says why

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
