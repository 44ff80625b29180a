-- 8. Is this mix of assignors safe?
--
-- A row for each generation of a group of the classic protocol.
--   assignor      what the members' vote elected
--   members       members of the generation
--   offers        how many different lists of assignors they offered; 1: there was nothing to vote on
--   votes         assignor → members that voted for it, of a generation with different offers
SELECT
    closed.run_id, closed."group", closed.generation, closed.protocol AS assignor, cardinality(closed.members) AS members,
    coalesce(len(list_distinct(map_values(offers))), 1) AS offers,
    histogram(vote) FILTER (vote IS NOT NULL) AS votes
FROM join_barrier_completed AS closed
LEFT JOIN protocol_elected AS elected USING (run_id, "group", generation)
LEFT JOIN LATERAL (SELECT unnest(map_values(elected.votes)) AS vote) ON true
WHERE cardinality(closed.members) > 0
GROUP BY closed.run_id, closed."group", closed.generation, closed.seq, closed.protocol, closed.members, offers
ORDER BY closed.run_id, closed.seq;
