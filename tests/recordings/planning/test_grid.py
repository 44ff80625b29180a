"""The values of `--vary`, and the combinations of them."""

import pytest

from recordings.planning.grid import parse_variation, rows_of
from recordings.scenarios.loader import SettingError


def test_every_combination_is_a_row() -> None:
    rows = rows_of([parse_variation("billing:static=true,false"), parse_variation("members=2, 4,8")])
    assert rows[0] == (("billing", "static", "true"), (None, "members", "2"))
    assert [tuple(value for _, _, value in row) for row in rows] == [
        (static, members) for static in ("true", "false") for members in ("2", "4", "8")
    ]


def test_a_plus_joins_the_values_of_a_list_and_of_nothing_else() -> None:
    for key in ("assignors", "billing:assignors", "billing.partition.assignment.strategy"):
        assert parse_variation(f"{key}=range+cooperative-sticky,cooperative-sticky").values == (
            "range,cooperative-sticky",
            "cooperative-sticky",
        )
    assert parse_variation("client.rack=a+b").values == ("a+b",)


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["members"], "'members' varies nothing: write it like KEY=VALUE,VALUE"),
        (["members=1,,2"], "has an empty value"),
        (["members=1,2,1"], "has the value 1 twice"),
        (["members=1,2", "members=3"], "members is given twice"),
        (["linger.ms=1,2"], "linger.ms is given twice"),
        (["members=" + ",".join(map(str, range(201)))], "201 combinations are too many: a plan has at most 200"),
        ([], "nothing is varied"),
    ],
)
def test_what_cannot_be_varied_is_refused(texts: list[str], reason: str) -> None:
    with pytest.raises(SettingError, match=reason.replace("+", r"\+")):
        rows_of([parse_variation(text) for text in texts], [(None, "linger.ms", "5")])
