import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.storage.internals.log.LogConfig;

/** Reads lines "NAME TAB VALUE TAB VALUE", each value as the hexadecimal digits of its UTF-16: whether Kafka parses them to equal values. */
public final class ConfigJudge {
    private ConfigJudge() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split("\t", -1);
            ConfigDef.Type type = LogConfig.configType(parts[0]).orElseThrow();
            try {
                Object one = ConfigDef.parseType(parts[0], text(parts[1]), type);
                Object other = ConfigDef.parseType(parts[0], text(parts[2]), type);
                System.out.println(Objects.equals(one, other) ? "EQUAL" : "DIFFERENT");
            } catch (ConfigException error) {
                System.out.println("INVALID");
            }
        }
    }

    private static String text(String digits) {
        StringBuilder found = new StringBuilder();
        for (int at = 0; at < digits.length(); at += 4) {
            found.append((char) Integer.parseInt(digits.substring(at, at + 4), 16));
        }
        return found.toString();
    }
}
