import java.util.Map;
import java.util.Properties;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;

/** A member of a group or a producer: a thread of its own, named for it, that obeys orders between its calls. */
abstract class Client implements Runnable {
    record Order(String verb, Map<String, String> given) {}

    final String name;
    final Map<String, String> given;
    final LinkedBlockingQueue<Order> orders = new LinkedBlockingQueue<>();
    private final String bootstrap;

    Client(String bootstrap, String name, Map<String, String> given) {
        this.bootstrap = bootstrap;
        this.name = name;
        this.given = given;
    }

    void begin() {
        Thread thread = new Thread(this, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Orders wait for the application, which obeys between two calls; some need not. */
    void order(String verb, Map<String, String> more) {
        orders.add(new Order(verb, more));
    }

    KafkaProducer<byte[], byte[]> producer(String transactionalId) {
        Properties properties = properties(transactionalId.isEmpty() || !(this instanceof Member) ? "cfg." : "producer.");
        properties.put("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        properties.put("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        if (!transactionalId.isEmpty()) properties.put("transactional.id", transactionalId);
        return new KafkaProducer<>(properties);
    }

    KafkaConsumer<byte[], byte[]> consumer() {
        Properties properties = properties("cfg.");
        properties.put("group.id", given.get("group"));
        properties.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        properties.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        return new KafkaConsumer<>(properties);
    }

    private Properties properties(String prefix) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("client.id", name);
        properties.put("enable.metrics.push", "false");
        given.forEach((key, value) -> { if (key.startsWith(prefix)) properties.put(key.substring(prefix.length()), value); });
        return properties;
    }

    static void sleep(long ms) {
        try {
            Thread.sleep(Math.max(0, ms));
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
