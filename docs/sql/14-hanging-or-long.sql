-- 14. Is this transaction hanging, or merely long?
--
-- A row for each transaction that is open in a partition at the end of the flight. Logs that were truncated count what
-- they lost, too.
--   hanging         its coordinator has no such ongoing transaction in this partition: no marker will come
--   state           of the transactional id at its coordinator; NULL: no transactional id has the producer id
--   records         records of it in this partition
--   open_s, idle_s  seconds since its first, and since its last record
--   found           kafka-transactions.sh find-hanging lists it: hanging, and 15 minutes since its last record
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
    NOT coalesce(list_contains(partitions, open.partition), false) AS hanging, state, records,
    (virtual_us - since_us) / 1e6 AS open_s, (virtual_us - last_us) / 1e6 AS idle_s,
    hanging AND idle_s > 900 AS found
FROM open
JOIN flights USING (run_id)
LEFT JOIN coordinator ON coordinator.run_id = open.run_id AND coordinator.producer_id = open.producer_id
ORDER BY open.run_id, hanging DESC, open_s DESC, open.partition;
