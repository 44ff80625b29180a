-- 10. What does a crash cost under this session timeout?
--
-- A row for each member whose process was killed, or died, while it owned partitions.
--   killed_s               when (virtual seconds)
--   partitions             how many partitions it owned
--   noticed_s              seconds until its coordinator removed it; NULL: it was not removed before it began again
--   reason                 why it was removed
--   unowned_partition_s    partition-seconds until another process, or its next one, took each of them, or to the end
WITH crash AS (
    SELECT run_id, "group", member, seq, at_us FROM member_stopped WHERE how IN ('kill', 'crash')
), holds AS (
    SELECT run_id, "group", member, seq, unnest(partitions) AS partition, true AS holds FROM partitions_assigned
    UNION ALL
    SELECT run_id, "group", member, seq, unnest(partitions), false FROM partitions_revoked
), let_go AS (
    SELECT run_id, member, seq FROM member_stopped
    UNION ALL
    SELECT run_id, member, seq FROM member_state_changed WHERE state = 'Fenced'
), owned AS (
    SELECT crash.run_id, crash."group", crash.member, crash.seq, crash.at_us, partition
    FROM crash
    JOIN holds ON holds.run_id = crash.run_id AND holds.member = crash.member AND holds.seq < crash.seq
    GROUP BY ALL
    HAVING arg_max(holds, holds.seq) AND NOT EXISTS (
        SELECT 1 FROM let_go
        WHERE let_go.run_id = crash.run_id AND let_go.member = crash.member
            AND let_go.seq > max(holds.seq) AND let_go.seq < crash.seq
    )
), taken AS (
    SELECT owned.*, (
        SELECT min(again.at_us)
        FROM partitions_assigned AS again
        WHERE again.run_id = owned.run_id AND again."group" = owned."group" AND again.seq > owned.seq
            AND list_contains(again.partitions, owned.partition)
    ) AS taken_us
    FROM owned
)
SELECT
    taken.run_id, taken."group", taken.member, taken.at_us / 1e6 AS killed_s, count(*) AS partitions,
    (any_value(removed.at_us) - taken.at_us) / 1e6 AS noticed_s, any_value(removed.reason) AS reason,
    sum(coalesce(taken_us, virtual_us) - taken.at_us) / 1e6 AS unowned_partition_s
FROM taken
JOIN flights USING (run_id)
LEFT JOIN LATERAL (
    SELECT member_removed.at_us, reason FROM member_removed
    WHERE member_removed.run_id = taken.run_id AND member_removed.member = taken.member
        AND member_removed.seq > taken.seq AND NOT EXISTS (
            SELECT 1 FROM member_started AS again
            WHERE again.run_id = taken.run_id AND again.member = taken.member
                AND again.seq > taken.seq AND again.seq < member_removed.seq
        )
    ORDER BY member_removed.seq LIMIT 1
) AS removed ON true
GROUP BY taken.run_id, taken."group", taken.member, taken.seq, taken.at_us
ORDER BY taken.run_id, taken.seq;
