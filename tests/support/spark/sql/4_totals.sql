-- Totals of each topic, and of each group's topics.

CREATE TABLE sent AS
SELECT run_id, one.key AS partition, one.value AS records
FROM (SELECT run_id, unnest(map_entries(records)) AS one FROM produce_sent)
UNION ALL
SELECT run_id, partition, records FROM batch_failed WHERE NOT sent;

-- What the log that counts was given and has not lost again, records deleted on purpose included.
CREATE TABLE kept AS
SELECT run_id, partition, count AS records FROM entry WHERE marker = '' AND cut IS NULL;

CREATE TABLE counted AS
SELECT run_id, partition, 'produced' AS name, records FROM sent
UNION ALL
SELECT run_id, partition, 'acked', records FROM batch_acknowledged
UNION ALL
SELECT run_id, partition, 'appended', records FROM kept;

CREATE TABLE topic_total AS
SELECT run_id, name, sum(records) AS records
FROM counted JOIN partition USING (run_id, partition) JOIN topic_created USING (run_id, topic)
WHERE NOT internal
GROUP BY ALL;

CREATE TABLE group_total AS
SELECT run_id, "group", name, sum(records) AS records
FROM counted JOIN reads USING (run_id, partition)
GROUP BY ALL
UNION ALL
SELECT run_id, "group", 'out_of_order_keys', count(*) FROM key_order_broken GROUP BY ALL
UNION ALL
SELECT run_id, "group", 'rebalances', count(*) - 1
FROM (
    SELECT run_id, "group" FROM join_barrier_completed
    UNION ALL
    SELECT run_id, "group" FROM target_assignment_computed
)
GROUP BY ALL;

-- Acknowledged records that no replica's log holds any more, whoever read them; aborted ones are none.
CREATE TABLE log_loss AS
SELECT run_id, topic, count(*) AS records
FROM acknowledged
JOIN vanished USING (run_id, partition, producer, serial)
JOIN partition USING (run_id, partition)
SEMI JOIN (SELECT run_id, topic FROM topic_created WHERE NOT internal) AS users USING (run_id, topic)
ANTI JOIN aborted_record USING (run_id, partition, producer, serial)
GROUP BY ALL;
