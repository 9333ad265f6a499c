"""Sentences in two made-up languages, for both chapters on translation.

The first says: adjectives, noun, verb, adjectives, noun, perhaps an adverb. The
second begins with the adverb and ends with the verb, and its adjectives stand
after their noun and take one of two endings, by the noun.
"""

from __future__ import annotations

import numpy as np

START, END = 0, 1
ADJECTIVES = "big red old kind slow new".split()
NOUNS = "dog man girl horse bird tree king fish boat star".split()
VERBS = "sees likes finds calls meets helps".split()
ADVERBS = "today often never soon".split()
SOURCE = ["", "", *ADJECTIVES, *NOUNS, *VERBS, *ADVERBS]
ENDINGS = "-o", "-a"
TARGET = [
    "<", ">", *(a + e for a in ADJECTIVES for e in ENDINGS),
    *(f"{word}u" for word in (*NOUNS, *VERBS, *ADVERBS)),
]  # fmt: skip


def pair(random: np.random.Generator) -> tuple[list[str], list[str]]:
    """A sentence and its translation."""
    source, target = [], []
    for turn in range(2):
        adjectives = random.choice(
            ADJECTIVES, random.integers(3), replace=False
        )
        noun = random.choice(NOUNS)
        ending = ENDINGS[NOUNS.index(noun) % 2]
        source += [*adjectives, noun]
        target += [f"{noun}u", *(a + ending for a in adjectives)]
        if turn == 0:
            verb = random.choice(VERBS)
            source.append(verb)
    target.append(f"{verb}u")
    if random.random() < 0.5:
        adverb = random.choice(ADVERBS)
        source.append(adverb)
        target.insert(0, f"{adverb}u")
    return source, target


def samples(count: int, seed: int) -> list[tuple[list[int], ...]]:
    """Words of the source, of the target after START, and those before END."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        source, target = pair(random)
        words = [TARGET.index(word) for word in target]
        ids = [SOURCE.index(word) for word in source]
        made.append((ids, [START, *words], [*words, END]))
    return made
