-- Records of each partition: sent for the first time, acknowledged, written by any leader; `appended`: what the log of
-- the last leader got, and had at first.
WITH change AS (
    SELECT run_id, partition, seq, broker, appended, leader_epoch FROM leadership_taken
    UNION ALL
    SELECT run_id, partition, seq, broker, appended, NULL FROM log_truncated
), leader AS (
    SELECT run_id, partition, max({'epoch': leader_epoch, 'seq': seq, 'broker': broker}) AS newest
    FROM leadership_taken GROUP BY ALL
), began AS (
    SELECT run_id, partition, arg_max(appended, seq) AS appended, max(seq) AS seq, any_value(newest.epoch) AS latest_epoch
    FROM change JOIN leader USING (run_id, partition)
    WHERE change.broker = newest.broker AND change.seq >= newest.seq
    GROUP BY ALL
)
SELECT run_id, partition, sum(produced)::BIGINT AS produced, sum(acked)::BIGINT AS acked,
    sum(appended)::BIGINT AS appended, sum(written)::BIGINT AS written, sum(written_bytes)::BIGINT AS written_bytes
FROM (
    SELECT run_id, one.key AS partition, one.value AS produced, 0 AS acked, 0 AS appended, 0 AS written,
        0 AS written_bytes
    FROM (SELECT run_id, unnest(map_entries(records)) AS one FROM produce_sent)
    UNION ALL
    SELECT run_id, partition, records, 0, 0, 0, 0 FROM batch_failed WHERE NOT sent
    UNION ALL
    SELECT run_id, partition, 0, records, 0, 0, 0 FROM batch_acknowledged
    UNION ALL
    SELECT run_id, partition, 0, 0, appended, 0, 0 FROM began
    UNION ALL
    SELECT batch.run_id, batch.partition, 0, 0,
        CASE WHEN batch.seq > began.seq AND leader_epoch >= latest_epoch THEN count ELSE 0 END, count, bytes
    FROM records_appended AS batch
    LEFT JOIN began USING (run_id, partition)
    WHERE marker = ''
)
GROUP BY ALL
ORDER BY ALL;
