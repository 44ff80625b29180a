-- 18. How is the load spread over the partitions?
--
-- A row for each partition of the users' topics: what leaders appended, markers of transactions left out.
--   records, bytes    what was written; what a log lost later counts, too
--   per_s             records a second, over the whole flight
--   share             of its topic's records, from 0 to 1
--   skew              of the topic: its heaviest partition's records as a multiple of the mean
WITH partition AS (
    SELECT DISTINCT run_id, topic, topic || '-' || number AS partition
    FROM (
        SELECT run_id, topic, unnest(range(partitions)) AS number FROM topic_created WHERE NOT internal
        UNION ALL
        SELECT run_id, topic, unnest(range(partitions)) FROM partitions_added
    )
), load AS (
    SELECT run_id, topic, partition, coalesce(sum(count), 0) AS records, coalesce(sum(bytes), 0) AS bytes
    FROM partition
    LEFT JOIN (SELECT * FROM records_appended WHERE marker = '') USING (run_id, partition)
    GROUP BY ALL
)
SELECT
    run_id, topic, partition, records, load.bytes, records * 1e6 / nullif(virtual_us, 0) AS per_s,
    records / nullif(sum(records) OVER each, 0) AS share,
    max(records) OVER each * count(*) OVER each / nullif(sum(records) OVER each, 0) AS skew
FROM load
JOIN flights USING (run_id)
WINDOW each AS (PARTITION BY run_id, topic)
ORDER BY run_id, topic, records DESC, partition;
