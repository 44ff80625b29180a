-- 3. Which of the timers of a member is near its end?
--
-- A row for each member: how much of each of its timers it has used at most, while its process ran.
--   session_timeout_ms, heartbeat_ms          the longest time between two answered heartbeats, in ms
--   max_poll_interval_ms, processing_ms       the longest time from a poll() that returned records to the next one, in ms
--   session_used, poll_used                   the same as shares of the limits: 1 is the end of the timer
WITH heard AS (
    SELECT run_id, member, at_us, seq, true AS heard FROM heartbeat_answered
    UNION ALL
    SELECT run_id, member, at_us, seq, false FROM member_stopped
), between_heartbeats AS (
    SELECT run_id, member, max(gap_us) AS longest_us
    FROM (
        SELECT run_id, member, heard, at_us - lag(at_us) OVER each AS gap_us, lag(heard) OVER each AS before
        FROM heard
        WINDOW each AS (PARTITION BY run_id, member ORDER BY seq)
    )
    WHERE heard AND before
    GROUP BY ALL
), polled AS (
    SELECT run_id, member, at_us, seq, 'returned' AS what FROM poll_returned WHERE records > 0
    UNION ALL
    SELECT run_id, member, at_us, seq, 'started' FROM poll_started
    UNION ALL
    SELECT run_id, member, at_us, seq, 'stopped' FROM member_stopped
), between_polls AS (
    SELECT run_id, member, max(gap_us) AS longest_us
    FROM (
        SELECT run_id, member, what, at_us - lag(at_us) OVER each AS gap_us, lag(what) OVER each AS before
        FROM polled
        WINDOW each AS (PARTITION BY run_id, member ORDER BY seq)
    )
    WHERE what = 'started' AND before = 'returned'
    GROUP BY ALL
)
SELECT
    run_id, "group", member,
    session_timeout_ms, between_heartbeats.longest_us / 1e3 AS heartbeat_ms,
    max_poll_interval_ms, between_polls.longest_us / 1e3 AS processing_ms,
    round(heartbeat_ms / session_timeout_ms, 3) AS session_used,
    round(processing_ms / max_poll_interval_ms, 3) AS poll_used
FROM (FROM member_declared QUALIFY row_number() OVER (PARTITION BY run_id, member ORDER BY seq DESC) = 1) AS member_declared
LEFT JOIN between_heartbeats USING (run_id, member)
LEFT JOIN between_polls USING (run_id, member)
ORDER BY run_id, greatest(session_used, poll_used) DESC NULLS LAST, member;
