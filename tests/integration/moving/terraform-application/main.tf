provider "kafka" { bootstrap_servers = ["broker:9092"] }

module "billing" {
  source = "./modules/application"
  id     = "billing"
}

module "shipping" {
  source = "./modules/application"
  id     = "shipping"
}

module "returns" {
  source = "./modules/application"
  id     = "returns"
  partitions = 12
}

module "stock" {
  source = "./modules/application"
  id     = "stock"
}
