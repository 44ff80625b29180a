import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.ProducerFencedException;

/** A consumer and the loop of its application, as FIDELITY.md says that Flightdeck's behaves. */
final class Member extends Client implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(50);

    private final String commit;
    private volatile double perRecordMs;
    private KafkaConsumer<byte[], byte[]> consumer;
    private KafkaProducer<byte[], byte[]> producer;

    Member(String bootstrap, String name, Map<String, String> given) {
        super(bootstrap, name, given);
        commit = given.getOrDefault("commit", "auto");
        perRecordMs = Double.parseDouble(given.getOrDefault("per_record_ms", "0"));
    }

    /** How fast an application works counts from its next batch; all else is obeyed between two polls. */
    @Override void order(String verb, Map<String, String> more) {
        if (verb.equals("slow")) perRecordMs = Double.parseDouble(more.get("ms"));
        else super.order(verb, more);
    }

    @Override public void run() {
        try {
            if (given.containsKey("writes")) producer = producer(commit.equals("transaction") ? name : "");
            if (commit.equals("transaction")) {
                producer.initTransactions();
                Telling.tell("transactions_initialised", name);
            }
            consumer = consumer();
            if (given.containsKey("assign")) consumer.assign(Telling.partitions(given.get("assign")));
            else if (given.containsKey("regex")) consumer.subscribe(new SubscriptionPattern(given.get("regex")), this);
            else consumer.subscribe(List.of(given.get("topics").split(",")), this);
            live();
        } catch (RuntimeException error) {
            Telling.error("producer_threw", name, error);
            close();
        }
    }

    private void live() {
        while (true) {
            for (Order order; (order = orders.poll()) != null; ) if (!obeyed(order)) return;
            ConsumerRecords<byte[], byte[]> records;
            try {
                records = consumer.poll(POLL);
            } catch (RuntimeException error) {
                Telling.error("poll_threw", name, error);
                if (error instanceof FencedInstanceIdException && !"consumer".equals(given.get("cfg.group.protocol"))) untilStopped();
                close();
                return;
            }
            if (!records.isEmpty()) handle(records);
        }
    }

    private void handle(ConsumerRecords<byte[], byte[]> records) {
        double each = perRecordMs;
        if (commit.equals("before-processing") && !committed()) return;
        if (commit.equals("transaction")) {
            inTransaction(records, each);
            return;
        }
        for (ConsumerRecord<byte[], byte[]> record : records) work(record, each);
        if (each == 0) finished(records);
        if (producer != null && !commit.equals("auto")) producer.flush();
        if (commit.equals("after-each-poll")) committed();
        if (commit.equals("async")) consumer.commitAsync((offsets, error) -> { if (error != null) Telling.error("commit_threw", name, error); });
    }

    private void work(ConsumerRecord<byte[], byte[]> record, double each) {
        if (each > 0) {
            sleep((long) each);
            finished(List.of(record)); // one by one: it may be killed in the middle
        }
        if (producer != null) producer.send(new ProducerRecord<>(given.get("writes"), record.key(), record.value()));
    }

    /** As in ExactlyOnceMessageProcessor of Kafka's examples. */
    private void inTransaction(ConsumerRecords<byte[], byte[]> records, double each) {
        try {
            producer.beginTransaction();
            for (ConsumerRecord<byte[], byte[]> record : records) work(record, each);
            if (each == 0) finished(records);
            Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
            for (TopicPartition partition : consumer.assignment()) positions.put(partition, new OffsetAndMetadata(consumer.position(partition)));
            producer.sendOffsetsToTransaction(positions, consumer.groupMetadata());
            producer.commitTransaction();
        } catch (ProducerFencedException error) {
            throw error;
        } catch (KafkaException error) {
            Telling.error("commit_threw", name, error);
            producer.abortTransaction();
            Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
            for (TopicPartition partition : records.partitions()) {
                OffsetAndMetadata at = committed.get(partition);
                if (consumer.assignment().contains(partition)) consumer.seek(partition, at == null ? records.records(partition).get(0).offset() : at.offset());
            }
        }
    }

    private void finished(Iterable<ConsumerRecord<byte[], byte[]>> records) {
        Map<String, List<Long>> serials = new TreeMap<>();
        for (ConsumerRecord<byte[], byte[]> record : records) {
            byte[] said = record.value() == null ? record.headers().lastHeader("identity").value() : record.value();
            String[] identity = new String(said).split("\0")[0].split("#");
            serials.computeIfAbsent(identity[0], key -> new ArrayList<>()).add(Long.parseLong(identity[1]));
        }
        Telling.tell("finished", name, "group", given.get("group"), "read", serials);
    }

    private boolean committed() {
        try {
            consumer.commitSync();
            return true;
        } catch (RuntimeException error) {
            Telling.error("commit_threw", name, error);
            if (error instanceof FencedInstanceIdException) throw error;
            return false;
        }
    }

    private void untilStopped() {
        try {
            while (!orders.take().verb().equals("stop")) Telling.tell("not_obeyed", name);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    private boolean obeyed(Order order) {
        switch (order.verb()) {
            case "stop" -> {
                close();
                return false;
            }
            case "stall" -> sleep(Long.parseLong(order.given().get("ms")));
            case "subscribe" -> consumer.subscribe(List.of(order.given().get("topics").split(",")), this);
            case "pause" -> {
                consumer.pause(named(order, consumer.assignment()));
                Telling.tell("paused", name, "partitions", Telling.names(named(order, consumer.assignment())));
            }
            case "resume" -> {
                Collection<TopicPartition> those = named(order, consumer.paused());
                consumer.resume(those);
                Telling.tell("resumed", name, "partitions", Telling.names(those));
            }
            case "positions" -> {
                Map<String, Long> positions = new TreeMap<>();
                for (TopicPartition each : consumer.assignment()) positions.put(each.toString(), consumer.position(each));
                Telling.tell("positions", name, "offsets", positions, "paused", Telling.names(consumer.paused()));
            }
            default -> throw new IllegalArgumentException(order.verb());
        }
        return true;
    }

    private static Collection<TopicPartition> named(Order order, Collection<TopicPartition> all) {
        String names = order.given().get("partitions");
        return names.isEmpty() ? all : Telling.partitions(names);
    }

    private void close() {
        try {
            if (producer != null) producer.close(Duration.ofSeconds(5));
            if (consumer != null) consumer.close();
        } catch (RuntimeException error) {
            Telling.error("close_threw", name, error);
        }
        Telling.tell("closed", name);
    }

    @Override public void onPartitionsAssigned(Collection<TopicPartition> partitions) { Telling.tell("assigned", name, "partitions", Telling.names(partitions)); }

    @Override public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        sleep(Long.parseLong(given.getOrDefault("revoke_ms", "0")));
        Telling.tell("revoked", name, "partitions", Telling.names(partitions));
    }

    @Override public void onPartitionsLost(Collection<TopicPartition> partitions) { Telling.tell("lost", name, "partitions", Telling.names(partitions)); }
}
