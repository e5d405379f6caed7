provider "kafka" { bootstrap_servers = ["broker:9092"] }
locals {
  prefix = "orders."
}
resource "kafka_topic" "placed" {
  name               = "${local.prefix}placed"
  partitions         = 12
  replication_factor = 3
  config = {
    "cleanup.policy" = "compact"
    "retention.ms"   = 3600000
  }
}
resource "kafka_acl" "reader" {
  resource_name       = kafka_topic.placed.name
  resource_type       = "Topic"
  acl_principal       = "User:CN=shop/reader"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
  depends_on          = [kafka_topic.placed]
  lifecycle { prevent_destroy = true }
}
resource "kafka_acl" "many" {
  for_each            = toset(["a", "b"])
  resource_name       = each.value
  resource_type       = "Topic"
  acl_principal       = "User:many"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
resource "kafka_acl" "variable" {
  resource_name       = "t"
  resource_type       = "Topic"
  acl_principal       = "User:${var.who}"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
resource "aws_s3_bucket" "b" {
  bucket = var.bucket
}
