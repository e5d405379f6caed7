"""Terraform's files without a state: what literals, modules, for_each and count decide is converted, the rest named."""

from pathlib import Path

import pytest

from reconciler.parts.convert.conversion import ConversionResult
from reconciler.parts.convert.files import SourceError, source_files
from reconciler.parts.convert.recognition import convert

#: As a company with a module for each application has it: 568 calls of one module like this, and topics beside them.
_APPLICATION = """\
variable "produce_topics" {
  type    = list(string)
  default = []
}
variable "consume_topics" {
  type    = set(string)
  default = []
}
variable "consume_groups" { default = [] }
variable "common_name" {
  type = string
  validation {
    condition     = length(var.common_name) <= 64
    error_message = "64 at most"
  }
}
locals { user = "CN=${var.common_name}" }
output "user" { value = local.user }
resource "kafka_acl" "read" {
  for_each            = var.consume_topics
  resource_name       = each.value
  resource_type       = "Topic"
  acl_principal       = "User:${local.user}"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
resource "kafka_acl" "group" {
  for_each            = toset(var.consume_groups)
  resource_name       = each.key
  resource_type       = "Group"
  acl_principal       = "User:${local.user}"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
resource "kafka_acl" "write" {
  for_each            = toset(var.produce_topics)
  resource_name       = each.key
  resource_type       = "Topic"
  acl_principal       = "User:${local.user}"
  acl_host            = "*"
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}
"""
_TEAM = """\
resource "kafka_topic" "placed" {
  name               = "shop.placed"
  partitions         = 6
  replication_factor = 3
}
module "mailer" {
  source         = "../../modules/application"
  common_name    = "shop/mailer"
  produce_topics = [kafka_topic.placed.name, "audit"]
  consume_topics = ["orders", "orders"]
  consume_groups = ["mailer"]
}
module "readers" {
  for_each       = { one = ["a"], two = ["b", "c"] }
  source         = "../../modules/application"
  common_name    = "shop/${each.key}"
  consume_topics = each.value
}
resource "kafka_acl" "by_output" {
  resource_name       = "out"
  resource_type       = "Topic"
  acl_principal       = "User:${module.mailer.user}"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""


def _converted(directory: Path, **files: str) -> ConversionResult:
    """The files, by path with ``__`` for ``/``, as they are converted."""
    for name, text in files.items():
        path = directory / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return convert("terraform", source_files(str(directory)))


def _topics(directory: Path, text: str, **files: str) -> tuple[list[str], list[str]]:
    """The topics of one ``main.tf``, and the reasons of what is not converted."""
    found = _converted(directory, main_dot_tf=text, **files)
    return sorted(found.topics), [remark.reason.partition(": only")[0] for remark in found.skipped]


def _topic(name: str, more: str = "") -> str:
    return f'resource "kafka_topic" "t" {{\n  name = {name}\n  partitions = 1\n  replication_factor = 1\n{more}}}\n'


def test_modules_by_a_relative_path_are_evaluated(tmp_path: Path) -> None:
    files = {"teams__shop__main_dot_tf": _TEAM, "modules__application__main_dot_tf": _APPLICATION}
    found = _converted(tmp_path, **files)
    assert (found.skipped, found.unmanaged) == ((), ())
    assert [*found.topics] == ["shop.placed"]
    assert {str(binding) for binding in found.bindings} == {
        "User:CN=shop/mailer ALLOW WRITE on TOPIC shop.placed",
        "User:CN=shop/mailer ALLOW WRITE on TOPIC audit",
        "User:CN=shop/mailer ALLOW READ on TOPIC orders",
        "User:CN=shop/mailer ALLOW READ on GROUP mailer",
        "User:CN=shop/mailer ALLOW READ on TOPIC out",
        "User:CN=shop/one ALLOW READ on TOPIC a",
        "User:CN=shop/two ALLOW READ on TOPIC b",
        "User:CN=shop/two ALLOW READ on TOPIC c",
    }
    places = {found.origins[binding] for binding in found.bindings if "TOPIC c" in str(binding)}
    assert places == {"teams/shop/main.tf:13 module.readers[two].kafka_acl.read[c]"}


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        (_topic("each.value", '  for_each = toset(["a", "b", "a"])\n'), ["a", "b"]),
        (_topic("each.value.name", '  for_each = { x = { name = "a" } }\n'), ["a"]),
        (_topic('"t-${count.index}"', "  count = 2\n"), ["t-0", "t-1"]),
        ('variable "on" { default = false }\n' + _topic('"a"', "  count = var.on ? 1 : 0\n") + _topic('"b"'), ["b"]),
        (
            'locals { all = { for n in ["a", "b"] : n => "x.${n}" if n != "b" } }\n'
            + _topic("each.value", "  for_each = local.all\n"),
            ["x.a"],
        ),
        (_topic("each.key", "  for_each = merge({ a = 1 }, { b = 2 })\n"), ["a", "b"]),
        (_topic("each.key", '  for_each = setunion(["a"], keys({ b = 2 }))\n'), ["a", "b"]),
        (_topic('join(".", concat(["a"], [upper("b")]))'), ["a.B"]),
        (_topic('lookup({ a = "n" }, "a", "other")'), ["n"]),
    ],
)
def test_what_literals_decide_is_converted(text: str, topics: list[str], tmp_path: Path) -> None:
    assert _topics(tmp_path, text) == (topics, [])


_VARIABLE = 'variable "env" { default = "dev" }\n'


def test_a_default_of_a_variable_is_taken_and_named(tmp_path: Path) -> None:
    found = _converted(tmp_path, main_dot_tf=_VARIABLE + _topic('"${var.env}.a"'))
    assert [*found.topics] == ["dev.a"]
    [remark] = found.unmanaged
    assert str(remark).startswith("main.tf:1: var.env: its default is taken: -var, -var-file and TF_VAR_env")


def test_terraform_s_own_file_of_variables_is_read(tmp_path: Path) -> None:
    assert _topics(tmp_path, _VARIABLE + _topic('"${var.env}.a"'), terraform_dot_tfvars='env = "prod"\n') == (
        ["prod.a"],
        [],
    )


@pytest.mark.parametrize("file", ["prod.tfvars", "env__prod.tfvars", "other__terraform.tfvars"])
def test_a_variable_that_another_file_can_set_is_not_told(file: str, tmp_path: Path) -> None:
    topics, reasons = _topics(tmp_path, _VARIABLE + _topic('"${var.env}.a"'), **{file: 'env = "prod"\n'})
    assert (topics, reasons) == ([], [f"var.env, which {file.replace('__', '/')} can set"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('variable "name" {}\n' + _topic("var.name"), "var.name"),
        (_topic('file("name")'), 'file("name")'),
        (_topic("data.external.x.name"), "data.external.x.name"),
        (_topic("each.value", '  for_each = ["a"]\n'), "for_each"),
        (_topic('"a"', "  count = length(data.x.y)\n"), "data.x.y"),
        ("locals {\n  a = local.b\n  b = local.a\n}\n" + _topic("local.a"), "local.a"),
        (_topic('"a${1 == "1"}"'), '1 == "1"'),
        (_topic('{ a = 1 }["b"]'), '{a = 1}["b"]'),
        (
            'variable "o" {\n  type = object({ n = optional(string, "x") })\n  default = {}\n}\n' + _topic("var.o.n"),
            "var.o of ",
        ),
        ('module "m" { source = "terraform-aws-modules/msk/aws" }\n', "a module"),
        ('module "m" { source = "../elsewhere" }\n', "its source is not below the given directory"),
        ('module "m" {\n  source = "./m"\n  count = data.x.y\n}\n', "data.x.y"),
    ],
)
def test_what_the_files_do_not_decide_is_named(text: str, reason: str, tmp_path: Path) -> None:
    topics, reasons = _topics(tmp_path, text, m__main_dot_tf=_topic('"inside"'))
    assert [found[: len(reason)] for found in reasons] == [reason]
    assert topics == ([] if '"./m"' in text else ["inside"])


def test_what_grows_without_an_end_is_given_up(tmp_path: Path) -> None:
    laughs = ["locals {", '  l0 = ["ha", "ha"]']
    laughs += [f"  l{n} = flatten([for x in local.l{n - 1} : [x, x]])" for n in range(1, 40)]
    topics, reasons = _topics(tmp_path, "\n".join([*laughs, "}", _topic("local.l39[0]")]))
    assert (topics, len(reasons)) == ([], 1)


_BESIDE = """\
resource "redpanda_cluster" "c" {
  name              = "c"
  resource_group_id = redpanda_resource_group.r.id
}
resource "redpanda_topic" "t" {
  name               = "orders"
  partition_count    = 3
  replication_factor = 3
  cluster_api_url    = redpanda_cluster.c.cluster_api_url
}
resource "redpanda_acl" "a" {
  resource_type         = "TOPIC"
  resource_name         = redpanda_topic.t.name
  resource_pattern_type = "LITERAL"
  principal             = "User:svc"
  host                  = "*"
  operation             = "READ"
  permission_type       = "ALLOW"
  cluster_api_url       = redpanda_cluster.c.cluster_api_url
}
"""
_CONFLUENT = """\
resource "confluent_kafka_cluster" "{0}" {{
  display_name = "x"
  dynamic "standard" {{
    for_each = var.standard
    content {{}}
  }}
}}
resource "confluent_kafka_topic" "{0}" {{
  topic_name       = "orders-{0}"
  partitions_count = 3
  rest_endpoint    = confluent_kafka_cluster.{0}.rest_endpoint
  kafka_cluster {{
    id = confluent_kafka_cluster.{0}.id
  }}
  credentials {{
    key    = confluent_api_key.k.id
    secret = confluent_api_key.k.secret
  }}
}}
"""


@pytest.mark.parametrize(
    ("text", "topic", "bindings"),
    [(_BESIDE, "orders", ["User:svc ALLOW READ on TOPIC orders"]), (_CONFLUENT.format("x"), "orders-x", [])],
)
def test_an_attribute_that_decides_nothing_loses_no_resource(
    text: str, topic: str, bindings: list[str], tmp_path: Path
) -> None:
    found = _converted(tmp_path, main_dot_tf=text)
    assert found.skipped == ()
    assert ([*found.topics], [str(binding) for binding in found.bindings]) == ([topic], bindings)
    assert [remark.reason for remark in found.unmanaged] == ["no ACL, topic, quota or SCRAM user of Kafka"]


def test_two_clusters_are_told_apart_by_what_names_them(tmp_path: Path) -> None:
    text = _CONFLUENT.format("x") + _CONFLUENT.format("y")
    with pytest.raises(SourceError, match=r"choose one of confluent_kafka_cluster\.x\.id, confluent_kafka_cluster\.y"):
        _converted(tmp_path, main_dot_tf=text)


def test_an_attribute_that_decides_and_needs_terraform_is_named(tmp_path: Path) -> None:
    found = _converted(tmp_path, main_dot_tf=_BESIDE.replace('"READ"', "var.operation"))
    assert [remark.subject for remark in found.skipped] == ["redpanda_acl.a"]


def test_access_of_another_kind_is_named_though_its_attributes_are_unknown(tmp_path: Path) -> None:
    text = 'resource "confluent_role_binding" "r" {\n  principal = "User:${var.id}"\n  role_name = "Admin"\n}\n'
    found = _converted(tmp_path, main_dot_tf=text)
    assert [remark.subject for remark in found.skipped] == ["confluent_role_binding.r"]
