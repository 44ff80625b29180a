-- 13. Why did the committed offset go back, which member did it, in which generation?
--
-- A row for each committed offset that is lower than the one before.
--   at_s                  when (virtual seconds)
--   before, after         the committed offsets; `after` is NULL where a coordinator that loaded the group has none
--   member, generation    the commit's; "" and -1 for a transaction, and where a coordinator loaded the group
--   cause                 how the position had been set since the last commit (seek, earliest, latest, by_duration,
--                         truncated), else `late` (an older commit that was served after a newer one, or assign()), or
--                         `loaded`
WITH commit AS (
    SELECT run_id, "group", seq, at_us, unnest(map_keys(offsets)) AS partition, unnest(map_values(offsets)) AS committed,
        member, generation, false AS loaded
    FROM offsets_committed
), loaded AS (
    SELECT run_id, "group", seq, at_us, offsets FROM group_loaded
    UNION ALL
    SELECT run_id, "group", seq, at_us, offsets FROM consumer_group_loaded
), change AS (
    SELECT * FROM commit
    UNION ALL
    SELECT loaded.run_id, loaded."group", loaded.seq, loaded.at_us, known.partition, offsets[known.partition], '', -1, true
    FROM loaded
    JOIN (SELECT run_id, "group", partition, min(seq) AS first_seq FROM commit GROUP BY ALL) AS known
        ON known.run_id = loaded.run_id AND known."group" = loaded."group" AND first_seq < loaded.seq
    UNION ALL
    SELECT run_id, "group", seq, at_us, unnest(partitions), NULL, '', -1, NULL FROM offsets_expired
    UNION ALL
    SELECT run_id, "group", seq, at_us, unnest(partitions), NULL, '', -1, NULL FROM offsets_deleted
), step AS (
    SELECT *, lag(committed) OVER each AS before, lag(seq) OVER each AS before_seq
    FROM change
    WINDOW each AS (PARTITION BY run_id, "group", partition ORDER BY seq)
), moved AS (
    SELECT run_id, "group", seq, unnest(map_keys(positions)) AS partition, reason
    FROM positions_reset
    WHERE reason <> 'committed'
)
SELECT
    step.run_id, step."group", step.at_us / 1e6 AS at_s, step.partition, before, committed AS after, member, generation,
    CASE WHEN loaded THEN 'loaded' ELSE coalesce((
        SELECT arg_max(reason, moved.seq) FROM moved
        WHERE moved.run_id = step.run_id AND moved."group" = step."group" AND moved.partition = step.partition
            AND moved.seq BETWEEN before_seq AND step.seq
    ), 'late') END AS cause
FROM step
WHERE loaded IS NOT NULL AND before IS NOT NULL AND coalesce(committed, -1) < before
ORDER BY step.run_id, step.seq, step.partition;
