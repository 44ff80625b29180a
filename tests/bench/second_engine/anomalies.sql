-- Jepsen's anomalies of records: how many records show each; for logs that were never truncated or compacted.
WITH step AS (
    SELECT *, lag(next_offset) OVER (PARTITION BY run_id, member, partition ORDER BY seq) AS last
    FROM (
        SELECT run_id, "group", member, partition, seq, first_offset, next_offset FROM records_processed
        UNION ALL
        SELECT run_id, NULL, member, unnest(partitions), seq, NULL, NULL FROM partitions_assigned
        UNION ALL
        SELECT run_id, NULL, member, unnest(partitions), seq, NULL, NULL FROM partitions_revoked
        UNION ALL
        SELECT run_id, NULL, member, unnest(map_keys(positions)), seq, NULL, NULL FROM positions_reset
    )
), found AS (
    SELECT 'duplicate' AS anomaly, run_id, any_value(count) * (count(*) - 1) AS records
    FROM data_batch WHERE NOT aborted GROUP BY run_id, partition, producer, first_serial HAVING count(*) > 1
    UNION ALL
    SELECT 'nonmonotonic-send', run_id, count
    FROM (
        SELECT run_id, count, first_serial < max(first_serial) OVER (
            PARTITION BY run_id, partition, producer ORDER BY base_offset
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS late
        FROM data_batch WHERE NOT aborted
    )
    WHERE late
    UNION ALL
    SELECT 'G1a', run_id, least(base_offset + count, next_offset) - greatest(base_offset, first_offset)
    FROM data_batch JOIN records_processed AS read USING (run_id, partition)
    WHERE aborted AND base_offset < next_offset AND base_offset + count > first_offset
    UNION ALL
    SELECT 'nonmonotonic-poll', run_id, last - first_offset FROM step WHERE first_offset < last
    UNION ALL
    SELECT 'poll-skip', run_id, least(base_offset + count, first_offset) - greatest(base_offset, last)
    FROM step JOIN data_batch USING (run_id, partition)
    WHERE first_offset > last AND NOT aborted AND base_offset < first_offset AND base_offset + count > last
        AND data_batch.seq < step.seq
)
SELECT run_id, anomaly, sum(records)::BIGINT AS records FROM found GROUP BY ALL ORDER BY ALL;
