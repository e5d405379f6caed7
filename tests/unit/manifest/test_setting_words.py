"""Settings as people write them who know them from brokers and from other tools: the advice says what to write."""

import pytest

from reconciler.manifest.manifests import load
from reconciler.manifest.parts.topic_settings import setting_value
from reconciler.manifest.read.findings import Source
from reconciler.model.topic_configs import TOPIC_CONFIGS


def advice(setting: str) -> str:
    text = (
        "apiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: t}\n"
        f"spec: {{topics: [{{name: t, configs: {{{setting}}}}}]}}\n"
    )
    [problem] = load([Source("t.yaml", text)]).warnings
    return problem.advice


@pytest.mark.parametrize(
    ("setting", "meant"),
    [
        ("log.retention.ms: 1", "retention.ms: 1"),
        ("log.retention.hours: 168", "retention.ms: 168h"),
        ("log.retention.minutes: 90", "retention.ms: 90m"),
        ("log.roll.hours: 24", "segment.ms: 24h"),
        ("log.cleaner.min.cleanable.ratio: 0.5", "min.cleanable.dirty.ratio"),
        ("message.max.bytes: 1048588", "max.message.bytes: 1048588"),
        ("log.segment.bytes: 1GiB", "segment.bytes"),
        ("log.index.size.max.bytes: 10485760", "segment.index.bytes: 10485760"),
    ],
)
def test_the_name_that_a_broker_has_leads_to_the_topic_s(setting: str, meant: str) -> None:
    assert advice(setting) == f"that is the name of a broker's setting: on a topic write {meant}"


def test_a_misspelled_name_leads_to_the_nearest() -> None:
    assert advice("retention.msec: 1") == "did you mean 'retention.ms'?"


@pytest.mark.parametrize(
    ("text", "meant"),
    [("6.048e+8", "write 604800000"), ("1e3", "write 1000"), ("1_000", "write 1000"), ("7.5", "write digits alone")],
)
def test_a_whole_number_in_another_form_is_written_out(text: str, meant: str) -> None:
    with pytest.raises(ValueError, match=meant):
        setting_value("retention.ms", TOPIC_CONFIGS["retention.ms"], text)


@pytest.mark.parametrize(
    ("text", "why"), [("1.5", "is out of range"), ("-1", "is out of range"), ("half", "is not a number")]
)
def test_a_ratio_says_what_is_wrong_with_it(text: str, why: str) -> None:
    name = "min.cleanable.dirty.ratio"
    with pytest.raises(ValueError, match=why):
        setting_value(name, TOPIC_CONFIGS[name], text)
