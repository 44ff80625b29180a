-- 6. Which rolling restart stays silent: static or dynamic, with which session timeout?
--
-- A row for each group whose members' processes ended and began again.
--   static                  its members have a group.instance.id
--   session_timeout_ms      the shortest of its members
--   restarts, down_s        how often a process began again, and the longest time that one was down (seconds)
--   rebalances              rebalances that began while a process was down, or up to 10 s after it began again
WITH life AS (
    SELECT run_id, "group", member, seq, at_us, false AS up FROM member_stopped
    UNION ALL
    SELECT run_id, "group", member, seq, at_us, true FROM member_started
), restart AS (
    SELECT run_id, "group", member, stopped_us, at_us AS started_us
    FROM (SELECT *, lag(at_us) OVER each AS stopped_us, lag(up) OVER each AS was_up FROM life
        WINDOW each AS (PARTITION BY run_id, member ORDER BY seq))
    WHERE up AND NOT was_up
), rebalance AS (
    SELECT run_id, "group", seq, at_us FROM rebalance_started
    UNION ALL
    SELECT run_id, "group", seq, at_us FROM consumer_group_epoch_bumped
), declared AS (
    SELECT run_id, "group", bool_or(instance_id <> '') AS static, min(session_timeout_ms) AS session_timeout_ms
    FROM member_declared
    GROUP BY ALL
)
SELECT
    restart.run_id, restart."group", any_value(static) AS static, any_value(session_timeout_ms) AS session_timeout_ms,
    count(DISTINCT (restart.member, restart.started_us)) AS restarts,
    max(restart.started_us - stopped_us) / 1e6 AS down_s,
    count(DISTINCT rebalance.seq) AS rebalances
FROM restart
JOIN declared USING (run_id, "group")
LEFT JOIN rebalance
    ON rebalance.run_id = restart.run_id AND rebalance."group" = restart."group"
    AND rebalance.at_us BETWEEN stopped_us AND started_us + 10000000
GROUP BY ALL
ORDER BY restart.run_id, restart."group";
