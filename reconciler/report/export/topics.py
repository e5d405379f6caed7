"""Live topics as ``Topics`` documents, with all that is set on them."""

from collections.abc import Iterable, Sequence
from typing import Final

from reconciler.model import Topic, normal_form, readable
from reconciler.report.export.file_names import stem
from reconciler.report.export.yaml_text import mapping, scalar

#: More than these are split into files by what stands before the first dot.
ONE_FILE: Final = 50


def topic_files(topics: Sequence[Topic]) -> dict[str, list[str]]:
    """Lines by path: ``topics.yaml``, or ``topics/<prefix>.yaml`` where there are many."""
    if not topics:
        return {}
    if len(topics) <= ONE_FILE:
        return {"topics.yaml": topics_document("topics", topics)}
    groups: dict[str, list[Topic]] = {}
    for topic in topics:
        prefix, dot, _ = topic.name.partition(".")
        groups.setdefault(stem(prefix).lower() if dot else "others", []).append(topic)
    return {f"topics/{name}.yaml": topics_document(name, group) for name, group in sorted(groups.items())}


def topics_document(name: str, topics: Iterable[Topic]) -> list[str]:
    """The lines of one ``Topics`` document, topics in the order of their names."""
    lines = [
        "apiVersion: reconciler/v1",
        "kind: Topics",
        f"metadata: {{name: {scalar(name, flow=True)}}}",
        "spec:",
        "  topics:",
    ]
    for topic in sorted(topics):
        lines.extend(_topic_lines(topic))
    return lines


def _topic_lines(topic: Topic) -> list[str]:
    lines = [f"    - name: {scalar(topic.name)}"]
    if topic.num_partitions is not None:
        lines.append(f"      partitions: {topic.num_partitions}")
    if topic.replication_factor is not None:
        lines.append(f"      replicationFactor: {topic.replication_factor}")
    if topic.configs:
        settings = {name: readable(name, normal_form(name, text)) for name, text in topic.configs.items()}
        lines.extend(mapping("configs", settings, 6))
    return lines
