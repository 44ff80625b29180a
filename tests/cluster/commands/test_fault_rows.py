"""The rows of the catalogue: random faults, menu entries, undo and labels are right for every command."""

from random import Random

import pytest

from cluster.commands import COMMANDS, RANDOM_FAULTS, CommandError, FaultTargets, Form, Names, check, kind_of, parse
from cluster.commands.grammar import RandomFault
from cluster.simulation.nemesis import CLASSES

NAMES = Names(
    brokers=("broker-1", "broker-2", "broker-3"),
    groups={"billing": ("billing-1", "billing-2")},
    producers={"checkout": ("checkout-1",)},
    topics={"orders": 3, "payments": 1},
)
ROWS = [(form, fault) for form in COMMANDS for fault in form.random]


def drawn(fault: RandomFault, seed: int) -> str:
    return FaultTargets.of(Random(seed), NAMES).draw(fault)


@pytest.mark.parametrize(("form", "fault"), ROWS, ids=[fault.name for _, fault in ROWS])
def test_a_class_draws_commands_of_its_form(form: Form, fault: RandomFault) -> None:
    for seed in range(20):
        for ending in ("", " for 2s") if fault.lasts else ("",):
            command = parse(drawn(fault, seed) + ending, NAMES)
            assert type(command) is form.command
            assert kind_of(command) == (form.kind or form.command.__struct_config__.tag)


def test_a_pattern_with_a_wrong_draw_is_found() -> None:
    with pytest.raises(CommandError, match="no broker is named brokr"):
        parse(drawn(RandomFault(99, "wrong", "crash {brokr}"), 1), NAMES)


def test_the_order_of_the_classes_is_fixed_and_complete() -> None:
    assert [fault.order for fault in RANDOM_FAULTS.values()] == list(range(1, len(ROWS) + 1))
    assert list(RANDOM_FAULTS)[:3] == ["kill brokers", "kill members", "kill producers"]
    assert set(CLASSES) < set(RANDOM_FAULTS)


def test_a_cluster_without_targets_draws_nothing() -> None:
    with pytest.raises(IndexError):
        FaultTargets.of(Random(1), Names(brokers=("broker-1",))).draw(RANDOM_FAULTS["stall"])


def test_numbers_and_words_in_braces() -> None:
    texts = {drawn(RandomFault(99, "numbers", "{1..3} {2|40}"), seed) for seed in range(100)}
    assert texts == {f"{number} {word}" for number in (1, 2, 3) for word in (2, 40)}


def test_every_menu_row_is_a_command_on_its_target() -> None:
    name = {
        "broker": "broker-1",
        "member": "billing-1",
        "producer": "checkout-1",
        "group": "billing",
        "topic": "orders",
    }
    rows = [(form, row) for form in COMMANDS for row in form.menu]
    assert len(rows) >= 3
    for form, row in rows:
        assert type(parse(row.text.format(name=name[row.target]), NAMES)) is form.command


@pytest.mark.parametrize(
    "text",
    [
        "kill broker-3", "kill broker-9", "kill billing", "stall checkout-1", "scale orders to 2", "heal",
        "heal broker-1 broker-1", "cut broker-1 billing-9", "cut broker-2 broker-2", "cut broker-2 -> broker-2",
        "subscribe billing-1 to orders,nothing", "seek billing orders-3 to 1", "elect preferred payments-0",
        "lose next 1 responses of Produce from broker-1", "lose next 1 responses of Nothing from broker-1",
        "lose next 1 responses of Fetch from broker-1 to billing-3", "set nothing acks 1", "set cluster acks 1",
        "fail over controller", "abandon transaction of checkout-2", 'mark "a remark"', "delete records x-1 before 3",
    ],
)  # fmt: skip
def test_a_command_is_checked_as_its_text_is(text: str) -> None:
    def refusal(of_text: bool) -> str | None:
        command = parse(text)
        try:
            parse(text, NAMES) if of_text else check(command, NAMES)
        except CommandError as error:
            return str(error)
        return None

    assert refusal(of_text=False) == refusal(of_text=True)
