"""Hostile scenario files: one sentence with the place, soon, whatever their depth or size."""

import time
from pathlib import Path

import pytest

from recordings.journal.script import parse_script
from recordings.scenarios.loader import ScenarioErrors, load, parse_scenario
from recordings.scenarios.toml_tables import MOST_PROBLEMS

HEAD = 'title = "t"\n[[topic]]\nname = "orders"\n'
PRODUCER = HEAD + '[[producer]]\nname = "p"\ntopics = ["orders"]\n'
GROUP = HEAD + '[[group]]\nname = "g"\ntopics = ["orders"]\n'
NINES = "9" * 5_000


def dotted(part: str) -> str:
    return ".".join([part] * 20_000)


MONSTERS = {
    "nested lists": ("a = " + "[" * 20_000 + "]" * 20_000, "nested too deeply"),
    "nested tables": ("a = " + "{a = " * 20_000 + "1" + "}" * 20_000, "nested too deeply"),
    "an open list": ("a = " + "[" * 20_000, "nested too deeply"),
    "a dotted key": (f"{dotted('a')} = 1", ":1: a key of more than 16 parts"),
    "a dotted header": (f"\n[{dotted('a')}]", ":2: a key of more than 16 parts"),
    "a quoted dotted key": (f"""{dotted("'a'")} = 1""", ":1: a key of more than 16 parts"),
    "5,000 digits": (f"seed = {NINES}", "a number has too many digits"),
    "4,000 digits": (f"seed = {NINES[:4_000]}\n{HEAD}", ":1: seed: 9999"),
    "a long rate": (f'{PRODUCER}rate = "{NINES[:400]}/s"', "is too fast: a rate is at most"),
    "a long duration": (f'until = "{NINES}h"\n{HEAD}', "is not a duration"),
    "an endless duration": (f'until = "99999999999h"\n{HEAD}', "a duration is at most 1000000h"),
    "a huge size": (f'{PRODUCER}size = "99999999999999999999GiB"', "a size is at most"),
    "a steep law": (f'{PRODUCER}keys = {{ kind = "zipf", exponent = 1e300 }}', "exponent: 1e+300 is above 20"),
    "infinity": (f'{PRODUCER}keys = {{ kind = "zipf", exponent = inf }}', "exponent: inf is above 20"),
    "no number": (f'{PRODUCER}keys = {{ kind = "zipf", exponent = nan }}', "exponent: nan is below 0"),
    "a long config value": (f'{PRODUCER}config = {{ "linger.ms" = "{NINES}" }}', "linger.ms is a whole number of ms"),
    "a long age": (f'{GROUP}config = {{ "auto.offset.reset" = "by_duration:P{NINES}D" }}', "is not a duration"),
    "a long number in a command": (f'{GROUP}[[at]]\ntime = "1s"\ndo = "scale g to {NINES}"', "not a whole number"),
    "a long partition": (f'{GROUP}[[at]]\ntime = "1s"\ndo = "elect preferred orders-{NINES}"', "is not a partition"),
    "a long poison": (f'{GROUP}application = {{ poison = {{ key = "{NINES}" }} }}', "no record has the key 9999"),
    "a long name": (HEAD.replace("orders", "o" * 90_000), "name: 'oooo"),
    "too large a file": ("# " + "x" * 300_000, "it is larger than 256 KiB"),
    "many groups": (HEAD + '[[group]]\nname = "g"\ntopics = ["orders"]\n' * 4_000, "4,000 are too many"),
    "one broker often": (f"{HEAD}[cluster]\nbrokers = [{'{ id = 1 }, ' * 10_000}]", "broker 1 is listed twice"),
    "many brokers": (
        f"{HEAD}[cluster]\nbrokers = [{', '.join(f'{{ id = {n} }}' for n in range(10_000))}]",
        "brokers: 10,000 are too many",
    ),
    "many unknown keys": ("".join(f"key{n} = 1\n" for n in range(10_000)), "unknown key key0"),
    "many wrong commands": (GROUP + '[[at]]\ntime = "1s"\ndo = "kil g-1"\n' * 5_000, "did you mean kill?"),
    "many wrong names": (GROUP + '[[expect]]\nthat = "groups.x.lag == 0"\nby = "1s"\n' * 4_000, "no group is named x"),
    "a budget at load": (GROUP + f'[[expect]]\nthat = "{"[" * 500}"\nby = "1s"\n', "nested deeper than 50 levels"),
}


@pytest.mark.parametrize("name", MONSTERS)
def test_a_monster_is_a_few_short_sentences(name: str) -> None:
    text, reason = MONSTERS[name]
    began = time.process_time()
    with pytest.raises(ScenarioErrors) as caught:
        parse_scenario(text, "f.toml")
    assert time.process_time() - began < 3
    errors = [str(error) for error in caught.value.errors]
    assert any(reason in error for error in errors), errors[:3]
    assert len(errors) <= MOST_PROBLEMS
    assert all(len(error) < 500 and "\n" not in error and error.startswith("f.toml") for error in errors)


def test_dots_in_texts_and_comments_are_no_keys() -> None:
    dots = ".".join("abcdefghijklmnopqrstuvwxyz")
    lesson = f'lesson = """\n{dots} " {dots}"""\nmodule = "{dots}"  # {dots}\n'
    assert dots in parse_scenario(lesson + HEAD, "f.toml").spec.lesson


def test_loading_evaluates_no_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    from recordings.cel.evaluation import Program  # noqa: PLC0415 - to be broken

    def evaluated(*_: object) -> bool:
        raise AssertionError("evaluated while loading")

    monkeypatch.setattr(Program, "run", evaluated)
    parse_scenario(GROUP + '[[expect]]\nthat = "groups.g.lag == 0"\nby = "1s"\n', "f.toml")


def test_a_script_is_read_as_carefully() -> None:
    with pytest.raises(ScenarioErrors, match="nested too deeply"):
        parse_script("a = " + "[" * 20_000, "s.toml")


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_scenario(path: str) -> None:
    with pytest.raises(ScenarioErrors) as caught:
        load(Path(path))
    assert len(str(caught.value)) < 200
