-- 11. Is this lag real, or a marker, aborted, or behind an open transaction?
--
-- A row for each partition in which a group is behind at the end of the flight. Offsets that a log lost by a truncation
-- are not told apart.
--   lag             high watermark less committed offset, as kafka-consumer-groups shows it
--   held_back       of those: offsets from the last stable offset on, which readers of committed data cannot read yet
--   markers         of those: control records, which no reader gets
--   aborted         of those: records of aborted transactions, which readers of committed data skip
--   readable        the rest: records that wait for the group
WITH batch AS (
    SELECT run_id, partition, producer_id, seq, at_us, base_offset, count, marker
    FROM records_appended
    WHERE transactional
        AND regexp_replace(partition, '-[0-9]+$', '') NOT IN (SELECT topic FROM topic_created WHERE internal)
), open AS (
    SELECT run_id, partition, producer_id, min(base_offset) AS first_offset, sum(count) AS records,
        min(at_us) AS since_us, max(at_us) AS last_us
    FROM batch
    WHERE marker = '' AND NOT EXISTS (
        SELECT 1 FROM batch AS ended
        WHERE ended.run_id = batch.run_id AND ended.partition = batch.partition
            AND ended.producer_id = batch.producer_id AND ended.marker <> '' AND ended.seq > batch.seq
    )
    GROUP BY ALL
), coordinator AS (
    SELECT * FROM transaction_state_changed
    QUALIFY row_number() OVER (PARTITION BY run_id, transactional_id ORDER BY seq DESC) = 1
), watermark AS (
    SELECT run_id, partition, arg_max(high_watermark, seq) AS high_watermark
    FROM (
        SELECT run_id, partition, seq, high_watermark FROM leadership_taken
        UNION ALL
        SELECT run_id, partition, seq, "offset" FROM high_watermark_advanced
    )
    GROUP BY ALL
), reads AS (
    SELECT run_id, "group", topic || '-' || number AS partition, offset_reset
    FROM (SELECT run_id, "group", offset_reset, unnest(topics) AS topic FROM group_declared)
    JOIN (
        SELECT run_id, topic, unnest(range(partitions)) AS number FROM topic_created
        UNION
        SELECT run_id, topic, unnest(range(partitions)) FROM partitions_added
    ) USING (run_id, topic)
), commit AS (
    SELECT run_id, "group", partition, arg_max(committed, seq) AS committed
    FROM (
        SELECT run_id, "group", seq, unnest(map_keys(offsets)) AS partition, unnest(map_values(offsets)) AS committed
        FROM offsets_committed
    )
    GROUP BY ALL
), beginning AS (
    SELECT run_id, partition, arg_max(log_start, seq) AS log_start
    FROM (
        SELECT run_id, partition, seq, log_start FROM leadership_taken
        UNION ALL
        SELECT run_id, partition, seq, log_start FROM log_start_advanced
    )
    GROUP BY ALL
), behind AS (
    SELECT
        run_id, "group", partition, high_watermark,
        coalesce(committed, if(offset_reset = 'latest', high_watermark, log_start)) AS read_to,
        coalesce((
            SELECT min(first_offset) FROM open
            WHERE open.run_id = reads.run_id AND open.partition = reads.partition
        ), high_watermark) AS last_stable_offset
    FROM reads
    JOIN watermark USING (run_id, partition)
    JOIN beginning USING (run_id, partition)
    LEFT JOIN commit USING (run_id, "group", partition)
), ended AS (
    SELECT *, (
        SELECT arg_min(later.marker, later.seq) FROM batch AS later
        WHERE later.run_id = batch.run_id AND later.partition = batch.partition
            AND later.producer_id = batch.producer_id AND later.marker <> '' AND later.seq > batch.seq
    ) AS outcome
    FROM batch
), told AS (
    SELECT
        behind.run_id, behind."group", behind.partition, any_value(high_watermark - read_to) AS lag,
        any_value(high_watermark - greatest(read_to, least(last_stable_offset, high_watermark))) AS held_back,
        coalesce(sum(overlap) FILTER (marker <> ''), 0) AS markers,
        coalesce(sum(overlap) FILTER (marker = '' AND outcome = 'ABORT'), 0) AS aborted
    FROM behind
    LEFT JOIN LATERAL (
        SELECT marker, outcome, greatest(0,
            least(base_offset + count, high_watermark, last_stable_offset) - greatest(base_offset, read_to)) AS overlap
        FROM ended
        WHERE ended.run_id = behind.run_id AND ended.partition = behind.partition AND base_offset + count > read_to
    ) ON true
    WHERE high_watermark > read_to
    GROUP BY behind.run_id, behind."group", behind.partition
)
SELECT *, lag - held_back - markers - aborted AS readable
FROM told
ORDER BY run_id, lag DESC, "group", partition;
