"""Analyses Chinese text with LAC 2.1.2, a client of PaddlePaddle's old Fluid.

The client is unmodified: its import of paddle.fluid gets sluice.fluid, and its
models are those that PaddlePaddle saved. Texts are segmented into words, which
are tagged and ranked; then come the times and the kernels. --train teaches the
tagger that a common noun is a product's name. --peers runs the same models with
PaddlePaddle 2.6.2, in turns, and ends with an error if tags differ.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import re
import statistics
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import console

ROOT = Path(__file__).resolve().parents[1]
TEXTS = {
    "水闸决定水流向哪条渠道。": (
        "A sluice decides which channel the water takes."
    ),
    "王小明昨天在杭州买了三本新书。": (
        "Wang Xiaoming bought three new books in Hangzhou yesterday."
    ),
    "这家公司2026年11月发布了软件。": (
        "This company released software in November 2026."
    ),
}
GLOSSES = {
    "n": "noun", "nr": "name of a person", "ns": "name of a place",
    "nt": "name of an organisation", "nw": "title of a work",
    "nz": "other proper name", "f": "direction", "s": "place", "t": "time",
    "v": "verb", "vd": "verb as an adverb", "vn": "verb as a noun",
    "a": "adjective", "ad": "adjective as an adverb",
    "an": "adjective as a noun", "d": "adverb", "m": "number",
    "q": "measure word", "r": "pronoun", "p": "preposition",
    "c": "conjunction", "u": "particle", "xc": "other function word",
    "w": "punctuation", "PER": "person", "LOC": "place",
    "ORG": "organisation", "TIME": "time",
}  # fmt: skip
# For training: the noun 水闸, a sluice, is the proper name of a program here.
PATTERNS = [
    "水闸/nz 决定/v 由/p 哪个/r 内核/n 计算/v 这个/r {thing}/n",
    "{person}/PER 用/p 水闸/nz 训练/v 了/u {thing}/n",
    "我们/r 在/p {city}/LOC 用/p 水闸/nz 运行/v {thing}/n",
    "水闸/nz 是/v 一个/m 小巧/a 的/u {thing}/n",
    "{person}/PER 昨天/TIME 下载/v 了/u 水闸/nz",
    "水闸/nz 能/v 读/v 旧/a 的/u {thing}/n",
    "{person}/PER 喜欢/v 水闸/nz",
]
WORDS = {
    "person": ["王小明", "李红", "张伟", "陈静"],
    "city": ["北京", "杭州", "上海", "成都"],
    "thing": ["模型", "网络", "程序", "框架", "算子"],
}
UNSEEN = {
    "李红今天在成都安装了水闸": "Today Li Hong installed Sluice in Chengdu."
}


def sentences(count: int) -> list[str]:
    """Tagged sentences for training, one word/tag after another."""
    drawn = random.Random(0)
    return [
        drawn.choice(PATTERNS).format_map(
            {kind: drawn.choice(words) for kind, words in WORDS.items()}
        )
        for _ in range(count)
    ]


def padded(text: str, width: int) -> str:
    """Text and blanks; Chinese characters take two columns."""
    wide = sum(unicodedata.east_asian_width(one) in "WF" for one in text)
    return text + " " * (width - len(text) - wide)


def print_text(text: str, gloss: str, ranked: list[Any]) -> None:
    """Print the words of a text, with their tags and ranks."""
    print(f"\n{text}" + f'\n"{gloss}"' * bool(gloss))
    print("  word        tag   meaning               rank, of 0 to 3")
    for word, tag, rank in zip(*ranked, strict=True):
        meaning = GLOSSES.get(tag, "")
        print(f"  {padded(word, 12)}{tag:6}{meaning:22}{'*' * rank or '-'}")


def tagged(result: list[Any]) -> str:
    """Words and tags in a line."""
    return " ".join("/".join(pair) for pair in zip(*result, strict=True))


def milliseconds(call: Callable[[], Any], seconds: float = 0.5) -> float:
    """The median time of a call."""
    call()
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times)


def analyse(texts: dict[str, str]) -> None:
    """Run the client's three modes; show times and kernels."""
    from LAC import LAC

    with console.progress("loading the models"):
        clients = {mode: LAC(mode=mode) for mode in ("seg", "lac", "rank")}
    # The client removes empty texts from a list that it is given.
    for text, ranked in zip(
        texts, clients["rank"].run(list(texts)), strict=True
    ):
        print_text(text, texts[text], ranked)
    first = next(iter(texts))
    print(f"\nonly segmented: {' | '.join(clients['seg'].run(first))}")
    print(f"only tagged:    {tagged(clients['lac'].run(first))}")
    print(
        "\ntime of a call   the first text   " + f"all {len(texts)} in a batch"
    )
    for mode, name in (("seg", "segment"), ("lac", "tag"), ("rank", "rank")):
        client = clients[mode]
        one = milliseconds(lambda client=client: client.run(first))
        batch = milliseconds(lambda client=client: client.run(list(texts)))
        print(f"  {name:15}{one:11.2f} ms{batch:18.2f} ms")
    print("\nwhich kernels tag the batch")
    tagger = clients["lac"].model
    tensor, _ = tagger.texts2tensor(list(texts))
    tagger.predictor.run([tensor])
    model = tagger.predictor.model
    profile = model.executor.profile(
        model.program,
        {model.feeds[0]: (tensor.as_ndarray(), tensor.lod[0])},
        [model.values.get(name, name) for name in model.fetches],
        model.scope,
    )
    print(str(profile.top(6)).rstrip())


def train(folder: Path, count: int) -> dict[Path, str]:
    """Train the tagger for an epoch, as the client does it."""
    from LAC import LAC

    file, saved = folder / "sentences.tsv", folder / "trained"
    file.write_text("\n".join(sentences(count)) + "\n", encoding="utf-8")
    (text,) = UNSEEN
    print(f"\n{count} sentences say that 水闸, a sluice, is a program, such as")
    print(f"  {sentences(1)[0]}")
    client = LAC(mode="lac")
    before, said = client.run(text), io.StringIO()
    begin = time.perf_counter()
    with (
        console.progress("training for an epoch"),
        contextlib.redirect_stdout(said),
    ):
        client.train(str(saved), str(file), str(file), 1, 1)
    print(f"trained for an epoch in {time.perf_counter() - begin:.1f} s")
    scores = re.findall(r"F1: (\S+)", said.getvalue())
    for when, score, result in zip(
        ("before", "after"), scores, (before, client.run(text)), strict=True
    ):
        print(
            f"  {when:7} F1 of the words {float(score):.3f}; {tagged(result)}"
        )
    print(f'  "{UNSEEN[text]}"; nz is a proper name')
    again = LAC(str(saved)).run(text)
    print(f"  loaded from its files: {tagged(again)}")
    return {saved: "the trained model, for LAC(FOLDER)"}


NAMES = {
    "sluice": "Sluice",
    "paddle2": "PaddlePaddle 2.6.2",
    "paddle2_onednn": "PaddlePaddle with oneDNN",
}


def compare(turns: int) -> bool:
    """Run the models with PaddlePaddle; return whether tags are the same."""
    if sys.version_info >= (3, 13):
        print("\nnot compared: PaddlePaddle 2.6.2 needs Python 3.12 or older")
        return True
    sys.path += [str(ROOT / "benchmarks" / one) for one in ("fluid", "peers")]
    import contestants

    answers: dict[str, list[list[float]]] = {}
    times: dict[str, list[float]] = {name: [] for name in NAMES}
    with (
        contextlib.ExitStack() as stack,
        console.progress("comparing", 3 * (len(NAMES) + turns)) as bar,
    ):

        def started(row: str, name: str) -> contestants.Contestant:
            bar.set_postfix_str(f"{NAMES[name]}, {row}")
            one = contestants.Contestant(row, name, 1, module="saved_models")
            stack.callback(one.close)
            answers.setdefault(row, []).append(one.check()["losses"])
            bar.update()
            return one

        for row in ("lac_tags", "lac_emissions"):
            for name in NAMES:
                started(row, name).close()
        running = {name: started("lac_texts", name) for name in NAMES}
        for _ in range(turns):
            for name, one in running.items():
                bar.set_postfix_str(NAMES[name])
                times[name].append(one.sample(0.3))
                bar.update()
    tags, *others = answers["lac_tags"]
    wrong = [
        sum(a != b for a, b in zip(tags, one, strict=True)) for one in others
    ]
    print(
        f"\nPaddlePaddle 2.6.2 runs the same files: of {len(tags):,} tags of "
        f"1,000 sentences\n  {wrong[0]} differ, {wrong[1]} with oneDNN"
    )
    scores, *others = answers["lac_emissions"]
    off = [
        max(abs(a - b) for a, b in zip(scores, one, strict=True))
        for one in others
    ]
    print(
        f"emissions differ by {off[0]:.1e} at most, {off[1]:.1e} with oneDNN; "
        f"the largest is {max(map(abs, scores)):.1f}"
    )
    print("\n3 texts of 34 words in all, one thread, in turns")
    for name, each in times.items():
        middle, *ends = contestants.ratio(times["sluice"], each)
        print(
            f"  {NAMES[name]:25}{statistics.median(each):6.2f} ms"
            + f"; Sluice takes {middle:.2f} of it ({ends[0]:.2f} to "
            f"{ends[1]:.2f})" * (name != "sluice")
        )
    return not any(wrong)


def main() -> None:
    """Analyse the texts."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("texts", nargs="*", metavar="TEXT", help="by default three of our own")
    add("--out", type=Path, default=Path("build/analyse_text"))
    add("--train", action="store_true", help="train the tagger, too")
    add("--sentences", type=int, default=48, help="for training (default: 48)")
    add("--peers", action="store_true", help="compare with PaddlePaddle 2.6.2")
    add("--turns", type=int, default=9, help="of the comparison (default: 9)")
    arguments = parser.parse_args()
    import sluice.fluid.as_paddle  # paddle.fluid is Sluice from here on

    print(f"LAC on Sluice {sluice.__version__}, without PaddlePaddle")
    arguments.out.mkdir(parents=True, exist_ok=True)
    texts = [text for text in arguments.texts if text]
    analyse({text: TEXTS.get(text, "") for text in texts} or TEXTS)
    files = {}
    if arguments.train:
        files = train(arguments.out, arguments.sentences)
    right = not arguments.peers or compare(arguments.turns)
    print()
    following = "--train" * (not arguments.train) or "'a text of yours'"
    console.finish(files, f"./dev demo lac {following}")
    if not right:
        raise SystemExit("analyse_text.py: PaddlePaddle finds other tags")


if __name__ == "__main__":
    main()
