"""The budgets of words by room, and the prices, in tools/lint/budgets.json: what
may not be exceeded, and how a commit may change it.

A commit may raise the budget of a room by what it takes from other rooms: the
sum of all rooms does not rise, and neither does that without tests. A price does
not rise. `python3 tools/lint/lines.py --write` records what the tree has now.

"allowed" lists what the project decided to add to these sums, by what it is for:
words without those of tests, words of tests, and lines of a price: kernels that
only make ops faster add lines, but no ops."""

import json
import subprocess

import rooms

FILE = "tools/lint/budgets.json"
SLACK = 0.01  # of a budget, until all rooms are counted by words
SLACK_LINES = 1  # of a price: a median rises where short ones become data


def read():
    return json.loads((rooms.ROOT / FILE).read_text())


def write(words, prices):
    allowed = read().get("allowed", {}) if (rooms.ROOT / FILE).exists() else {}
    now = {"words": words, "lines": prices, "allowed": allowed}
    text = json.dumps(now, indent=2)
    (rooms.ROOT / FILE).write_text(text + "\n")


def exceeded(budgets, words, prices):
    """Yields a sentence for each budget or price that is exceeded."""
    for room, count in words.items():
        budget = budgets["words"].get(room, 0)
        if count > budget * (1 + SLACK):
            yield f"{room}: {count:,} words, its budget ({FILE}) is {budget:,}"
    for kind, lines in prices.items():
        most = budgets["lines"].get(kind, 0)
        if lines > most + SLACK_LINES:
            yield (
                f"{kind}: {lines} lines, at most {most} ({FILE}); "
                "tools/lint/prices.py says what it counts"
            )


def committed(revision):
    """The budgets of a commit; None if there is no such commit or file."""
    shown = subprocess.run(
        ["git", "show", f"{revision}:{FILE}"],
        cwd=rooms.ROOT,
        capture_output=True,
        text=True,
    )
    return json.loads(shown.stdout) if shown.returncode == 0 else None


def sum_of_words(budgets, with_tests):
    """The budgets of all rooms, without what is allowed."""
    allowed = budgets.get("allowed", {}).values()
    code = sum(n for room, n in budgets["words"].items() if room != "tests")
    code -= sum(each["words"] for each in allowed)
    tests = budgets["words"].get("tests", 0) - sum(each["tests"] for each in allowed)
    return code + tests if with_tests else code


def price_of(budgets, kind):
    """The price of a kind, without what is allowed; 0 if there is none."""
    allowed = budgets.get("allowed", {}).values()
    more = sum(each.get("lines", {}).get(kind, 0) for each in allowed)
    return budgets["lines"].get(kind, more) - more


def raised(before, after):
    """How budgets rise against the rules, from one commit to the next."""
    groups = {"all rooms": True, "the rooms without tests": False}
    for title, with_tests in groups.items():
        old, new = (sum_of_words(each, with_tests) for each in (before, after))
        if new > old:
            yield (
                f"{FILE}: the budget of {title} rises from {old:,} to {new:,} "
                "words; take from other rooms what one needs"
            )
    for kind in after["lines"]:
        old, lines = (price_of(each, kind) for each in (before, after))
        if old and lines > old:
            yield f"{FILE}: {kind} rises from {old} to {lines} lines"


def raised_in_history(now):
    """How the last commit raises budgets, and how the files would that are not
    committed yet."""
    parent, last = committed("HEAD~1"), committed("HEAD")
    if parent is None:
        print(
            f"{FILE}: nothing to compare with in the commit before the last "
            "(a shallow or exported tree, or a new file)"
        )
    pairs = [(parent, last), (last, now)]
    return [
        problem
        for before, after in pairs
        if before is not None and after is not None
        for problem in raised(before, after)
    ]
