-- 17. Where does key K go, now and after partitions are added?
--
-- A row for each number of partitions that a topic has had: SET VARIABLE key = 'order-17' names the key, as text.
--   since_s, partitions    from when on (virtual seconds) the topic has had how many partitions
--   java                   the partition by murmur2, as Java clients and `murmur2_random` of librdkafka have it
--   key_orders_broken      keys of the topic whose records a group has finished out of order, in the whole flight
-- Source: `Utils.murmur2`, `BuiltInPartitioner.partitionForKey`.
WITH RECURSIVE key AS (
    SELECT list_transform(range(octet_length(text)), lambda i: ('0x' || substr(hex(text), 2 * i + 1, 2))::HUGEINT) AS bytes
    FROM (SELECT encode(coalesce(getvariable('key'), 'order-17')) AS text)
), mixed AS (
    SELECT 0 AS place, xor(2538058380, len(bytes))::HUGEINT AS hash, bytes FROM key
    UNION ALL
    SELECT place + 4, xor((hash * 1540483477) & 4294967295, (xor(word, word >> 24) * 1540483477) & 4294967295), bytes
    FROM (
        SELECT *, ((
            bytes[place + 1] + bytes[place + 2] * 256 + bytes[place + 3] * 65536 + bytes[place + 4] * 16777216
        ) * 1540483477) & 4294967295 AS word
        FROM mixed
        WHERE place + 4 <= len(bytes)
    )
), tail AS (
    SELECT CASE WHEN len(bytes) > place THEN (xor(hash,
        bytes[place + 1] + coalesce(bytes[place + 2], 0) * 256 + coalesce(bytes[place + 3], 0) * 65536
    ) * 1540483477) & 4294967295 ELSE hash END AS hash
    FROM (SELECT * FROM mixed ORDER BY place DESC LIMIT 1)
), last_mix AS (
    SELECT (xor(hash, hash >> 13) * 1540483477) & 4294967295 AS hash FROM tail
), murmur2 AS (
    SELECT xor(hash, hash >> 15) & 2147483647 AS positive FROM last_mix
), size AS (
    SELECT run_id, topic, at_us, partitions FROM topic_created WHERE NOT internal
    UNION ALL
    SELECT run_id, topic, at_us, partitions FROM partitions_added
)
SELECT
    size.run_id, size.topic, size.at_us / 1e6 AS since_s, size.partitions, (positive % size.partitions)::BIGINT AS java,
    (
        SELECT count(DISTINCT broken.key) FROM key_order_broken AS broken
        WHERE broken.run_id = size.run_id AND broken.topic = size.topic
    ) AS key_orders_broken
FROM size, murmur2
ORDER BY size.run_id, size.topic, size.at_us;
