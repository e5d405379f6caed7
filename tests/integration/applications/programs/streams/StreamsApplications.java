import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/** Runs a Kafka Streams application for each properties file until standard input ends; prints what stops one. */
public final class StreamsApplications {

    public static void main(String[] files) throws IOException {
        List<KafkaStreams> running = new ArrayList<>();
        for (String file : files) {
            running.add(started(file));
        }
        while (System.in.read() >= 0) {
            // Until whoever started this process closes its end.
        }
        running.forEach(KafkaStreams::close);
    }

    /** A count by value: a repartition topic, a store with a changelog topic, and an output topic. */
    private static KafkaStreams started(String file) throws IOException {
        Properties settings = new Properties();
        try (InputStream stream = new FileInputStream(file)) {
            settings.load(stream);
        }
        String input = (String) settings.remove("input");
        String output = (String) settings.remove("output");
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(input, Consumed.with(Serdes.String(), Serdes.String()))
            .groupBy((key, value) -> value, Grouped.with(Serdes.String(), Serdes.String()))
            .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("counts"))
            .toStream()
            .mapValues(String::valueOf)
            .to(output, Produced.with(Serdes.String(), Serdes.String()));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setUncaughtExceptionHandler(error -> {
            StringBuilder causes = new StringBuilder();
            for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                causes.append(' ').append(cause.getClass().getSimpleName()).append(": ").append(cause.getMessage());
            }
            System.out.println(settings.get("application.id") + " stopped" + causes.toString().replace('\n', ' '));
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        return streams;
    }
}
