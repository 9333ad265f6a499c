"""Rows of calls that are refused, and their reader."""

import pathlib

import pytest

import sluice as sl


def refused(call, *words, error=sl.InvalidArgumentError):
    """The message of a call's error, after its id in brackets; it has these
    words."""
    with pytest.raises(error) as raised:
        call()
    text = f"[{getattr(raised.value, 'check_id', '')}] {raised.value}"
    for word in words:
        assert word in text, f"{word!r} is not in {text}"
    return text


def _words(row):
    return ", ".join(word for word in row if isinstance(word, str))


def rows(table, given=tuple, error=sl.InvalidArgumentError, line=True):
    """A test for each row: a call, the error's class if it is not `error`, and
    words of the message.

    Args:
        given: makes the arguments of a call.
        line: whether a message names the file of the call, and begins with at
            most 300 letters.
    """

    @pytest.mark.parametrize("row", table, ids=_words)
    def test(row):
        call, *words = row
        kind = error if isinstance(words[0], str) else words.pop(0)
        if line:
            words.append(f"{pathlib.Path(call.__code__.co_filename).name}:")
        arguments = given()
        text = refused(lambda: call(*arguments), *words, error=kind)
        assert not line or len(text.splitlines()[0]) < 300

    return test
