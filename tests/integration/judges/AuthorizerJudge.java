import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;

/**
 * Kafka's own authorizer without a broker. Lines with tabs come in: STATE begins a set of ACLs, each ACL adds one, an
 * ASK is answered with ALLOWED or DENIED, a RANGE with what CidrUtils says of an address in a host text.
 */
public final class AuthorizerJudge {
    private record Context(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
        public String listenerName() {
            return "L";
        }

        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.SASL_PLAINTEXT;
        }

        public int requestType() {
            return 0;
        }

        public int requestVersion() {
            return 0;
        }

        public String clientId() {
            return "c";
        }

        public int correlationId() {
            return 0;
        }
    }

    private static KafkaPrincipal principal(String text) {
        int colon = text.indexOf(':');
        return new KafkaPrincipal(text.substring(0, colon), text.substring(colon + 1));
    }

    /** Since 4.1 it refuses to decide without metrics (KIP-877); classes of other versions have no such method. */
    private static void measure(StandardAuthorizer authorizer) throws ReflectiveOperationException {
        for (Method method : StandardAuthorizer.class.getMethods()) {
            if (method.getName().equals("withPluginMetrics")) {
                Class<?> plugin = Class.forName("org.apache.kafka.common.metrics.internals.PluginMetricsImpl");
                method.invoke(
                    authorizer, plugin.getConstructor(Metrics.class, Map.class).newInstance(new Metrics(), Map.of()));
            }
        }
    }

    private static String inRange(String host, String text) throws ReflectiveOperationException {
        Class<?> utils = Class.forName("org.apache.kafka.server.authorizer.internals.CidrUtils");
        try {
            utils.getMethod("validate", String.class).invoke(null, text);
        } catch (java.lang.reflect.InvocationTargetException error) {
            return "INVALID";
        }
        return utils.getMethod("isInRange", String.class, String.class).invoke(null, host, text).toString();
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        StandardAuthorizer authorizer = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\t", -1);
            switch (parts[0]) {
                case "STATE" -> {
                    Map<String, Object> settings = new HashMap<>();
                    settings.put("node.id", "1");
                    settings.put("allow.everyone.if.no.acl.found", parts[1]);
                    settings.put("super.users", parts[2]);
                    authorizer = new StandardAuthorizer();
                    measure(authorizer);
                    authorizer.configure(settings);
                    authorizer.completeInitialLoad();
                }
                case "ACL" -> authorizer.addAcl(Uuid.randomUuid(), new StandardAcl(
                    ResourceType.valueOf(parts[1]), parts[2], PatternType.valueOf(parts[3]), parts[4], parts[5],
                    AclOperation.valueOf(parts[6]), AclPermissionType.valueOf(parts[7])));
                case "ASK" -> {
                    InetAddress address = InetAddress.getByName(parts[2]);
                    if (!address.getHostAddress().equals(parts[2])) {
                        throw new IllegalArgumentException(parts[2] + " is printed as " + address.getHostAddress());
                    }
                    ResourcePattern pattern =
                        new ResourcePattern(ResourceType.valueOf(parts[4]), parts[5], PatternType.LITERAL);
                    Action action = new Action(AclOperation.valueOf(parts[3]), pattern, 1, true, true);
                    Context context = new Context(principal(parts[1]), address);
                    out.println(authorizer.authorize(context, List.of(action)).get(0));
                }
                case "RANGE" -> out.println(inRange(parts[1], parts[2]));
                default -> throw new IllegalArgumentException(line);
            }
        }
        out.flush();
    }

    private AuthorizerJudge() {}
}
