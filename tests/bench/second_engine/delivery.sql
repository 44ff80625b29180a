-- What became of each group's acknowledged records; for logs that were never truncated, compacted or deleted from.
WITH reads AS (
    SELECT run_id, "group", topic || '-' || unnest(range(partitions)) AS partition, read_committed
    FROM (SELECT run_id, "group", read_committed, unnest(topics) AS topic FROM group_declared)
    JOIN topic_created USING (run_id, topic)
), batch AS (
    SELECT run_id, partition, data_batch.base_offset, count, aborted, records
    FROM data_batch
    JOIN batch_acknowledged USING (run_id, partition, producer, first_serial)
), piece AS (
    SELECT run_id, "group", partition, first_offset, next_offset, repeated, coalesce(first_offset > max(next_offset) OVER (
        PARTITION BY run_id, "group", partition ORDER BY first_offset, next_offset
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), true) AS begins
    FROM records_processed
), island AS (
    SELECT run_id, "group", partition, min(first_offset) AS low, max(next_offset) AS high
    FROM (
        SELECT *, count(*) FILTER (begins) OVER (
            PARTITION BY run_id, "group", partition ORDER BY first_offset, next_offset
        ) AS number
        FROM piece
    )
    GROUP BY run_id, "group", partition, number
), acked AS (
    SELECT run_id, "group", partition, sum(records) AS acknowledged
    FROM batch JOIN reads USING (run_id, partition)
    WHERE NOT (aborted AND read_committed)
    GROUP BY ALL
), done AS (
    SELECT run_id, "group", partition, sum(least(high, base_offset + count) - greatest(low, base_offset)) AS delivered
    FROM batch
    JOIN reads USING (run_id, partition)
    JOIN island USING (run_id, "group", partition)
    WHERE NOT (aborted AND read_committed) AND low < base_offset + count AND high > base_offset
    GROUP BY ALL
), worked AS (
    SELECT run_id, "group", partition, sum(next_offset - first_offset) AS processed, sum(repeated) AS duplicated
    FROM records_processed
    GROUP BY ALL
)
SELECT run_id, "group", sum(processed)::BIGINT AS processed, sum(duplicated)::BIGINT AS duplicated,
    sum(acknowledged)::BIGINT AS acknowledged, sum(delivered)::BIGINT AS delivered
FROM acked
LEFT JOIN done USING (run_id, "group", partition)
LEFT JOIN worked USING (run_id, "group", partition)
GROUP BY ALL
ORDER BY ALL;
