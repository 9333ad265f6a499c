"""Runs the chapters one after the other, or those that are named."""

import importlib

import chapter

CHAPTERS = [
    "fit_a_line",
    "recognize_digits",
    "image_classification",
    "word2vec",
    "recommender_system",
    "understand_sentiment",
    "label_semantic_roles",
    "rnn_encoder_decoder",
    "machine_translation",
    "gan",
]


def main() -> None:
    """A line for each network; exits with 1 if one misses its score."""
    parser = chapter.arguments(__doc__)
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER",
                        help=f"of {', '.join(CHAPTERS)}")  # fmt: skip
    options = parser.parse_args()
    names = options.chapters or CHAPTERS
    unknown = [name for name in names if name not in CHAPTERS]
    if unknown:
        parser.error(
            f"no chapter {unknown[0]}: there are {', '.join(CHAPTERS)}"
        )
    chapter.check_options(parser, options)
    tasks = [t for name in names for t in importlib.import_module(name).TASKS]
    chapter.run_all(tasks, options)


if __name__ == "__main__":
    main()
