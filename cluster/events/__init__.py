"""The catalogue of events: every fact that a simulation emits.

Events are the only way out of the simulation: the view, the journal, Spark's tables and Kafka-phrased log lines
derive from these structs alone. The component that changes a state creates the event, without a stamp; the
pipeline (`cluster.event_pipeline`) gives it `seq` and `at_us` once, and from then on it is shared and never changed.

Conventions: a partition is named as Kafka prints it (`orders-0`); a broker is its id; members and producers are
named by their client id (`billing-1`); `member_id` is the coordinator's id of a member. Instants and durations are
microseconds of virtual time (`_us`), offsets are positions (next to read or write). Maps are `partition -> number`.
"""

from typing import Final

from cluster.events import (
    brokers,
    consumer_group_coordinator,
    consumers,
    faults,
    fleet,
    group_coordinator,
    producers,
    rollouts,
    transactions,
)
from cluster.events.brokers import BrokerFenced as BrokerFenced
from cluster.events.brokers import BrokerPaused as BrokerPaused
from cluster.events.brokers import BrokerResumed as BrokerResumed
from cluster.events.brokers import BrokerStarted as BrokerStarted
from cluster.events.brokers import BrokerStateChanged as BrokerStateChanged
from cluster.events.brokers import BrokerStopped as BrokerStopped
from cluster.events.brokers import BrokerUnfenced as BrokerUnfenced
from cluster.events.brokers import ControllerElected as ControllerElected
from cluster.events.brokers import HighWatermarkAdvanced as HighWatermarkAdvanced
from cluster.events.brokers import IsrChanged as IsrChanged
from cluster.events.brokers import LeaderElected as LeaderElected
from cluster.events.brokers import LeadershipTaken as LeadershipTaken
from cluster.events.brokers import LogCompacted as LogCompacted
from cluster.events.brokers import LogStartAdvanced as LogStartAdvanced
from cluster.events.brokers import LogTruncated as LogTruncated
from cluster.events.brokers import PartitionReassigned as PartitionReassigned
from cluster.events.brokers import RecordsAppended as RecordsAppended
from cluster.events.brokers import RecordsLost as RecordsLost
from cluster.events.brokers import RecordsRecovered as RecordsRecovered
from cluster.events.brokers import ReplicaDeleted as ReplicaDeleted
from cluster.events.consumer_group_coordinator import ClassicGroupUpgraded as ClassicGroupUpgraded
from cluster.events.consumer_group_coordinator import ClassicMemberAwaited as ClassicMemberAwaited
from cluster.events.consumer_group_coordinator import ClassicMemberIdAssigned as ClassicMemberIdAssigned
from cluster.events.consumer_group_coordinator import ConsumerGroupDowngraded as ConsumerGroupDowngraded
from cluster.events.consumer_group_coordinator import ConsumerGroupEpochBumped as ConsumerGroupEpochBumped
from cluster.events.consumer_group_coordinator import ConsumerGroupLoaded as ConsumerGroupLoaded
from cluster.events.consumer_group_coordinator import ConsumerGroupStateChanged as ConsumerGroupStateChanged
from cluster.events.consumer_group_coordinator import ConsumerMemberSubscribed as ConsumerMemberSubscribed
from cluster.events.consumer_group_coordinator import GroupConversionRefused as GroupConversionRefused
from cluster.events.consumer_group_coordinator import GroupProtocolConverted as GroupProtocolConverted
from cluster.events.consumer_group_coordinator import GroupProtocolDeclared as GroupProtocolDeclared
from cluster.events.consumer_group_coordinator import MemberAssignmentChanged as MemberAssignmentChanged
from cluster.events.consumer_group_coordinator import MemberProtocolChanged as MemberProtocolChanged
from cluster.events.consumer_group_coordinator import MemberProtocolDeclared as MemberProtocolDeclared
from cluster.events.consumer_group_coordinator import StaticMemberLeft as StaticMemberLeft
from cluster.events.consumer_group_coordinator import TargetAssignmentComputed as TargetAssignmentComputed
from cluster.events.consumer_group_coordinator import TopicRegexResolved as TopicRegexResolved
from cluster.events.consumers import ApplicationFailed as ApplicationFailed
from cluster.events.consumers import ApplicationStalled as ApplicationStalled
from cluster.events.consumers import ConsumerFenced as ConsumerFenced
from cluster.events.consumers import CoordinatorFound as CoordinatorFound
from cluster.events.consumers import CoordinatorLost as CoordinatorLost
from cluster.events.consumers import FetchedRecordsDropped as FetchedRecordsDropped
from cluster.events.consumers import HeartbeatsPaused as HeartbeatsPaused
from cluster.events.consumers import KeyOrderBroken as KeyOrderBroken
from cluster.events.consumers import MemberEpochChanged as MemberEpochChanged
from cluster.events.consumers import MemberPaused as MemberPaused
from cluster.events.consumers import MemberReady as MemberReady
from cluster.events.consumers import MemberResumed as MemberResumed
from cluster.events.consumers import MemberStarted as MemberStarted
from cluster.events.consumers import MemberStartingUp as MemberStartingUp
from cluster.events.consumers import MemberStateChanged as MemberStateChanged
from cluster.events.consumers import MemberStopped as MemberStopped
from cluster.events.consumers import PartitionsAssigned as PartitionsAssigned
from cluster.events.consumers import PartitionsPaused as PartitionsPaused
from cluster.events.consumers import PartitionsResumed as PartitionsResumed
from cluster.events.consumers import PartitionsRevoked as PartitionsRevoked
from cluster.events.consumers import PollReturned as PollReturned
from cluster.events.consumers import PollStarted as PollStarted
from cluster.events.consumers import PositionOutOfRange as PositionOutOfRange
from cluster.events.consumers import PositionsMovedOn as PositionsMovedOn
from cluster.events.consumers import PositionsReset as PositionsReset
from cluster.events.consumers import PositionsRolledBack as PositionsRolledBack
from cluster.events.consumers import PositionTruncated as PositionTruncated
from cluster.events.consumers import PreferredReadReplicaChanged as PreferredReadReplicaChanged
from cluster.events.consumers import RebalanceListenerCalled as RebalanceListenerCalled
from cluster.events.consumers import RebalanceListenerReturned as RebalanceListenerReturned
from cluster.events.consumers import RecordDeadLettered as RecordDeadLettered
from cluster.events.consumers import RecordFailed as RecordFailed
from cluster.events.consumers import RecordsFetched as RecordsFetched
from cluster.events.consumers import RecordSkipped as RecordSkipped
from cluster.events.consumers import RecordsProcessed as RecordsProcessed
from cluster.events.consumers import SubscriptionChanged as SubscriptionChanged
from cluster.events.consumers import TruncatedRecordsProcessed as TruncatedRecordsProcessed
from cluster.events.event import Event as Event
from cluster.events.event import kind_of as kind_of
from cluster.events.faults import CommandRefused as CommandRefused
from cluster.events.faults import FaultEnded as FaultEnded
from cluster.events.faults import FaultStarted as FaultStarted
from cluster.events.faults import SettingChanged as SettingChanged
from cluster.events.fleet import ClientDisconnected as ClientDisconnected
from cluster.events.fleet import GroupDeclared as GroupDeclared
from cluster.events.fleet import LogsRead as LogsRead
from cluster.events.fleet import MemberAssignorsDeclared as MemberAssignorsDeclared
from cluster.events.fleet import MemberDeclared as MemberDeclared
from cluster.events.fleet import PartitionsAdded as PartitionsAdded
from cluster.events.fleet import ProducerDeclared as ProducerDeclared
from cluster.events.fleet import TopicCreated as TopicCreated
from cluster.events.group_coordinator import AssignmentMade as AssignmentMade
from cluster.events.group_coordinator import AutoCommitFailed as AutoCommitFailed
from cluster.events.group_coordinator import GroupDeleted as GroupDeleted
from cluster.events.group_coordinator import GroupLoaded as GroupLoaded
from cluster.events.group_coordinator import GroupStabilized as GroupStabilized
from cluster.events.group_coordinator import GroupUnloaded as GroupUnloaded
from cluster.events.group_coordinator import HeartbeatAnswered as HeartbeatAnswered
from cluster.events.group_coordinator import JoinBarrierCompleted as JoinBarrierCompleted
from cluster.events.group_coordinator import JoinBarrierExtended as JoinBarrierExtended
from cluster.events.group_coordinator import JoinReceived as JoinReceived
from cluster.events.group_coordinator import MemberIdAssigned as MemberIdAssigned
from cluster.events.group_coordinator import MemberRemoved as MemberRemoved
from cluster.events.group_coordinator import OffsetCommitRefused as OffsetCommitRefused
from cluster.events.group_coordinator import OffsetsCommitted as OffsetsCommitted
from cluster.events.group_coordinator import OffsetsDeleted as OffsetsDeleted
from cluster.events.group_coordinator import OffsetsExpired as OffsetsExpired
from cluster.events.group_coordinator import ProtocolElected as ProtocolElected
from cluster.events.group_coordinator import RebalanceStarted as RebalanceStarted
from cluster.events.group_coordinator import SessionRenewed as SessionRenewed
from cluster.events.group_coordinator import StaticMemberReplaced as StaticMemberReplaced
from cluster.events.group_coordinator import SyncReceived as SyncReceived
from cluster.events.producers import BatchAcknowledged as BatchAcknowledged
from cluster.events.producers import BatchFailed as BatchFailed
from cluster.events.producers import BatchOpened as BatchOpened
from cluster.events.producers import BatchRetried as BatchRetried
from cluster.events.producers import BatchSplit as BatchSplit
from cluster.events.producers import ProducerCoordinatorFound as ProducerCoordinatorFound
from cluster.events.producers import ProducerIdAssigned as ProducerIdAssigned
from cluster.events.producers import ProducerStateChanged as ProducerStateChanged
from cluster.events.producers import ProduceSent as ProduceSent
from cluster.events.producers import SendRefused as SendRefused
from cluster.events.producers import SequenceInDoubt as SequenceInDoubt
from cluster.events.rollouts import GroupAutoscaled as GroupAutoscaled
from cluster.events.rollouts import RollingRestartStarted as RollingRestartStarted
from cluster.events.rollouts import RolloutAdvanced as RolloutAdvanced
from cluster.events.rollouts import RolloutEnded as RolloutEnded
from cluster.events.rollouts import RolloutStarted as RolloutStarted
from cluster.events.transactions import HangingTransactionAborted as HangingTransactionAborted
from cluster.events.transactions import ProducerEpochRefused as ProducerEpochRefused
from cluster.events.transactions import TransactionFenced as TransactionFenced
from cluster.events.transactions import TransactionMarkerRefused as TransactionMarkerRefused
from cluster.events.transactions import TransactionOffsetsRefused as TransactionOffsetsRefused
from cluster.events.transactions import TransactionStateChanged as TransactionStateChanged

_MODULES: Final = (
    fleet,
    brokers,
    producers,
    group_coordinator,
    consumer_group_coordinator,
    consumers,
    transactions,
    rollouts,
    faults,
)
EVENT_KINDS: Final[dict[str, type[Event]]] = {
    kind_of(cls): cls
    for module in _MODULES
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, Event) and cls is not Event
}
"""Kind → struct: what a flight declares, then the cluster, its clients and its faults."""
