import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.connect.mirror.MirrorMaker;

/** Runs a dedicated MirrorMaker 2 for each properties file, until this process is killed. */
public final class Mirrors {

    public static void main(String[] files) throws IOException {
        List<MirrorMaker> running = new ArrayList<>();
        for (String file : files) {
            Properties settings = new Properties();
            try (InputStream stream = new FileInputStream(file)) {
                settings.load(stream);
            }
            running.add(new MirrorMaker(Utils.propsToStringMap(settings)));
        }
        running.forEach(MirrorMaker::start);
        running.forEach(MirrorMaker::awaitStop);
    }
}
