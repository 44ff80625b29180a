-- 16. What if this broker died now?
--
-- A row for each broker, by what is so at the end of the flight.
--   leads             partitions that it leads: their clients wait for an election
--   offline           of those: partitions without another replica in sync, which would have no leader
--   below_min_isr     partitions that refuse acks=all without it: their ISR would be below the topic's declared
--                     min.insync.replicas
--   coordinates       groups that it is the coordinator of
WITH replica AS (
    SELECT run_id, partition, arg_max(isr, seq) AS isr
    FROM (
        SELECT run_id, partition, seq, isr FROM leader_elected
        UNION ALL
        SELECT run_id, partition, seq, isr FROM isr_changed
    )
    GROUP BY ALL
), leader AS (
    SELECT run_id, partition, arg_max(leader, seq) AS leader FROM leader_elected GROUP BY ALL
), now AS (
    SELECT run_id, partition, isr, leader, min_insync_replicas
    FROM replica
    JOIN leader USING (run_id, partition)
    JOIN topic_created AS topic USING (run_id)
    WHERE topic.topic = regexp_replace(partition, '-[0-9]+$', '')
), coordinates AS (
    SELECT run_id, leader AS broker, count(*) AS coordinates
    FROM group_declared JOIN leader USING (run_id)
    WHERE leader.partition = coordinator_partition
    GROUP BY ALL
)
SELECT
    broker.run_id, broker.broker,
    count(*) FILTER (leader = broker.broker) AS leads,
    count(*) FILTER (leader = broker.broker AND isr = [broker.broker]) AS offline,
    count(*) FILTER (list_contains(isr, broker.broker) AND len(isr) - 1 < min_insync_replicas) AS below_min_isr,
    coalesce(any_value(coordinates), 0) AS coordinates
FROM (SELECT DISTINCT run_id, broker FROM broker_started) AS broker
LEFT JOIN now ON now.run_id = broker.run_id
LEFT JOIN coordinates ON coordinates.run_id = broker.run_id AND coordinates.broker = broker.broker
GROUP BY broker.run_id, broker.broker
ORDER BY broker.run_id, broker.broker;
