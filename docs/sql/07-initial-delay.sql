-- 7. N consumers, started one after the other: how many rebalances for which initial delay?
--
-- A row for each barrier of a group that was Empty (classic protocol).
--   started_s, delay_s     when it opened (virtual seconds), and how long it stayed open, in seconds
--   members                members of the generation that it began
--   more_rebalances        rebalances up to 60 s after it closed because of members that joined
WITH initial AS (
    SELECT
        closed.run_id, closed."group", opened.at_us AS opened_us, closed.at_us AS closed_us,
        cardinality(closed.members) AS members
    FROM join_barrier_completed AS closed
    ASOF JOIN rebalance_started AS opened
        ON opened.run_id = closed.run_id AND opened."group" = closed."group" AND opened.seq < closed.seq
    WHERE opened.initial AND cardinality(closed.members) > 0
)
SELECT
    initial.run_id, initial."group", opened_us / 1e6 AS started_s, (closed_us - opened_us) / 1e6 AS delay_s, members,
    count(later.seq) AS more_rebalances
FROM initial
LEFT JOIN rebalance_started AS later
    ON later.run_id = initial.run_id AND later."group" = initial."group" AND later.cause = 'member joined'
    AND later.at_us > closed_us AND later.at_us <= closed_us + 60000000
GROUP BY ALL
ORDER BY initial.run_id, started_s, initial."group";
