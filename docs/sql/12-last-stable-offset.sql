-- 12. Which transaction holds the last stable offset, since when, until when?
--
-- A row for each partition whose readers of committed data wait at the end of the flight. Logs that were truncated count
-- what they lost, too.
--   transactional_id       "" for a producer id that no transactional id has (any more)
--   state                  of the transactional id at its coordinator; `hanging`: no coordinator will end it
--   last_stable_offset     the first offset that cannot be read yet
--   open_s                 seconds since its first record in this partition
--   left_s                 the rest of transaction.timeout.ms in seconds; NULL unless it is Ongoing
--   waiting                offsets up to the high watermark that its readers wait for
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
)
SELECT
    open.run_id, open.partition, coalesce(transactional_id, '') AS transactional_id, open.producer_id,
    if(coalesce(list_contains(partitions, open.partition), false), state, 'hanging') AS state,
    first_offset AS last_stable_offset, (virtual_us - since_us) / 1e6 AS open_s,
    CASE WHEN state = 'Ongoing' AND list_contains(partitions, open.partition)
        THEN (start_us + 1000 * timeout_ms - virtual_us) / 1e6 END AS left_s,
    high_watermark - first_offset AS waiting
FROM open
JOIN watermark USING (run_id, partition)
JOIN flights USING (run_id)
LEFT JOIN coordinator ON coordinator.run_id = open.run_id AND coordinator.producer_id = open.producer_id
WHERE first_offset < high_watermark
QUALIFY row_number() OVER (PARTITION BY open.run_id, open.partition ORDER BY first_offset) = 1
ORDER BY open.run_id, waiting DESC, open.partition;
