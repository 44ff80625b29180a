import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.kafka.common.TopicPartition;

/** What happens to an application goes to stdout: one JSON object a line, with the instant in ms of the epoch. */
final class Telling {
    private Telling() {}

    static synchronized void tell(String kind, String who, Object... more) {
        StringBuilder json = new StringBuilder("{\"at_ms\":").append(System.currentTimeMillis());
        json.append(",\"kind\":").append(quoted(kind)).append(",\"who\":").append(quoted(who));
        for (int i = 0; i < more.length; i += 2) json.append(',').append(quoted((String) more[i])).append(':').append(value(more[i + 1]));
        System.out.println(json.append('}'));
        System.out.flush();
    }

    static void error(String kind, String who, Throwable error) {
        tell(kind, who, "error", error.getClass().getSimpleName(), "message", String.valueOf(error.getMessage()));
    }

    static List<String> names(Collection<TopicPartition> partitions) {
        return partitions.stream()
            .sorted(Comparator.comparing(TopicPartition::topic).thenComparingInt(TopicPartition::partition))
            .map(TopicPartition::toString).toList();
    }

    static TopicPartition partition(String name) {
        int dash = name.lastIndexOf('-');
        return new TopicPartition(name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
    }

    static List<TopicPartition> partitions(String names) {
        return Arrays.stream(names.split(",")).map(Telling::partition).toList();
    }

    private static String value(Object value) {
        if (value instanceof Number || value instanceof Boolean) return value.toString();
        StringJoiner joined;
        if (value instanceof Collection<?> list) {
            joined = new StringJoiner(",", "[", "]");
            for (Object each : list) joined.add(value(each));
            return joined.toString();
        }
        if (value instanceof Map<?, ?> map) {
            joined = new StringJoiner(",", "{", "}");
            map.forEach((key, each) -> joined.add(quoted(key.toString()) + ":" + value(each)));
            return joined.toString();
        }
        return quoted(String.valueOf(value));
    }

    private static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n").replace("\r", "").replace("\t", " ") + '"';
    }
}
