-- 15. Fenced by a twin or by the timeout?
--
-- A row for each epoch of a transactional id whose requests were refused.
--   epoch                     the refused epoch
--   refused, first_refused_s  how many requests were refused, and when the first one was (virtual seconds)
--   fenced_by                 `timeout` (open for longer than transaction.timeout.ms), `InitProducerId` (another producer
--                             began with the same transactional.id); NULL: no event says it
--   fenced_s                  when the coordinator raised the epoch (virtual seconds)
WITH raised AS (
    SELECT run_id, transactional_id, seq, at_us, reason, 0 AS rank FROM transaction_fenced
    UNION ALL
    SELECT run_id, transactional_id, seq, at_us, 'InitProducerId', 1
    FROM (
        SELECT *, lag(epoch) OVER each AS before, lag(producer_id) OVER each AS before_id
        FROM transaction_state_changed
        WINDOW each AS (PARTITION BY run_id, transactional_id ORDER BY seq)
    )
    WHERE state = 'Empty' AND NOT loaded AND (epoch > before OR producer_id <> before_id)
), refused AS (
    SELECT run_id, transactional_id, producer_id, epoch, count(*) AS refused, min(at_us) AS first_us, min(seq) AS first_seq
    FROM producer_epoch_refused
    GROUP BY ALL
)
SELECT
    refused.run_id, refused.transactional_id, refused.producer_id, refused.epoch, refused.refused,
    first_us / 1e6 AS first_refused_s, fencing.reason AS fenced_by, fencing.at_us / 1e6 AS fenced_s
FROM refused
LEFT JOIN LATERAL (
    SELECT reason, at_us FROM raised
    WHERE raised.run_id = refused.run_id AND raised.transactional_id = refused.transactional_id
        AND raised.seq < first_seq
    ORDER BY rank, seq DESC LIMIT 1
) AS fencing ON true
ORDER BY refused.run_id, first_seq;
