import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.placement.ClusterDescriber;
import org.apache.kafka.metadata.placement.PlacementSpec;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.metadata.placement.UsableBroker;

/**
 * What kafka-reassign-partitions --generate proposes: its ReassignPartitionsCommand asks this class, as controllers do
 * for new topics. Lines come in, "seed partitions factor id:rack id:rack …"; one goes out for each, "1,2 2,3 …".
 */
public final class PlacementJudge {
    private record Described(List<UsableBroker> brokers) implements ClusterDescriber {
        public Iterator<UsableBroker> usableBrokers() {
            return brokers.iterator();
        }

        public Uuid defaultDir(int broker) {
            return Uuid.ZERO_UUID;
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            List<UsableBroker> brokers = new ArrayList<>();
            for (int i = 3; i < words.length; i++) {
                String[] parts = words[i].split(":", 2);
                Optional<String> rack = parts[1].isEmpty() ? Optional.empty() : Optional.of(parts[1]);
                brokers.add(new UsableBroker(Integer.parseInt(parts[0]), rack, false));
            }
            PlacementSpec wanted = new PlacementSpec(0, Integer.parseInt(words[1]), Short.parseShort(words[2]));
            System.out.println(new StripedReplicaPlacer(new Random(Long.parseLong(words[0])))
                .place(wanted, new Described(brokers)).assignments().stream()
                .map(one -> one.replicas().stream().map(String::valueOf).collect(Collectors.joining(",")))
                .collect(Collectors.joining(" ")));
        }
    }
}
