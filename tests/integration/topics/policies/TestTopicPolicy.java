package policies;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.CreateTopicPolicy;

/** The policy of Kafka's own CreateTopicsRequestWithPolicyTest, and topics on which it fails or waits instead. */
public class TestTopicPolicy implements CreateTopicPolicy {

    @Override
    public void configure(Map<String, ?> configs) {
    }

    @Override
    public void validate(RequestMetadata request) {
        if (request.topic().startsWith("broken.")) {
            throw new IllegalStateException("this plug-in is broken");
        }
        if (request.topic().startsWith("__") || !request.topic().startsWith("policy.")) {
            return;
        }
        if (request.replicasAssignments() != null) {
            for (Map.Entry<Integer, List<Integer>> partition : request.replicasAssignments().entrySet()) {
                if (partition.getValue().size() < 2) {
                    throw new PolicyViolationException("Topic partitions should have at least 2 partitions, received "
                        + partition.getValue().size() + " for partition " + partition.getKey());
                }
            }
            return;
        }
        if (request.numPartitions() < 5) {
            throw new PolicyViolationException(
                "Topics should have at least 5 partitions, received " + request.numPartitions());
        }
        String retention = request.configs().get("retention.ms");
        if (request.numPartitions() > 10 && (retention == null || Long.parseLong(retention) > 5000)) {
            throw new PolicyViolationException("RetentionMs should be less than 5000ms if partitions > 10");
        }
    }

    @Override
    public void close() {
    }
}
