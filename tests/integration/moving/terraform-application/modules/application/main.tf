# An application: its topics, its consumer groups and its transactional ids, all named by one id.

variable "id" {
  description = "What the application is called; its names begin with it."
  type        = string
}

variable "partitions" {
  description = "Partitions of its topics of events."
  type        = number
  default     = 6
}

locals {
  principal = "User:svc-${var.id}"
}

resource "kafka_topic" "events" {
  name               = "${var.id}.events"
  partitions         = var.partitions
  replication_factor = 3
  config = {
    "retention.ms"        = "604800000"
    "min.insync.replicas" = "2"
  }
}

resource "kafka_topic" "state" {
  name               = "${var.id}.state"
  partitions         = var.partitions
  replication_factor = 3
  config = {
    "cleanup.policy"      = "compact"
    "min.insync.replicas" = "2"
  }
}

resource "kafka_topic" "dead_letters" {
  name               = "${var.id}.dead-letters"
  partitions         = 1
  replication_factor = 3
  config = {
    "retention.ms"        = "1209600000"
    "min.insync.replicas" = "2"
  }
}

resource "kafka_acl" "read_topics" {
  resource_name                = "${var.id}."
  resource_type                = "Topic"
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = local.principal
  acl_host                     = "*"
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}

resource "kafka_acl" "write_topics" {
  resource_name                = "${var.id}."
  resource_type                = "Topic"
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = local.principal
  acl_host                     = "*"
  acl_operation                = "Write"
  acl_permission_type          = "Allow"
}

resource "kafka_acl" "describe_topics" {
  resource_name                = "${var.id}."
  resource_type                = "Topic"
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = local.principal
  acl_host                     = "*"
  acl_operation                = "Describe"
  acl_permission_type          = "Allow"
}

resource "kafka_acl" "describe_configs" {
  resource_name                = "${var.id}."
  resource_type                = "Topic"
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = local.principal
  acl_host                     = "*"
  acl_operation                = "DescribeConfigs"
  acl_permission_type          = "Allow"
}

resource "kafka_acl" "read_groups" {
  resource_name                = "${var.id}-"
  resource_type                = "Group"
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = local.principal
  acl_host                     = "*"
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}

resource "kafka_acl" "describe_groups" {
  resource_name                = "${var.id}-"
  resource_type                = "Group"
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = local.principal
  acl_host                     = "*"
  acl_operation                = "Describe"
  acl_permission_type          = "Allow"
}

resource "kafka_acl" "write_transactions" {
  resource_name                = "${var.id}-tx"
  resource_type                = "TransactionalID"
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = local.principal
  acl_host                     = "*"
  acl_operation                = "Write"
  acl_permission_type          = "Allow"
}

resource "kafka_acl" "describe_transactions" {
  resource_name                = "${var.id}-tx"
  resource_type                = "TransactionalID"
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = local.principal
  acl_host                     = "*"
  acl_operation                = "Describe"
  acl_permission_type          = "Allow"
}

resource "kafka_acl" "read_directory" {
  resource_name                = "reference.directory"
  resource_type                = "Topic"
  resource_pattern_type_filter = "Literal"
  acl_principal                = local.principal
  acl_host                     = "*"
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}

resource "kafka_acl" "describe_directory" {
  resource_name                = "reference.directory"
  resource_type                = "Topic"
  resource_pattern_type_filter = "Literal"
  acl_principal                = local.principal
  acl_host                     = "*"
  acl_operation                = "Describe"
  acl_permission_type          = "Allow"
}

resource "kafka_acl" "read_calendar" {
  resource_name                = "reference.calendar"
  resource_type                = "Topic"
  resource_pattern_type_filter = "Literal"
  acl_principal                = local.principal
  acl_host                     = "*"
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}
