-- How long each producer's batches took, to their acknowledgement and in the accumulator, by steps of 0.1 ms; for
-- producers whose processes never ended.
WITH opened AS (
    SELECT run_id, producer, partition, at_us, row_number() OVER (
        PARTITION BY run_id, producer, partition ORDER BY seq
    ) AS number
    FROM batch_opened
), gone AS (
    SELECT run_id, producer, partition, at_us, row_number() OVER (
        PARTITION BY run_id, producer, partition ORDER BY at_us, unsent, seq
    ) AS number
    FROM (
        SELECT run_id, producer, unnest(map_keys(records)) AS partition, seq, at_us, false AS unsent FROM produce_sent
        UNION ALL
        SELECT run_id, producer, partition, seq, at_us, true FROM batch_failed WHERE NOT sent
    )
), took AS (
    SELECT run_id, producer, 'acknowledged' AS what, latency_us AS us FROM batch_acknowledged
    UNION ALL
    SELECT run_id, producer, 'queued', gone.at_us - opened.at_us
    FROM gone JOIN opened USING (run_id, producer, partition, number)
)
SELECT run_id, producer, what, count(*) AS batches, quantile_cont(us // 100 * 100, [0.5, 0.95, 0.99]) AS percentiles,
    max(us) AS slowest_us
FROM took
GROUP BY ALL
ORDER BY ALL;
