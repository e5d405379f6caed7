package policies;

import java.util.Map;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.AlterConfigPolicy;

/** The policy of Kafka's own AdminClientWithPoliciesIntegrationTest, and a setting on which it fails instead. */
public class TestConfigPolicy implements AlterConfigPolicy {

    @Override
    public void configure(Map<String, ?> configs) {
    }

    @Override
    public void validate(RequestMetadata request) {
        if (request.resource().type() != ConfigResource.Type.TOPIC) {
            return;
        }
        if ("1".equals(request.configs().get("flush.messages"))) {
            throw new IllegalStateException("this plug-in is broken");
        }
        if (request.configs().containsKey("min.insync.replicas")) {
            throw new PolicyViolationException("Min in sync replicas cannot be updated");
        }
    }

    @Override
    public void close() {
    }
}
