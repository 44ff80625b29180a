-- Each group at each second: lag (records) and the age of the oldest unread record; for logs that were never truncated.
WITH reads AS (
    SELECT run_id, "group", topic || '-' || unnest(range(partitions)) AS partition, offset_reset
    FROM (SELECT run_id, "group", offset_reset, unnest(topics) AS topic FROM group_declared)
    JOIN topic_created USING (run_id, topic)
), mark AS (
    SELECT run_id, partition, (at_us + 999999) // 1000000 AS second, arg_max(high_watermark, seq) AS high_watermark
    FROM (
        SELECT run_id, partition, seq, at_us, high_watermark FROM leadership_taken
        UNION ALL
        SELECT run_id, partition, seq, at_us, "offset" FROM high_watermark_advanced
    )
    GROUP BY ALL
), commit AS (
    SELECT run_id, "group", partition, (at_us + 999999) // 1000000 AS second, arg_max(committed, seq) AS committed
    FROM (
        SELECT run_id, "group", seq, at_us, one.key AS partition, one.value AS committed
        FROM (SELECT *, unnest(map_entries(offsets)) AS one FROM offsets_committed)
    )
    GROUP BY ALL
), tick AS (
    SELECT reads.*, unnest(range((virtual_us + 999999) // 1000000 + 1)) AS second, virtual_us
    FROM reads JOIN flights USING (run_id)
), known AS (
    SELECT tick.run_id, tick."group", tick.partition, tick.second, least(tick.second * 1000000, virtual_us) AS now_us,
        coalesce(high_watermark, 0) AS high_watermark,
        coalesce(committed, CASE offset_reset WHEN 'latest' THEN coalesce(high_watermark, 0) ELSE 0 END) AS read_up_to
    FROM tick
    ASOF LEFT JOIN mark
        ON mark.run_id = tick.run_id AND mark.partition = tick.partition AND mark.second <= tick.second
    ASOF LEFT JOIN commit
        ON commit.run_id = tick.run_id AND commit."group" = tick."group" AND commit.partition = tick.partition
        AND commit.second <= tick.second
), behind AS (
    SELECT known.*, batch.at_us
    FROM known
    ASOF LEFT JOIN (SELECT run_id, partition, at_us, base_offset + count AS next_offset FROM records_appended) AS batch
        ON batch.run_id = known.run_id AND batch.partition = known.partition
        AND batch.next_offset > known.read_up_to
)
SELECT run_id, "group", second, sum(greatest(0, high_watermark - read_up_to))::BIGINT AS lag,
    max(CASE WHEN high_watermark > read_up_to THEN now_us - at_us ELSE 0 END) AS time_lag_us
FROM behind
GROUP BY ALL
ORDER BY ALL;
