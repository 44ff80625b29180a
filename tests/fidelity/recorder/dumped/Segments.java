import java.nio.channels.FileChannel;
import java.nio.file.*;
import java.util.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.*;
import org.apache.kafka.coordinator.group.generated.*;
import org.apache.kafka.coordinator.transaction.*;
import org.apache.kafka.server.common.*;

/** Writes segments by Kafka's own classes, for `kafka-dump-log.sh`. */
public class Segments {
    static final List<MemoryRecords> batches = new ArrayList<>();
    static long offset = 0;

    static void add(MemoryRecords records) { batches.add(records); }

    static void write(String folder) throws Exception {
        Path file = Path.of(folder, "00000000000000000000.log");
        Files.createDirectories(file.getParent());
        Files.deleteIfExists(file);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            for (MemoryRecords each : batches) each.writeFullyTo(channel);
        }
        batches.clear();
        offset = 0;
    }
    static SimpleRecord text(long at, String key, String value) {
        return new SimpleRecord(at, key == null ? null : key.getBytes(), value == null ? null : value.getBytes());
    }
    static void keyed(long at, byte[] key, byte[] value) {
        add(MemoryRecords.withRecords(offset++, Compression.NONE, new SimpleRecord(at, key, value)));
    }
    static void record(long at, CoordinatorRecord one) {
        GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
        keyed(at, serde.serializeKey(one), serde.serializeValue(one));
    }
    static byte[] bytes(org.apache.kafka.common.protocol.Message message, short version) {
        return MessageUtil.toVersionPrefixedBytes(version, message);
    }
    static void state(long at, TransactionState state, Set<TopicPartition> partitions, long start) throws Exception {
        TxnTransitMetadata value = new TxnTransitMetadata(1000L, -1L, -1L, (short) 0, (short) -1, 60000, state,
            new HashSet<>(partitions), start, at, TransactionVersion.TV_2);
        keyed(at, TransactionLog.keyToBytes("mover-1"), TransactionLog.valueToBytes(value, TransactionVersion.TV_2));
    }

    static void records() {
        Compression none = Compression.NONE;
        add(MemoryRecords.withIdempotentRecords(0L, none, 7L, (short) 0, 0, 0,
            text(11, "k1", "checkout-1#0"), text(11, null, "checkout-1#1")));
        add(MemoryRecords.withTransactionalRecords(2L, none, 1000L, (short) 0, 0, 1, text(9120, null, "mover-1#0")));
        add(MemoryRecords.withEndTransactionMarker(3L, 9125L, 1, 1000L, (short) 0,
            new EndTransactionMarker(ControlRecordType.COMMIT, 3)));
    }

    static GroupMetadataValue generation() {
        var orders = new ConsumerProtocolAssignment.TopicPartition().setTopic("orders").setPartitions(List.of(0, 1));
        var assigned = new ConsumerProtocolAssignment.TopicPartitionCollection(List.of(orders).iterator());
        var member = new GroupMetadataValue.MemberMetadata().setMemberId("billing-1-ae29d575").setClientId("billing-1")
            .setClientHost("/127.0.0.1").setRebalanceTimeout(300000).setSessionTimeout(45000)
            .setSubscription(bytes(new ConsumerProtocolSubscription().setTopics(List.of("orders")), (short) 3))
            .setAssignment(bytes(new ConsumerProtocolAssignment().setAssignedPartitions(assigned), (short) 3));
        return new GroupMetadataValue().setProtocolType("consumer").setGeneration(1).setProtocol("range")
            .setLeader("billing-1-ae29d575").setCurrentStateTimestamp(3092).setMembers(List.of(member));
    }

    static void committed(long at, OptionalInt leaderEpoch, Uuid topicId) {
        record(at, GroupCoordinatorRecordHelpers.newOffsetCommitRecord("billing", "orders", 0,
            new OffsetAndMetadata(42L, leaderEpoch, "", 8096L, OptionalLong.empty(), topicId)));
    }

    static void groups() {
        record(3092, CoordinatorRecord.record(new GroupMetadataKey().setGroup("billing"),
            new ApiMessageAndVersion(generation(), (short) 3)));
        committed(8096, OptionalInt.empty(), Uuid.ZERO_UUID);
        committed(8097, OptionalInt.of(3), new Uuid(1L, 2L));
        record(9000, GroupCoordinatorRecordHelpers.newOffsetCommitTombstoneRecord("billing", "orders", 0));
        record(9001, GroupCoordinatorRecordHelpers.newGroupMetadataTombstoneRecord("billing"));
        record(9002, GroupCoordinatorRecordHelpers.newConsumerGroupEpochRecord("ledger", 3, 77L));
        record(9003, GroupCoordinatorRecordHelpers.newConsumerGroupTargetAssignmentMetadataRecord("ledger", 3, 9003L));
    }

    public static void main(String[] args) throws Exception {
        String to = args[0] + "/";
        records();
        write(to + "orders-0");

        groups();
        write(to + "__consumer_offsets-0");

        state(5083, TransactionState.EMPTY, Set.of(), -1);
        state(9116, TransactionState.ONGOING, Set.of(new TopicPartition("invoices", 0)), 9116);
        state(18120, TransactionState.PREPARE_COMMIT, Set.of(new TopicPartition("invoices", 0)), 9116);
        state(18130, TransactionState.COMPLETE_COMMIT, Set.of(), 9116);
        keyed(20000, TransactionLog.keyToBytes("mover-1"), null);
        write(to + "__transaction_state-0");
    }
}
