-- 5. Eager or cooperative, side by side?
--
-- A row for each group: what its rebalances cost.
--   assignors               what its generations, or its targets, were assigned by
--   rebalances              completed join barriers, or targets of the consumer protocol, after the first one
--   unowned_partition_s     partition-seconds in which no consumer held a partition, from the first one that did
--   taken_away              partitions that members gave up (onPartitionsRevoked, onPartitionsLost)
WITH hold AS (
    SELECT run_id, "group", member, unnest(partitions) AS partition, seq, at_us, 1 AS holds FROM partitions_assigned
    UNION ALL
    SELECT run_id, "group", member, unnest(partitions), seq, at_us, 0 FROM partitions_revoked
), gone AS (
    SELECT run_id, "group", member, seq, at_us FROM member_stopped
    UNION ALL
    SELECT run_id, "group", member, seq, at_us FROM member_state_changed WHERE state = 'Fenced'
), held AS (
    SELECT * FROM hold
    UNION ALL
    SELECT DISTINCT gone.run_id, gone."group", gone.member, hold.partition, gone.seq, gone.at_us, 0
    FROM gone JOIN hold USING (run_id, "group", member)
), change AS (
    SELECT *, holds - coalesce(lag(holds) OVER (PARTITION BY run_id, "group", partition, member ORDER BY seq), 0) AS one
    FROM held
), holders AS (
    SELECT
        run_id, "group", partition, at_us, sum(one) OVER of_partition AS holders, sum(holds) OVER of_partition AS ever,
        lead(at_us) OVER of_partition AS next_us
    FROM change
    WINDOW of_partition AS (PARTITION BY run_id, "group", partition ORDER BY seq)
), unowned AS (
    SELECT run_id, "group", sum(coalesce(next_us, virtual_us) - at_us) / 1e6 AS unowned_partition_s
    FROM holders JOIN flights USING (run_id)
    WHERE holders = 0 AND ever > 0
    GROUP BY ALL
), assigned AS (
    SELECT run_id, "group", protocol AS assignor FROM join_barrier_completed
    UNION ALL
    SELECT run_id, "group", assignor FROM target_assignment_computed
), counted AS (
    SELECT
        run_id, "group", greatest(0, count(*) - 1) AS rebalances,
        list_sort(list(DISTINCT assignor) FILTER (assignor <> '')) AS assignors
    FROM assigned
    GROUP BY ALL
), given_up AS (
    SELECT run_id, "group", sum(len(partitions)) AS taken_away FROM partitions_revoked GROUP BY ALL
)
SELECT
    run_id, "group", counted.assignors, coalesce(rebalances, 0) AS rebalances,
    coalesce(unowned_partition_s, 0) AS unowned_partition_s, coalesce(taken_away, 0) AS taken_away
FROM group_declared
LEFT JOIN counted USING (run_id, "group")
LEFT JOIN unowned USING (run_id, "group")
LEFT JOIN given_up USING (run_id, "group")
ORDER BY run_id, "group";
