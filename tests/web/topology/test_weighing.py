"""Why one set of cards and not another."""

import pytest
from msgspec import structs

from tangram.reports.shape import CardSet
from tangram.web.language import Language
from tangram.web.topology.speech import Speech
from tangram.web.topology.weighing import ranges, weighed, why

ENGLISH = Speech(Language.ENGLISH)


def sets(chosen: tuple[float, float], *others: tuple[float, float]) -> list[CardSet]:
    """Each by its score and loss."""
    return [
        CardSet(
            cards=[4 * number, 4 * number + 1, 4 * number + 2], chosen=number == 0, score=score, loss=loss
        )
        for number, (score, loss) in enumerate((chosen, *others))
    ]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (sets((300, 0), (200, 0)), "the runner-up 4-6 scores 200, which is 100 less"),
        (sets((300, 0), (300, 40)), "both score 300; the runner-up would cost the remaining cards 40 more"),
        (sets((300, 40), (300, 40)), "the higher numbers decide"),
        (
            sets((200, 0), (300, 40)),
            "the runner-up would cost the remaining cards 40 more, which comes before",
        ),
        (sets((200, 0), (300, 0)), "another rule of its policy"),
        (sets((300, 40), (300, 0)), "another rule of its policy"),
        (sets((12.5, 0)), "Cards 0-2 score 12.5. There was no other set"),
    ],
)
def test_one_sentence_says_what_decided(given: list[CardSet], sentence: str) -> None:
    assert sentence in why(given, ENGLISH)


def test_without_a_choice_there_is_nothing_to_say() -> None:
    assert why([], ENGLISH) == ""
    assert why(sets((1, 1), (2, 2))[1:], ENGLISH) == ""
    assert weighed([]) == []


def test_more_sets_than_two_are_told_as_the_best_two() -> None:
    rows = weighed(sets((3, 0), (2, 0), (1, 0)))
    assert [(row.chosen, row.score) for row in rows] == [(True, "3"), (False, "2")]


def test_the_set_with_the_least_loss_has_a_row_of_its_own_unless_it_is_one_of_the_two() -> None:
    given = sets((3, 9), (2, 8), (1, 7))
    mildest = structs.replace(given[2], least_loss=True)
    rows = weighed([*given[:2], mildest])
    assert [(row.score, row.mildest) for row in rows] == [("3", False), ("2", False), ("1", True)]
    runner_up = structs.replace(given[1], least_loss=True)
    assert [row.mildest for row in weighed([given[0], runner_up])] == [False, False]


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([1, 0], "0, 1"), ([0, 1, 2, 6], "0-2, 6"), ([2, 2], "2")]
)
def test_numbers_are_told_as_ranges(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text
