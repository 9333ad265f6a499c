"""Counts the words of a source: its names, keywords and numbers, and a word for
each seven characters of a string literal. Signs, comments and docstrings are
free.

Words do not depend on line breaks, and shorter names do not save any, so nobody
is paid for dense code. In this tree a word of code takes seven characters on
average, so that a fact costs the same as code, in a string, or in a data file.
"""

import re

CHARACTERS = 7
DOUBLE = r'"(?:\\.|[^"\\\n])*"'
SINGLE = r"'(?:\\.|[^'\\\n])*'"
# Strings, which cost by their length, and comments, which are free.
C_SOURCE = (
    r"//[^\n]*|/\*.*?\*/"
    rf'|(?P<text>R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|{DOUBLE}'
    rf"|(?<![0-9A-Fa-f]){SINGLE})"
)
DOCSTRING = r'(?::(?: *#[^\n]*)?\n|\A(?:#[^\n]*\n)*) *r?""".*?"""'
PYTHON = (
    rf'{DOCSTRING}|#[^\n]*|(?P<text>""".*?"""|' + r"'''.*?'''"
    rf"|{DOUBLE}|{SINGLE})"
)
SCRIPT = rf"(?<![^\s;])#[^\n]*|(?P<text>{DOUBLE})"
DATA = rf"(?P<text>{DOUBLE})"
HTML = rf"<!--.*?-->|{DATA}"
KINDS = {
    **dict.fromkeys(".h .cc .inc .cu .cuh .c .js .css .proto".split(), C_SOURCE),
    **dict.fromkeys(".cmake .txt .sh .toml".split(), SCRIPT),
    **dict.fromkeys((".json", ".jsonl"), DATA),
    **dict.fromkeys((".py", ".pyi"), PYTHON),
    ".html": HTML,
}
KINDS = {suffix: re.compile(kind, re.S) for suffix, kind in KINDS.items()}
WORD = re.compile(r"[A-Za-z_]\w*|\d(?:[eEpP][+-]|['.]?\w)*")


def count(text, suffix):
    """The words of a text with the suffix of its file."""
    strings = 0

    def leave_out(match):
        nonlocal strings
        if match["text"] is not None:
            strings += -(-len(match["text"]) // CHARACTERS)
        return " "

    code = KINDS.get(suffix, KINDS[".sh"]).sub(leave_out, text)
    return strings + len(WORD.findall(code))
