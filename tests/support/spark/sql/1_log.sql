-- What the partitions' logs held: written from docs/data-dictionary.md, it knows nothing of recordings/spark.

-- Every partition, and from when on it exists.
CREATE TABLE partition AS
SELECT run_id, topic, topic || '-' || number AS partition, min(at_us) AS since_us
FROM (
    SELECT run_id, topic, at_us, unnest(range(partitions)) AS number FROM topic_created
    UNION ALL
    SELECT run_id, topic, at_us, unnest(range(partitions)) AS number FROM partitions_added
)
GROUP BY ALL;

-- Which group reads which partition, and from when on. A topic that a member once subscribed to counts on, by its name
-- or because the regular expression of a subscription matched it.
CREATE TABLE reads AS
SELECT run_id, "group", partition, greatest(partition.since_us, topics.since_us) AS since_us
FROM (
    SELECT run_id, "group", topic, min(at_us) AS since_us
    FROM (
        SELECT run_id, "group", at_us, unnest(topics) AS topic FROM group_declared
        UNION ALL
        SELECT run_id, "group", at_us, unnest(topics) AS topic FROM subscription_changed
        UNION ALL
        SELECT run_id, "group", at_us, unnest(topics) AS topic FROM topic_regex_resolved
    )
    GROUP BY ALL
) AS topics
JOIN partition USING (run_id, topic);

-- Each leader that took over. One that hears of its election when a later one has taken over does not count.
CREATE TABLE leader AS
SELECT run_id, partition, seq, at_us, broker, leader_epoch, log_start, high_watermark, log_end, appended
FROM leadership_taken
QUALIFY leader_epoch >= coalesce(
    max(leader_epoch) OVER (PARTITION BY run_id, partition ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
    -1
);

-- Where the log that counts was cut: another leader took over, or its leader lost the end of its log in a crash.
CREATE TABLE cut AS
SELECT run_id, partition, seq, at_us, log_end AS from_offset, -1 AS crashed FROM leader
UNION ALL
SELECT lost.run_id, lost.partition, lost.seq, lost.at_us, lost."offset", lost.broker
FROM log_truncated AS lost
ASOF JOIN leader ON leader.run_id = lost.run_id AND leader.partition = lost.partition AND leader.seq < lost.seq
WHERE lost.broker = leader.broker;

-- Each batch of the log that counts (not of a leader that had been deposed), until it was cut off.
CREATE TABLE appended AS
SELECT
    batch.run_id, batch.partition, batch.seq, batch.at_us, base_offset, base_offset + count AS next_offset, count,
    producer, producer_id, first_serial, transactional, marker, batch.seq AS since,
    (
        SELECT min({'seq': cut.seq, 'at_us': cut.at_us, 'crashed': cut.crashed}) FROM cut
        WHERE cut.run_id = batch.run_id AND cut.partition = batch.partition
            AND cut.seq > batch.seq AND cut.from_offset < base_offset + count
    ) AS cut
FROM records_appended AS batch
ASOF LEFT JOIN leader
    ON leader.run_id = batch.run_id AND leader.partition = batch.partition AND leader.seq < batch.seq
WHERE batch.leader_epoch >= coalesce(leader.leader_epoch, -1);

-- What was cut off may stand in the log once more: in that of the leader whose successor had less, when it leads again;
-- and when a leader lost the end of its log in a crash, in that of the follower that leads next.
CREATE TABLE revived AS
SELECT appended.* EXCLUDE (cut), again.seq AS again_seq
FROM appended
ASOF JOIN leader AS before
    ON before.run_id = appended.run_id AND before.partition = appended.partition AND before.seq < appended.cut.seq
JOIN leader AS again
    ON again.run_id = appended.run_id AND again.partition = appended.partition
    AND again.seq > appended.cut.seq AND again.log_end >= next_offset
WHERE CASE
    WHEN appended.cut.crashed < 0 THEN again.broker = before.broker AND NOT EXISTS (
        SELECT 1 FROM log_truncated AS lost
        WHERE lost.run_id = appended.run_id AND lost.partition = appended.partition AND lost.broker = before.broker
            AND lost.seq > appended.seq AND lost.seq < again.seq AND lost."offset" < next_offset
    )
    ELSE again.broker <> before.broker AND NOT EXISTS (
        SELECT 1 FROM leader AS between_them
        WHERE between_them.run_id = appended.run_id AND between_them.partition = appended.partition
            AND between_them.seq > appended.cut.seq AND between_them.seq < again.seq
    )
END
QUALIFY row_number() OVER (PARTITION BY appended.run_id, appended.seq ORDER BY again.seq) = 1;

CREATE TABLE entry AS
SELECT *, false AS again FROM appended
UNION ALL
SELECT
    * EXCLUDE (again_seq) REPLACE (again_seq AS seq),
    (
        SELECT min({'seq': cut.seq, 'at_us': cut.at_us, 'crashed': cut.crashed}) FROM cut
        WHERE cut.run_id = revived.run_id AND cut.partition = revived.partition
            AND cut.seq > again_seq AND cut.from_offset < next_offset
    ),
    true
FROM revived;

-- The high watermark after each change. A leader that lost the end of its log in a crash has a lower one.
CREATE TABLE watermark AS
WITH change AS (
    SELECT run_id, partition, seq, at_us, high_watermark, true AS sets FROM leader
    UNION ALL
    SELECT told.run_id, told.partition, told.seq, told.at_us, told."offset", true
    FROM high_watermark_advanced AS told
    ASOF LEFT JOIN leader
        ON leader.run_id = told.run_id AND leader.partition = told.partition AND leader.seq < told.seq
    WHERE told.leader_epoch >= coalesce(leader.leader_epoch, -1)
    UNION ALL
    SELECT cut.run_id, cut.partition, cut.seq, cut.at_us, cut."offset", false
    FROM log_truncated AS cut
    ASOF JOIN leader ON leader.run_id = cut.run_id AND leader.partition = cut.partition AND leader.seq < cut.seq
    WHERE cut.broker = leader.broker
), numbered AS (
    SELECT *, count(*) FILTER (sets) OVER (PARTITION BY run_id, partition ORDER BY seq) AS era FROM change
)
SELECT
    run_id, partition, seq, at_us,
    min(high_watermark) OVER (PARTITION BY run_id, partition, era ORDER BY seq) AS high_watermark
FROM numbered;

-- The log's start after each change.
CREATE TABLE beginning AS
SELECT run_id, partition, seq, at_us, log_start FROM leader
UNION ALL
SELECT told.run_id, told.partition, told.seq, told.at_us, told.log_start
FROM log_start_advanced AS told
ASOF LEFT JOIN leader
    ON leader.run_id = told.run_id AND leader.partition = told.partition AND leader.seq < told.seq
WHERE told.leader_epoch >= coalesce(leader.leader_epoch, -1);

-- Which records were aborted: the next marker of their producer id in the log says so. What was aborted stays so.
CREATE TABLE aborted AS
SELECT batch.run_id, batch.partition, batch.producer, batch.first_serial, batch.count, min(ended.seq) AS seq
FROM entry AS batch
JOIN entry AS ended
    ON ended.run_id = batch.run_id AND ended.partition = batch.partition
    AND ended.producer_id = batch.producer_id AND ended.base_offset > batch.base_offset AND ended.seq >= batch.seq
WHERE batch.transactional AND batch.marker = '' AND ended.marker = 'ABORT'
    AND (batch.cut IS NULL OR batch.cut.seq > ended.seq)
    AND NOT EXISTS (
        SELECT 1 FROM entry AS earlier
        WHERE earlier.run_id = batch.run_id AND earlier.partition = batch.partition
            AND earlier.producer_id = batch.producer_id AND earlier.marker <> ''
            AND earlier.base_offset > batch.base_offset AND earlier.base_offset < ended.base_offset
            AND earlier.seq <= ended.seq AND (earlier.cut IS NULL OR earlier.cut.seq > ended.seq)
    )
GROUP BY ALL;
