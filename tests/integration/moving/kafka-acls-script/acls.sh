#!/bin/bash
# Grants of the shop; it's run by hand.
set -e
BOOTSTRAP=${1:-localhost:9092}
KAFKA=/opt/kafka/bin

$KAFKA/kafka-acls.sh --bootstrap-server "$BOOTSTRAP" --command-config <(cat admin.properties) --list
$KAFKA/kafka-acls.sh --bootstrap-server "$BOOTSTRAP" --command-config admin.properties \
  --add --allow-principal User:CN=shop,OU=web \
  --operation Read --operation Describe \
  --topic "shop.orders" --topic 'shop refunds*' --group=shop 2>&1 | tee log
sudo docker exec -it broker kafka-acls --bootstrap-server $BOOTSTRAP --add --force \
  --deny-principal "User:guest" --deny-host 10.0.0.4 --allow-principal User:all --topic '*' --resource-pattern-type literal
kafka-acls --bootstrap-server x:9092 --add --allow-principal User:writer --producer --idempotent --topic shop. --resource-pattern-type prefixed --transactional-id tx-; kafka-acls --bootstrap-server x --add --allow-principal User:reader --consumer --topic orders --group readers
kafka-acls --bootstrap-server x --add --allow-principal "User:$WHO" --operation Write --topic t
kafka-acls --bootstrap-server x --add --allow-principal User:glob --operation Write --topic *
kafka-acls --bootstrap-server x --remove --allow-principal User:old --topic t
for t in a b; do
  kafka-acls --bootstrap-server x --add --allow-principal User:loop --operation Write --topic fixed
done
grant() { kafka-acls --bootstrap-server x --add --allow-principal User:called --operation Write --topic t; }
kafka-acls --bootstrap-server x --add --allow-principal User:cluster --operation IdempotentWrite --cluster
kafka-acls --bootstrap-server x --add --allow-principal User:odd --operation Read --topic t group=*
ssh broker "kafka-acls --bootstrap-server x --add --allow-principal User:far --operation Read --topic t"
kafka-topics --bootstrap-server x --create --if-not-exists --topic orders --partitions 6 --replication-factor 3 --config cleanup.policy=compact
kafka-topics --bootstrap-server x --alter --topic orders --partitions 12
kafka-configs --bootstrap-server x --alter --add-config 'SCRAM-SHA-512=[password=secret]' --entity-type users --entity-name shop
kafka-acls --bootstrap-server x --add --allow-principal User:all-ops --group g
