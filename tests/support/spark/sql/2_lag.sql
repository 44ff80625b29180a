-- How far each group was behind at each virtual second, in records and in time.

-- Each change of a committed offset; -1: there is none (any more).
CREATE TABLE commit AS
SELECT run_id, "group", seq, at_us, one.key AS partition, one.value AS committed
FROM (SELECT *, unnest(map_entries(offsets)) AS one FROM offsets_committed)
UNION ALL
SELECT run_id, "group", seq, at_us, unnest(partitions), -1 FROM offsets_expired
UNION ALL
SELECT run_id, "group", seq, at_us, unnest(partitions), -1 FROM offsets_deleted
UNION ALL
SELECT gone.run_id, gone."group", gone.seq, gone.at_us, reads.partition, -1
FROM group_deleted AS gone JOIN reads USING (run_id, "group")
UNION ALL
SELECT loaded.run_id, loaded."group", loaded.seq, loaded.at_us, reads.partition, coalesce(offsets[reads.partition], -1)
FROM (
    SELECT run_id, "group", seq, at_us, offsets FROM group_loaded
    UNION ALL
    SELECT run_id, "group", seq, at_us, offsets FROM consumer_group_loaded
) AS loaded
JOIN reads USING (run_id, "group");

-- What `auto.offset.reset` was: as declared, or as somebody set it while the group ran.
CREATE TABLE reset AS
SELECT run_id, "group", seq, at_us, offset_reset FROM group_declared
UNION ALL
SELECT run_id, scope, seq, at_us, value FROM setting_changed WHERE key = 'auto.offset.reset' AND effect = 'now';

CREATE TABLE tick AS
SELECT run_id, "group", partition, second, least(second * 1000000, virtual_us) AS now_us
FROM (
    SELECT reads.*, virtual_us, unnest(range((since_us + 999999) // 1000000, (virtual_us + 999999) // 1000000 + 1)) AS second
    FROM reads JOIN flights USING (run_id)
);

CREATE TABLE lag AS
WITH stood AS (
    SELECT
        tick.run_id, tick."group", tick.partition, second, now_us,
        coalesce(high_watermark, 0) AS high_watermark,
        coalesce(log_start, 0) AS log_start,
        coalesce(committed, -1) AS committed,
        coalesce(offset_reset, '') AS offset_reset
    FROM tick
    ASOF LEFT JOIN (SELECT * FROM watermark QUALIFY row_number() OVER (PARTITION BY run_id, partition, at_us ORDER BY seq DESC) = 1) AS w
        ON w.run_id = tick.run_id AND w.partition = tick.partition AND w.at_us <= now_us
    ASOF LEFT JOIN (SELECT * FROM beginning QUALIFY row_number() OVER (PARTITION BY run_id, partition, at_us ORDER BY seq DESC) = 1) AS b
        ON b.run_id = tick.run_id AND b.partition = tick.partition AND b.at_us <= now_us
    ASOF LEFT JOIN (SELECT * FROM commit QUALIFY row_number() OVER (PARTITION BY run_id, "group", partition, at_us ORDER BY seq DESC) = 1) AS c
        ON c.run_id = tick.run_id AND c."group" = tick."group" AND c.partition = tick.partition AND c.at_us <= now_us
    ASOF LEFT JOIN (SELECT * FROM reset QUALIFY row_number() OVER (PARTITION BY run_id, "group", at_us ORDER BY seq DESC) = 1) AS r
        ON r.run_id = tick.run_id AND r."group" = tick."group" AND r.at_us <= now_us
), behind AS (
    SELECT
        *,
        CASE WHEN committed >= 0 THEN committed WHEN offset_reset = 'latest' THEN high_watermark ELSE log_start END AS read_up_to
    FROM stood
)
SELECT
    run_id, "group", partition, second,
    greatest(0, high_watermark - read_up_to) AS lag,
    coalesce(now_us - (
        SELECT arg_min(entry.at_us, entry.next_offset)
        FROM entry
        WHERE entry.run_id = behind.run_id AND entry.partition = behind.partition
            AND entry.next_offset > greatest(read_up_to, log_start) AND high_watermark > greatest(read_up_to, log_start)
            AND entry.at_us <= now_us AND (cut IS NULL OR cut.at_us > now_us)
    ), 0) AS time_lag_us
FROM behind;

-- The same of each group, at every second: a group that reads no partition is not behind.
CREATE TABLE group_lag AS
SELECT run_id, "group", second, coalesce(sum(lag), 0) AS lag, coalesce(max(time_lag_us), 0) AS time_lag_us
FROM (
    SELECT run_id, "group", unnest(range((virtual_us + 999999) // 1000000 + 1)) AS second
    FROM group_declared JOIN flights USING (run_id)
)
LEFT JOIN lag USING (run_id, "group", second)
GROUP BY ALL;
