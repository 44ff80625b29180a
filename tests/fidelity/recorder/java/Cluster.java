import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** What an administrator does to the cluster, and what is looked up in it. */
final class Cluster {
    private final Admin admin;

    Cluster(String bootstrap) {
        admin = Admin.create(Map.<String, Object>of("bootstrap.servers", bootstrap, "client.id", "warm-admin", "enable.metrics.push", "false"));
    }

    void order(String verb, String name, Map<String, String> given) throws Exception {
        switch (verb) {
            case "create" -> create(name, given);
            case "grow" -> admin.createPartitions(Map.of(name, NewPartitions.increaseTo(Integer.parseInt(given.get("to"))))).all().get();
            case "delete_records" -> admin.deleteRecords(Map.of(Telling.partition(name), RecordsToDelete.beforeOffset(Long.parseLong(given.get("before"))))).all().get();
            case "elect" -> admin.electLeaders(ElectionType.valueOf(given.get("kind")), Set.of(Telling.partition(name))).partitions().get();
            case "reassign" -> admin.alterPartitionReassignments(Map.of(Telling.partition(name), replicas(given.get("to")))).all().get();
            case "configure" -> admin.incrementalAlterConfigs(Map.of(
                new ConfigResource(ConfigResource.Type.TOPIC, name),
                List.of(new AlterConfigOp(new ConfigEntry(given.get("key"), given.get("value")), AlterConfigOp.OpType.SET)))).all().get();
            case "offsets" -> offsets(name);
            case "committed" -> committed(name);
            case "description" -> description(name);
            case "records" -> Telling.tell("records", name);
            default -> throw new IllegalArgumentException(verb);
        }
        Telling.tell("done", name, "verb", verb);
    }

    /** Where a partition goes, 3,1; nowhere: its reassignment is cancelled. */
    private static Optional<NewPartitionReassignment> replicas(String to) {
        if (to.isEmpty()) return Optional.empty();
        return Optional.of(new NewPartitionReassignment(Arrays.stream(to.split(",")).map(Integer::valueOf).toList()));
    }

    /** `replicas` of each partition: 1,2,3/2,3,1. */
    private void create(String name, Map<String, String> given) throws Exception {
        Map<Integer, List<Integer>> replicas = new TreeMap<>();
        for (String each : given.get("replicas").split("/"))
            replicas.put(replicas.size(), Arrays.stream(each.split(",")).map(Integer::valueOf).toList());
        Map<String, String> configs = new TreeMap<>();
        given.forEach((key, value) -> { if (key.startsWith("cfg.")) configs.put(key.substring(4), value); });
        admin.createTopics(List.of(new NewTopic(name, replicas).configs(configs))).all().get();
    }

    /** Where a topic's logs begin, how far they can be read, and how far a reader of committed data gets, in all. */
    private void offsets(String topic) throws Exception {
        Collection<TopicPartition> partitions = new ArrayList<>();
        admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().forEach(each -> partitions.add(new TopicPartition(topic, each.partition())));
        Telling.tell("offsets", topic,
            "start", sum(partitions, OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED),
            "stable", sum(partitions, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED),
            "end", sum(partitions, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED));
    }

    private long sum(Collection<TopicPartition> partitions, OffsetSpec spec, IsolationLevel isolation) throws Exception {
        Map<TopicPartition, OffsetSpec> wanted = new java.util.HashMap<>();
        for (TopicPartition each : partitions) wanted.put(each, spec);
        return admin.listOffsets(wanted, new ListOffsetsOptions(isolation)).all().get().values().stream().mapToLong(each -> each.offset()).sum();
    }

    /** The state of a group, how many members it has, and what is committed in its name. */
    private void committed(String group) throws Exception {
        ConsumerGroupDescription described = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        Map<String, Long> offsets = new TreeMap<>();
        admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().forEach((each, at) -> offsets.put(each.toString(), at.offset()));
        Telling.tell("committed", group, "state", described.groupState().toString(), "members", described.members().size(), "offsets", offsets);
    }

    /** What ConsumerGroupDescribe says of a group of the new protocol. */
    private void description(String group) throws Exception {
        ConsumerGroupDescription described = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        List<Map<String, Object>> members = new ArrayList<>();
        described.members().forEach(each -> members.add(Map.of(
            "client", each.clientId(),
            "instance", each.groupInstanceId().orElse(""),
            "epoch", each.memberEpoch().orElse(-1),
            "has", Telling.names(each.assignment().topicPartitions()),
            "target", each.targetAssignment().map(one -> Telling.names(one.topicPartitions())).orElse(List.of()))));
        Telling.tell("description", group, "type", described.type().toString(), "state", described.groupState().toString(),
            "epoch", described.groupEpoch().orElse(-1), "assignment_epoch", described.targetAssignmentEpoch().orElse(-1),
            "assignor", described.partitionAssignor(), "members", members);
    }
}
