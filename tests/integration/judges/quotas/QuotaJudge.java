import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import org.apache.kafka.server.quota.ClientQuotaEntity.ConfigEntity;
import org.apache.kafka.server.quota.ClientQuotaManager;
import org.apache.kafka.server.quota.QuotaType;

/**
 * Kafka's own choice of a client quota. Lines with tabs come in: STATE begins a set of quotas, each QUOTA adds one (user,
 * client id, bound; "-" is none and "*" the default), an ASK (user, client id) is answered with the bound that limits.
 */
public final class QuotaJudge {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ClientQuotaManager manager = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\t", -1);
            switch (parts[0]) {
                case "STATE" -> manager = new ClientQuotaManager(
                    new ClientQuotaManagerConfig(), new Metrics(), QuotaType.PRODUCE, Time.SYSTEM, "judge");
                case "QUOTA" -> manager.updateQuota(
                    part(parts[1], ClientQuotaManager.DEFAULT_USER_ENTITY, true),
                    part(parts[2], ClientQuotaManager.DEFAULT_USER_CLIENT_ID, false),
                    Optional.of(Quota.upperBound(Double.parseDouble(parts[3]))));
                default -> System.out.println((long) manager.quota(parts[1], parts[2]).bound());
            }
        }
        System.out.flush();
        System.exit(0);
    }

    private static Optional<ConfigEntity> part(String text, ConfigEntity byDefault, boolean user) {
        if (text.equals("-")) {
            return Optional.empty();
        }
        if (text.equals("*")) {
            return Optional.of(byDefault);
        }
        return Optional.of(
            user ? new ClientQuotaManager.UserEntity(text) : new ClientQuotaManager.ClientIdEntity(text));
    }
}
