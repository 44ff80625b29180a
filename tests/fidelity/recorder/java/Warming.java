import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Loads the classes of a process before t = 0, where Flightdeck has none: the first consumer takes a second, and the
 * first transaction of a cluster creates `__transaction_state`.
 */
final class Warming {
    private Warming() {}

    static void warm(String bootstrap, String topic, Map<String, String> given) {
        String name = "warm-" + UUID.randomUUID();
        Map<String, String> settings = new TreeMap<>(Map.of("group", name, "cfg.auto.offset.reset", "earliest", "topics", topic));
        settings.putAll(given);
        Client client = new Client(bootstrap, name, settings) {
            @Override public void run() { }
        };
        try (KafkaProducer<byte[], byte[]> producer = client.producer(name)) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, new byte[1]));
            producer.commitTransaction();
        }
        try (KafkaConsumer<byte[], byte[]> consumer = client.consumer()) {
            consumer.subscribe(List.of(topic));
            long until = System.currentTimeMillis() + 20_000;
            while (System.currentTimeMillis() < until && consumer.poll(Duration.ofMillis(100)).isEmpty()) { }
            consumer.commitSync();
        }
        Telling.tell("warm", name);
    }
}
