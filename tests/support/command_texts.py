"""Texts of commands: of each command's forms at least one, in its canonical writing."""

from cluster.commands import Command
from cluster.commands import catalogue as commands

EVERY_FORM: dict[str, Command] = {
    "kill broker-2": commands.Kill("broker-2"),
    "kill billing-2 for 20s": commands.Kill("billing-2", 20_000_000),
    "crash broker-2 for 1m": commands.Crash("broker-2", 60_000_000),
    "stop broker-1": commands.Stop("broker-1"),
    "start billing-1 for 5s": commands.Start("billing-1", 5_000_000),
    "restart checkout-1": commands.Restart("checkout-1"),
    "pause billing-1 for 500us": commands.Pause("billing-1", 500),
    "resume billing-1": commands.Resume("billing-1"),
    "pause heartbeats of billing-1 for 20s": commands.PauseHeartbeats("billing-1", 20_000_000),
    "pause partitions of billing-1": commands.PausePartitions("billing-1"),
    "pause partitions orders-0,orders-3 of billing-1 for 30s": commands.PausePartitions(
        "billing-1", ("orders-0", "orders-3"), 30_000_000
    ),
    "resume partitions of billing-1": commands.ResumePartitions("billing-1"),
    "resume partitions orders-0 of billing-1": commands.ResumePartitions("billing-1", ("orders-0",)),
    "stall billing-1 for 6m": commands.Stall("billing-1", 360_000_000),
    "slow billing-1 to 50ms for 1m": commands.SlowMember("billing-1", 50_000, 60_000_000),
    "slow dependency of billing to 50ms for 5m": commands.SlowDependency("billing", 50_000, 300_000_000),
    "fail dependency of billing for 30s": commands.FailDependency("billing", 30_000_000),
    "restore dependency of billing": commands.RestoreDependency("billing"),
    "scale billing to 3": commands.Scale("billing", 3),
    "rolling restart brokers": commands.RollingRestartBrokers(),
    "rolling restart brokers every 1m down 5s": commands.RollingRestartBrokers(False, 60_000_000, 5_000_000),
    "rolling restart brokers wait for isr": commands.RollingRestartBrokers(True),
    "rolling restart brokers wait for isr every 1m": commands.RollingRestartBrokers(True, 60_000_000),
    "rollout deployment billing": commands.Rollout("deployment", "billing"),
    "rollout deployment billing max unavailable 25% max surge 2": commands.Rollout("deployment", "billing", "25%", "2"),
    "rollout deployment billing max surge 50%": commands.Rollout("deployment", "billing", "", "50%"),
    "rollout statefulset billing": commands.Rollout("statefulset", "billing"),
    "rollout statefulset billing max unavailable 3": commands.Rollout("statefulset", "billing", "3"),
    "end rollout of billing": commands.EndRollout("billing"),
    "end rollout of brokers": commands.EndRollout("brokers"),
    "rolling restart billing every 30s": commands.RollingRestart("billing", 30_000_000),
    "rolling restart billing every 30s down 5s": commands.RollingRestart("billing", 30_000_000, 5_000_000),
    "cut broker-1 broker-2": commands.Cut("broker-1", "broker-2"),
    "cut broker-1 -> billing-1 for 3s": commands.Cut("broker-1", "billing-1", one_way=True, for_us=3_000_000),
    "heal": commands.Heal(),
    "heal broker-1 broker-2": commands.Heal("broker-1", "broker-2"),
    "hold broker-1 billing-1": commands.Hold("broker-1", "billing-1"),
    "release broker-1 billing-1": commands.Release("broker-1", "billing-1"),
    "slow broker-1 broker-2 to 200ms": commands.SlowLink("broker-1", "broker-2", 200_000),
    "lose next 3 responses of Produce from broker-1": commands.LoseResponses(3, "Produce", "broker-1"),
    "lose next 1 responses of JoinGroup from broker-1 to billing-1": commands.LoseResponses(
        1, "JoinGroup", "broker-1", "billing-1"
    ),
    "create topic returns": commands.CreateTopic("returns"),
    "create topic returns partitions 6 replicas 3": commands.CreateTopic("returns", 6, 3),
    "create topic returns if not exists partitions 6 config cleanup.policy=[compact,delete],retention.ms=1": (
        commands.CreateTopic("returns", 6, None, ("cleanup.policy=compact,delete", "retention.ms=1"), True)
    ),
    "create topic returns assignment 3:1,1:2 config retention.ms=1": commands.CreateTopic(
        "returns", config=("retention.ms=1",), assignment=((3, 1), (1, 2))
    ),
    "add partitions orders to 5 assignment 1:2,2:3,3:1,1:2,2:1": commands.AddPartitions(
        "orders", 5, ((1, 2), (2, 3), (3, 1), (1, 2), (2, 1))
    ),
    "reassign orders-0 to 3,1": commands.Reassign("orders", 0, (3, 1)),
    "cancel reassignment of orders-0": commands.CancelReassignment("orders", 0),
    "add partitions orders to 24": commands.AddPartitions("orders", 24),
    "subscribe billing-1 to orders,payments": commands.Subscribe("billing-1", ("orders", "payments")),
    "unsubscribe billing-1": commands.Unsubscribe("billing-1"),
    "set billing session.timeout.ms 10000": commands.Set("billing", "session.timeout.ms", "10000"),
    "set billing assignors range,sticky for 1m": commands.Set("billing", "assignors", "range,sticky", 60_000_000),
    "seek billing orders-3 to 0": commands.Seek("billing", "orders", 3, 0),
    "reset offsets of billing to earliest": commands.ResetOffsets("billing", "earliest"),
    "reset offsets of billing to latest in orders,payments-0": commands.ResetOffsets(
        "billing", "latest", ("orders", "payments-0")
    ),
    "reset offsets of billing to current": commands.ResetOffsets("billing", "current"),
    "reset offsets of billing to offset 7 in orders": commands.ResetOffsets("billing", "offset", ("orders",), 7),
    "reset offsets of billing to offsets 3,7 in orders-0,orders-1": commands.ResetToPlan(
        "billing", (3, 7), ("orders-0", "orders-1")
    ),
    "reset offsets of billing to instant 90s": commands.ResetOffsets("billing", "instant", (), 90_000_000),
    "reset offsets of billing to 90s ago": commands.ResetOffsets("billing", "ago", (), 90_000_000),
    "reset offsets of billing by -5 in orders-1": commands.ResetOffsets("billing", "shift", ("orders-1",), -5),
    "delete group billing": commands.DeleteGroup("billing"),
    "delete offsets of billing in orders,payments-0": commands.DeleteOffsets("billing", ("orders", "payments-0")),
    "abandon transaction of checkout-1": commands.AbandonTransaction("checkout-1"),
    "abort hanging transaction orders-3": commands.AbortHangingTransaction("orders", 3),
    "elect preferred orders-0": commands.Elect("preferred", "orders", 0),
    "elect unclean orders-0": commands.Elect("unclean", "orders", 0),
    "isolate broker-2 for 30s": commands.Isolate("broker-2", 30_000_000),
    "fail over controller": commands.FailOverController(),
    "move coordinator of billing": commands.MoveCoordinator("billing"),
    "slow disk of broker-2 to 50ms": commands.SlowDisk("broker-2", 50_000),
    "fill disk of broker-2": commands.FillDisk("broker-2"),
    "delete records orders-0 before 100": commands.DeleteRecords("orders", 0, 100),
    "nemesis on": commands.Nemesis(on=True),
    "nemesis on seed 7 for 1m": commands.Nemesis(on=True, seed=7, for_us=60_000_000),
    "nemesis off": commands.Nemesis(on=False),
    'mark "the deploy begins"': commands.Mark("the deploy begins"),
}
