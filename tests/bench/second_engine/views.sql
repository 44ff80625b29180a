-- Each batch of a user's topic, and whether its transaction was aborted: whether the next marker of its producer id in
-- the partition is an ABORT; for logs that were never truncated or compacted.
CREATE VIEW data_batch AS
WITH users AS (
    SELECT run_id, topic || '-' || unnest(range(partitions)) AS partition FROM topic_created WHERE NOT internal
), batch AS (
    SELECT run_id, partition, producer, producer_id, first_serial, base_offset, count, seq, transactional
    FROM records_appended SEMI JOIN users USING (run_id, partition)
    WHERE marker = ''
)
SELECT batch.* EXCLUDE (producer_id, transactional), coalesce(marker.marker = 'ABORT', false) AS aborted
FROM batch
ASOF LEFT JOIN (SELECT run_id, partition, producer_id, seq, marker FROM records_appended WHERE marker <> '') AS marker
    ON batch.transactional AND marker.run_id = batch.run_id AND marker.partition = batch.partition
    AND marker.producer_id = batch.producer_id AND marker.seq > batch.seq;
