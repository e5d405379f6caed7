"""How much goes into one request: what a broker takes without harm, and no more.

Creates: at most 1,000 bindings, far below the 10,000 records that some brokers do not survive. Deletes: the
controller scans every live binding for each filter, on the thread that also keeps brokers alive, so a request gets
about half a second of its time and is followed by a pause as long. Topics: bounded by the records they make.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from reconciler.model import Create, Topic, TopicConfigs, TopicPartitions, Update
from reconciler.plan import Phase, Step

MAX_BINDINGS: Final = 1_000
#: Seconds for one filter against one live binding, measured on Kafka 4.3.
SECONDS_PER_SCAN: Final = 0.35e-6
#: Seconds of the controller's time that one delete request may take.
DELETE_BUDGET: Final = 0.5
_MAX_TOPICS: Final = 100
#: A request of more than 10,000 records is refused as a whole; topics whose partitions the broker chooses count 1.
_MAX_RECORDS: Final = 5_000

_DELETES = {Phase.DELETE_LAST, Phase.DELETE_ALLOW, Phase.DELETE_WAITING_ALLOW, Phase.DELETE_DENY}
#: What we and the brokers need on the cluster goes in one request, however small others are to be.
_UNDIVIDED = {Phase.CREATE_FIRST, Phase.DELETE_LAST}
_CREATES = {Phase.CREATE_FIRST, Phase.CREATE_DENY, Phase.CREATE_ALLOW}


def batches(
    phase: Phase, steps: Sequence[Step], live_bindings: int, most: int | None = None
) -> Iterator[Sequence[Step]]:
    """Cut the steps of one phase, of one kind of change, into requests of at most ``most``, order kept."""
    if phase in _UNDIVIDED:
        most = None
    if phase in _CREATES:
        yield from _chunks(steps, min(MAX_BINDINGS, most or MAX_BINDINGS))
    elif phase in _DELETES:
        yield from _chunks(steps, min(delete_batch(live_bindings), most or MAX_BINDINGS))
    else:
        for batch in topic_batches(steps):
            yield from _chunks(batch, most or _MAX_TOPICS)


def delete_batch(live_bindings: int) -> int:
    """How many exact filters one delete request may hold."""
    return max(1, min(MAX_BINDINGS, int(DELETE_BUDGET / (SECONDS_PER_SCAN * max(1, live_bindings)))))


def pause_after(phase: Phase, seconds: float) -> float:
    """How long to leave the controller alone after a request that took ``seconds``."""
    return min(seconds, 2 * DELETE_BUDGET) if phase in _DELETES else 0.0


def topic_batches(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    """Cut steps on topics, of one kind of change, so that no request makes more records than a broker takes."""
    batch: list[Step] = []
    records = 0
    for step in steps:
        weight = _records(step)
        if batch and (len(batch) == _MAX_TOPICS or records + weight > _MAX_RECORDS):
            yield batch
            batch, records = [], 0
        batch.append(step)
        records += weight
    if batch:
        yield batch


def _records(step: Step) -> int:
    match step.change:
        case Create(Topic() as topic):
            return 1 + (topic.num_partitions or 1) + len(topic.configs)
        case Update(TopicPartitions(_, before), TopicPartitions(_, after)):
            return after - before
        case Update(_, TopicConfigs(_, new)):
            return len(new)
        case _:
            return 1


def _chunks(steps: Sequence[Step], size: int) -> Iterator[Sequence[Step]]:
    for start in range(0, len(steps), size):
        yield steps[start : start + size]
