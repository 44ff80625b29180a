-- 2. How many rebalances, what caused each, how long did it stop the group?
--
-- A row for each rebalance that ended with a Stable or an Empty group, of either protocol. Barriers in between are part
-- of it.
--   started_s, cause, trigger    when it began (virtual seconds), why, and because of which member
--   generation                   the generation, or the group epoch, that it ended with
--   took_s                       seconds from its start to Stable, or Empty, at the coordinator
--   members                      members of the group then (consumer protocol: with a target)
WITH moment AS (
    SELECT run_id, "group", seq, at_us, 'opens' AS what, cause, trigger, NULL AS generation, NULL AS members
    FROM rebalance_started
    UNION ALL
    SELECT run_id, "group", seq, at_us, 'opens', cause, coalesce(members[1], ''), NULL, NULL FROM consumer_group_epoch_bumped
    UNION ALL
    SELECT run_id, "group", seq, at_us, 'ends', '', '', generation, cardinality(assignment) FROM group_stabilized
    UNION ALL
    SELECT run_id, "group", seq, at_us, 'ends', '', '', generation, 0 FROM join_barrier_completed WHERE cardinality(members) = 0
    UNION ALL
    SELECT run_id, "group", seq, at_us, 'forgets', '', '', NULL, NULL FROM group_unloaded
    UNION ALL
    SELECT run_id, "group", seq, at_us, 'forgets', '', '', NULL, NULL FROM group_loaded
    UNION ALL
    SELECT
        state.run_id, state."group", state.seq, state.at_us, 'ends', '', '',
        target.epoch, cardinality(target.target)
    FROM consumer_group_state_changed AS state
    ASOF JOIN target_assignment_computed AS target
        ON target.run_id = state.run_id AND target."group" = state."group" AND target.seq < state.seq
    WHERE state.state IN ('Stable', 'Empty')
), numbered AS (
    SELECT *, count(*) FILTER (what <> 'opens') OVER before AS era
    FROM moment
    WINDOW before AS (PARTITION BY run_id, "group" ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT
    run_id, "group", min(at_us) / 1e6 AS started_s,
    arg_min(cause, seq) FILTER (what = 'opens') AS cause,
    arg_min(trigger, seq) FILTER (what = 'opens') AS trigger,
    max(generation) AS generation,
    (max(at_us) - min(at_us)) / 1e6 AS took_s,
    max(members) AS members
FROM numbered
GROUP BY run_id, "group", era
HAVING bool_or(what = 'opens') AND bool_or(what = 'ends')
ORDER BY run_id, started_s, "group";
