"""Searches, in Python."""


def beam_search(first, state, follow, beam_size, most, end):
    """Sentences of one source, best first, as (tokens, the score of each); and
    in how many steps any was selected.

    `follow(state, token)` gives pairs of a next token and its log probability,
    and the next state. A sentence ends with the token `end`.
    """
    beams, steps = [((first,), [0.0], state)], 0
    for step in range(most):
        found = []
        for at, (words, scores, state) in enumerate(beams):
            if words[-1] == end:
                found.append((scores[-1], at, None, state))
                continue
            pairs, new = follow(state, words[-1])
            found += [(scores[-1] + log, at, token, new) for token, log in pairs]
        found.sort(key=lambda each: -each[0])
        chosen = sorted(found[:beam_size], key=lambda each: each[1])
        if all(token is None for _, _, token, _ in chosen):
            break
        beams = [
            beams[at]
            if token is None
            else ((*beams[at][0], token), [*beams[at][1], score], new)
            for score, at, token, new in chosen
        ]
        steps = step + 1
    best = sorted(beams, key=lambda beam: -beam[1][-1])
    return [beam[:2] for beam in best], steps
