"""Tests of the fault matrix's judgement."""
import unittest

from verdict import Attempt, Limits, Version, judge, outages, periods

HEAL = Limits(heal=10)


def answers(*spans):
    """A request every 0.1 s; spans are (from, to, ok)."""
    result = []
    for begin, end, ok in spans:
        count = round((end - begin) * 10)
        result += [Attempt(begin + i / 10, begin + i / 10 + 0.05, ok) for i in range(count)]
    return result


def version(time, serving, address="192.0.2.1"):
    return Version(time, serving, "Serving" if serving else "Infrastructure", address, "why")


class OutagesTest(unittest.TestCase):
    def test_an_outage_ends_with_the_next_answer(self):
        self.assertEqual(outages(answers((0, 1, True), (1, 3, False), (3, 4, True)), 0), [(1, 3)])

    def test_a_request_under_way_at_the_fault_counts_from_the_fault(self):
        self.assertEqual(outages([Attempt(0.8, 1.3, False), Attempt(1.3, 1.4, True)], 1), [(1, 1.3)])

    def test_an_outage_may_last(self):
        self.assertEqual(outages(answers((1, 2, False)), 0), [(1, float("inf"))])

    def test_periods_of_equal_status_are_one(self):
        self.assertEqual(periods([version(0, True), version(1, True), version(2, False)], True), [(float("-inf"), 2)])


class JudgeTest(unittest.TestCase):
    def verdict(self, attempts, versions, limits=HEAL, ended=1.0, now=30.0, silent=()):
        return judge(attempts, versions, 1.0, ended, now, limits, silent)

    def test_cut_told_and_healed_are_measured(self):
        seen = self.verdict(answers((0, 2, True), (2, 6, False), (6, 8, True)),
                            [version(0, True), version(3, False), version(6.5, True)])
        self.assertEqual((seen.cut, seen.told, seen.healed, seen.lost, seen.writes), (1.0, 1.0, 5.5, 40, 2))
        self.assertEqual(seen.problems, [])

    def test_nothing_happened(self):
        seen = self.verdict(answers((0, 8, True)), [version(0, True)])
        self.assertEqual((seen.cut, seen.told, seen.healed, seen.problems), (None, None, 0.0, []))

    def broken(self, text, *arguments, **options):
        problems = self.verdict(*arguments, **options).problems
        self.assertTrue(any(text in one for one in problems), problems)

    def test_a_status_that_lies_is_a_problem(self):
        self.broken("said Serving for 6.0 s", answers((0, 2, True), (2, 8, False), (8, 9, True)), [version(0, True)])

    def test_a_lie_that_nobody_could_correct_is_none(self):
        seen = self.verdict(answers((0, 2, True), (2, 8, False), (8, 9, True)), [version(0, True)], silent=[(2, 4)])
        self.assertEqual(seen.problems, [])

    def test_what_does_not_heal_is_a_problem(self):
        self.broken("did not serve again: why", answers((0, 2, True), (2, 8, False)), [version(0, True), version(3, False)])

    def test_healing_too_late_is_a_problem(self):
        self.broken("served again after 11.0 s", answers((0, 2, True), (2, 12, False), (12, 13, True)),
                    [version(0, True), version(3, False), version(12, True)])

    def test_another_address_is_a_problem(self):
        self.broken("changed its address", answers((0, 8, True)), [version(0, True), version(3, True, "192.0.2.2")])

    def test_a_lost_address_is_a_problem(self):
        self.broken("changed its address", answers((0, 8, True)), [version(0, True), version(3, True, "")])

    def test_a_write_storm_is_a_problem(self):
        self.broken("was written 13 times", answers((0, 8, True)), [version(0, True)] + [version(2, True)] * 13)

    def test_a_false_alarm_is_a_problem(self):
        self.broken("was not Serving", answers((0, 8, True)), [version(0, True), version(2, False), version(3, True)],
                    limits=Limits(heal=10, serving_stays=True))

    def test_a_neighbour_that_is_cut_is_a_problem(self):
        self.broken("lost 1 requests", answers((0, 2, True), (2, 2.1, False), (2.1, 3, True)), [version(0, True)],
                    limits=Limits(heal=10, connections_stay=True))


if __name__ == "__main__":
    unittest.main()
