"""The course names every packaged scenario once, in its module; what it reads of a file is what loading it gives."""

from itertools import chain

from cluster.config import format_duration
from recordings.scenarios.course import COURSE, lessons
from recordings.scenarios.loader import list_scenarios

OUTSIDE = {"reference-s", "reference-m", "reference-l", "reference-xl"}  # loads to measure with: they teach nothing


def test_every_scenario_has_its_place_in_the_course() -> None:
    names = [lesson.name for lesson in lessons()]
    taught = list(chain.from_iterable(COURSE.values()))
    assert len(taught) == len(set(taught))
    assert names == [*taught, *sorted(OUTSIDE)]
    for lesson in lessons():
        assert lesson.name in OUTSIDE or lesson.name in COURSE[lesson.module]


def test_a_lesson_is_what_the_loaded_scenario_says() -> None:
    loaded = {one["name"]: one for one in list_scenarios()}
    assert loaded == {
        lesson.name: {
            "name": lesson.name,
            "title": lesson.title,
            "lesson": loaded[lesson.name]["lesson"],
            "module": lesson.module,
            "until": format_duration(lesson.until_us),
        }
        for lesson in lessons()
    }
    assert all(loaded[lesson.name]["lesson"].strip() == lesson.lesson for lesson in lessons())
