import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;

/** A producer that sends at an even rate over its topics in turn, or so many records in each transaction. */
final class Sender extends Client {
    private final double rate;
    private final long limit;
    private final int each;
    private final int size;
    private final boolean aborts;
    private final String[] topics;
    private final String[] keys;
    private final String transactionalId;
    private volatile boolean abandoned;
    private KafkaProducer<byte[], byte[]> producer;
    private long sent;

    Sender(String bootstrap, String name, Map<String, String> given) {
        super(bootstrap, name, given);
        rate = Double.parseDouble(given.get("rate"));
        limit = Long.parseLong(given.getOrDefault("limit", String.valueOf(Long.MAX_VALUE)));
        each = Integer.parseInt(given.getOrDefault("records", "100"));
        size = Integer.parseInt(given.get("size"));
        aborts = Boolean.parseBoolean(given.getOrDefault("aborts", "false"));
        topics = given.get("topics").split(",");
        keys = given.containsKey("keys") ? given.get("keys").split(",") : new String[0];
        transactionalId = given.getOrDefault("transactional_id", "");
    }

    @Override public void run() {
        long begin = System.nanoTime();
        producer = producer(transactionalId);
        try {
            if (!transactionalId.isEmpty()) {
                producer.initTransactions();
                Telling.tell("transactions_initialised", name);
            }
            while (sent < limit) {
                boolean goesOn = transactionalId.isEmpty() ? sentOne(begin) : transacted(begin);
                if (!goesOn) return;
            }
            producer.flush();
            untilStopped();
        } catch (Exception error) {
            Telling.error("producer_threw", name, error);
            close(Duration.ofSeconds(1));
        }
    }

    /** The next record, when it is due; false when the producer was closed meanwhile. */
    private boolean sentOne(long begin) {
        while (true) {
            if (stopped()) return false;
            long wait = (begin + (long) (sent * 1e9 / rate) - System.nanoTime()) / 1_000_000;
            if (wait <= 0) break;
            sleep(Math.min(wait, 20));
        }
        long serial = sent++;
        producer.send(record(topics[(int) (serial % topics.length)], serial), (metadata, error) -> {
            if (error != null) Telling.error("send_failed", name, error);
            else if (transactionalId.isEmpty()) Telling.tell("acked", name, "serials", List.of(serial));
        });
        return true;
    }

    /** A record that says which it is, in its value or, without one, in a header. */
    private ProducerRecord<byte[], byte[]> record(String topic, long serial) {
        byte[] identity = (name + "#" + serial + "\0").getBytes();
        byte[] value = Arrays.copyOf(identity, size);
        if (keys.length == 0) return new ProducerRecord<>(topic, value);
        String key = keys[(int) serial];
        if (!key.endsWith("!")) return new ProducerRecord<>(topic, key.getBytes(), value);
        ProducerRecord<byte[], byte[]> tombstone = new ProducerRecord<>(topic, key.substring(0, key.length() - 1).getBytes(), null);
        tombstone.headers().add("identity", identity);
        return tombstone;
    }

    /** Obeys what was ordered meanwhile; whether that was to close. */
    private boolean stopped() {
        for (Order order; (order = orders.poll()) != null; ) {
            if (order.verb().equals("stop")) {
                close(Duration.ofMillis(Long.MAX_VALUE));
                return true;
            }
            if (order.verb().equals("abandon")) abandoned = true;
        }
        if (abandoned) sleep(20);
        return false;
    }

    /** One transaction; an error that it survives aborts it. */
    private boolean transacted(long begin) {
        long first = sent;
        try {
            producer.beginTransaction();
            for (int open = 0; open < each && sent < limit; open++) if (!sentOne(begin)) return false;
            if (!aborts) producer.flush(); // an abort drops what was not sent
            while (abandoned) if (stopped()) return false;
            if (aborts) {
                producer.abortTransaction();
                Telling.tell("transaction_aborted", name);
                return true;
            }
            producer.commitTransaction();
            Telling.tell("transaction_committed", name);
            Telling.tell("acked", name, "serials", LongStream.range(first, sent).boxed().toList());
        } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException error) {
            throw error;
        } catch (KafkaException error) {
            Telling.error("transaction_failed", name, error);
            producer.abortTransaction();
        }
        return true;
    }

    private void untilStopped() throws InterruptedException {
        while (!orders.take().verb().equals("stop")) Telling.tell("not_obeyed", name);
        close(Duration.ofMillis(Long.MAX_VALUE));
    }

    private void close(Duration patience) {
        producer.close(patience);
        Telling.tell("closed", name);
    }
}
