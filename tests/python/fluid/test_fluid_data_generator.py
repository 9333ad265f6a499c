"""``fluid.incubate.data_generator``: the lines that a data feed reads."""

import io

import pytest
from refusals import refused

import sluice.fluid as fluid

dg = fluid.incubate.data_generator


class Padded(dg.MultiSlotDataGenerator):
    """The numbers of a line, as many as its batch has at most; and how many."""

    def generate_sample(self, line):
        numbers = [float(n) if "." in n else int(n) for n in (line or "7").split()]
        pair = ("words", numbers), ("count", [len(numbers)])
        return lambda: iter([pair if numbers else None])

    def generate_batch(self, samples):
        most = max(len(words) for (_, words), _ in samples)
        for (_, words), _ in samples:
            words += [0] * (most - len(words))
        return super().generate_batch(samples)


def test_samples_are_lines_of_counts_and_values(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("19 26\n\n8\n0.5 1 7\n"))
    padded = Padded()
    padded.set_batch(2)
    padded.run_from_stdin()
    padded.run_from_memory()
    lines = "2 19 26 1 2", "2 8 0 1 1", "3 0.5 1 7 1 3", "1 7 1 1", ""
    assert capsys.readouterr().out == "\n".join(lines)
    texts = dg.MultiSlotStringDataGenerator()._gen_str([("a", ["007", "b"])])
    assert texts == "2 007 b\n"


@pytest.mark.parametrize(
    "sample",
    [
        "text",
        [(1, [2])],
        [("a", 2)],
        [("a", [])],
        [("a", ["2"])],
        [("b", [2])],
        [],
    ],
)
def test_samples_that_no_line_can_hold(sample):
    words = Padded()
    assert words._gen_str([("a", [1])]) == "1 1\n"
    refused(lambda: words._gen_str(sample), "a sample must be")
