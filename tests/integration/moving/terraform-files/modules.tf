module "mail_sender" {
  source         = "../tls-app"
  consume_topics = [kafka_topic.placed.name]
}
