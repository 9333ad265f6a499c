"""Training on up to 1,000 ranks, simulated from plans that were measured here.

  ./dev bench simulation [--json FILE] [--save FILE | --measured FILE]

Two ranks, which mpirun starts, measure what an all-reduce costs between them
and what the ops of LeNet and of a ResNet-20 take, 64 images a rank; their plans
say where collectives start and where they are waited for. The simulation
(rank_simulation.py) replays these on more ranks and on other networks; tables
in Markdown compare it with a closed formula. Rows are its error against the
two ranks that were measured, over shared memory and over TCP on this host:

simulation/<network>_<link>: the simulated time of a step over that measured.
simulation/<network>_<link>_sums: the same of what collectives add to a step;
small where they add little, and then mostly noise.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import sys
import time

import bench_distributed
import bench_report
import numpy as np
import rank_simulation as simulation
from rank_simulation import CALLS, FREE, Instruction, Network, Schedule

WORKER = bench_report.FOLDER / "simulation_worker.py"
NETWORKS = ("lenet", "resnet20")
SHOWN = str(1 << 20)  # the default bucket
# Without these variables Open MPI takes shared memory. Ranks of one host reach
# each other over the loopback, whatever other interfaces there are.
LINKS = {
    "shared": {},
    "tcp": {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo"},
}
RANKS = (2, 4, 8, 64, 1000)
MOST_SHARED = 8  # ranks that share memory
LEAST_LARGE = 8  # ranks for which buckets are compared
STEPS = 20
# Of a smoke run.
SMOKE_NETWORKS = ("lenet",)
SMOKE_RANKS = (2, 8, 16)
JITTER = 0.01
SEED = 0
# Of an Ethernet frame of 1,538 bytes on the wire, 1,448 are a message's.
ETHERNET = 1448 / 1538 / 8
TCP_EAGER = 65536  # btl_tcp_eager_limit
UCX_EAGER = 8192
# The sizes between which a byte's cost is taken.
SMALL, LARGE = 16, 131072


def measure(options, names) -> dict:
    """What the ranks say, by link."""
    links_wanted = ["tcp"] if options.wire else LINKS
    repeats = 1 if options.smoke else 2
    date, machine = time.strftime("%Y-%m-%d"), bench_report.machine()
    found = {"date": date, "machine": machine}
    for name in links_wanted:
        contestant = bench_distributed.Contestant(
            name,
            lambda size: [
                *bench_distributed.mpirun(size, options),
                sys.executable, WORKER,
            ],
            {**bench_distributed.mpi_environment(), **LINKS[name]},
            options,
        )
        links, found[name] = [], {}
        for network in names:
            links += [contestant.measure("link", 2) for _ in range(repeats)]
            found[name][network] = contestant.measure(network, 2)
        found[name]["link"] = least(links)
    return found


def least(links: list[dict]) -> dict:
    """Other programs make messages slower, and none faster."""
    tables = np.array([each["link"] for each in links])
    return {"link": tables.min(axis=0).tolist()}


def schedule_of(measured: dict, bucket: str = SHOWN) -> Schedule:
    """A plan's, whose ops take as long as steps without collectives did at
    their fastest: when nothing else used the processors."""
    plan = measured["buckets"][bucket]
    instructions = tuple(
        Instruction(
            each["op"], each["seconds"], each.get("starts", -1),
            tuple(each.get("waits", ())),
        )
        for each in plan["instructions"]
    )
    schedule = Schedule(instructions, tuple(plan["collectives"]))
    return schedule.scaled(min(measured["alone"]))


def measured_link(measured: dict, name: str, wire: bool = False) -> Network:
    """On one host the ranks' own processors do all of it; with `wire` what
    limits them does."""
    costs = tuple(map(tuple, measured["link"]["link"]))
    if not wire:
        return Network(name, work_table=costs)
    return Network(
        name, costs[0][1], wire_table=costs, eager_bytes=TCP_EAGER
    )


def cost_of_bytes(link: Network) -> tuple[float, float]:
    """Seconds of a message, and of a byte."""
    byte = (link.work(LARGE) - link.work(SMALL)) / (LARGE - SMALL)
    return link.work(SMALL), byte


def networks(measured: dict) -> list[Network]:
    """Latency and bandwidth from the literature (design/distribution.md), the
    processor's work as measured here: that of TCP, or of adding."""
    shared = measured_link(measured["shared"], "shared memory")
    tcp_message, tcp_byte = cost_of_bytes(measured_link(measured["tcp"], ""))
    message, byte = cost_of_bytes(shared)
    # Half of a message between two processes is the sender's.
    tcp = {"work_message": tcp_message / 2, "work_byte": tcp_byte,
           "eager_bytes": TCP_EAGER}
    return [
        shared,
        Network("1 GbE", 25e-6, 1e9 * ETHERNET, **tcp),
        Network("10 GbE", 20e-6, 10e9 * ETHERNET, **tcp),
        Network("25 GbE", 20e-6, 25e9 * ETHERNET, **tcp),
        Network("100 Gb InfiniBand", 0.9e-6, 11.6e9, message / 2, byte,
                UCX_EAGER),
    ]


def hidden(step: float, compute: float, sums: float) -> float:
    """The share of the communication that a step hides."""
    return 1 - (step - compute) / sums if sums else 1.0


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    print(f"\n{title}\n")
    for row in [columns, ["---"] * len(columns), *rows]:
        print("| " + " | ".join(row) + " |")


def ms(seconds: float) -> str:
    return f"{1000 * seconds:.4g}"


def show_ranks(
    name: str, schedule: Schedule, nets: list[Network], counts: tuple[int, ...]
) -> None:
    rows = []
    compute = schedule.compute
    for net in nets:
        for ranks in counts:
            if net.name == "shared memory" and ranks > MOST_SHARED:
                continue
            step = simulation.simulate(schedule, ranks, net)[0]
            formula = simulation.closed_form(schedule, ranks, net)
            sums = simulation.communication(schedule, ranks, net)
            rows.append([
                net.name, str(ranks), ms(step), f"{compute / step:.1%}",
                f"{hidden(step, compute, sums):.0%}", ms(sums), ms(formula),
                f"{formula / step - 1:+.1%}",
            ])
    table(
        f"{name}, computing {ms(compute)} ms, no jitter",
        ["network", "ranks", "step, ms", "efficiency", "hidden",
         "sums alone, ms", "formula, ms", "difference"],
        rows,
    )


def show_jitter(
    name: str,
    schedule: Schedule,
    alone: np.ndarray,
    nets: list[Network],
    counts: tuple[int, ...],
) -> None:
    """Of ranks on a quiet machine, of ordinary ones, and of those here."""
    random = np.random.default_rng(SEED)
    ratios = alone / alone.mean()
    kinds = {
        "none": lambda n: np.ones((1, n)),
        f"{JITTER:.0%}": lambda n: random.normal(1, JITTER, (STEPS, n)),
        "measured": lambda n: random.choice(ratios, (STEPS, n)),
    }
    slowest = {
        "none": lambda n: 1.0,
        f"{JITTER:.0%}": lambda n: simulation.expected_slowest(
            np.random.default_rng(SEED).normal(1, JITTER, 200_000), n
        ),
        "measured": lambda n: simulation.expected_slowest(ratios, n),
    }
    rows = []
    for kind, draw in kinds.items():
        for net in nets:
            row = [kind, net.name]
            for ranks in counts:
                step = simulation.simulate(
                    schedule, ranks, net, draw(ranks)
                ).mean()
                formula = simulation.closed_form(
                    schedule, ranks, net, slowest[kind](ranks)
                )
                row.append(
                    f"{schedule.compute / step:.1%} "
                    f"({schedule.compute / formula:.1%})"
                )
            rows.append(row)
    table(
        f"{name}: efficiency by jitter of a rank's step (closed formula)",
        ["jitter", "network", *(f"{n} ranks" for n in counts)], rows,
    )


def show_buckets(
    name: str, measured: dict, nets: list[Network], counts: tuple[int, ...]
) -> None:
    rows = []
    for net in nets:
        for ranks in counts:
            if ranks < LEAST_LARGE:
                continue
            steps = []
            for bucket in measured["buckets"]:
                schedule = schedule_of(measured, bucket)
                steps.append(simulation.simulate(schedule, ranks, net)[0])
            rows.append([net.name, str(ranks), *map(ms, steps)])
    table(
        f"{name}: steps in ms by bucket_bytes",
        ["network", "ranks",
         *(f"{int(size) >> 10} KiB" for size in measured["buckets"])],
        rows,
    )


def show_algorithms(
    name: str, schedule: Schedule, nets: list[Network], ranks: int
) -> None:
    rows = []
    for net in nets:
        row = [net.name]
        for algorithm in (
            simulation.RING, simulation.DOUBLING, simulation.RABENSEIFNER
        ):
            for progress in (CALLS, FREE):
                step = simulation.simulate(
                    schedule, ranks, net, None, algorithm, progress
                )[0]
                row.append(ms(step))
        rows.append(row)
    table(
        f"{name}, {ranks} ranks: steps in ms by algorithm; (thread): driven by "
        "a thread of its own",
        ["network", "ring", "(thread)", "doubling", "(thread)",
         "Rabenseifner", "(thread)"],
        rows,
    )


def check(
    report: bench_report.Report, measured: dict, names, wire: bool
) -> None:
    """Against the ranks that were measured."""
    for link in ["tcp"] if wire else LINKS:
        for name in names:
            found = measured[link][name]
            both = {k: np.array(v) for k, v in found["both"].items()}
            schedule = schedule_of(found).scaled(
                float(np.median(both["without"]))
            )
            net = measured_link(measured[link], link, wire)
            step = simulation.simulate(schedule, 2, net)[0]
            real = float(np.median(both["with"]))
            added = float(np.median(both["with"] - both["without"]))
            more = {
                "simulated_ms": 1e3 * float(step),
                "measured_ms": 1e3 * real,
                "computing_ms": 1e3 * schedule.compute,
                "sums_alone_ms": 1e3 * simulation.communication(
                    schedule, 2, net
                ),
                "turns": len(both["with"]),
            }
            report.add(f"simulation/{name}_{link}", "of measured", step / real,
                       more=more)
            print(f"  {({k: round(v, 3) for k, v in more.items()})}")
            simulated = float(step) - schedule.compute
            more = {
                "simulated_ms": 1e3 * simulated,
                "measured_ms": 1e3 * added,
                "least_ms": 1e3 * float(
                    both["with"].min() - both["without"].min()
                ),
            }
            report.add(f"simulation/{name}_{link}_sums", "of measured",
                       simulated / added, more=more)
            print(f"  {({k: round(v, 3) for k, v in more.items()})}")


def main() -> int:
    parser = bench_report.option_parser(__doc__, seconds=20.0)
    parser.add_argument("--save", type=pathlib.Path,
                        help="write what was measured to this file")
    parser.add_argument("--measured", type=pathlib.Path,
                        help="what --save has written: nothing is measured")
    parser.add_argument(
        "--wire", action="store_true",
        help="only hold two ranks over TCP against the simulation; something\n"
        "(tc) makes the loopback slower than the processors are",
    )
    options = parser.parse_args()
    names = SMOKE_NETWORKS if options.smoke else NETWORKS
    counts = SMOKE_RANKS if options.smoke else RANKS
    if options.measured:
        measured = json.loads(options.measured.read_text())
    elif shutil.which("mpirun") is None:
        print("bench simulation: there is no mpirun", file=sys.stderr)
        return 1
    else:
        os.environ.setdefault("SLUICE_RECORDS", "off")
        measured = measure(options, names)
    if options.save:
        text = json.dumps(measured, separators=(",", ":"))
        options.save.write_text(text + "\n")
    print(f"measured on {measured['date']}: {measured['machine']}")
    report = bench_report.Report(options)
    report.header = {key: measured[key] for key in ("machine", "date")}
    check(report, measured, names, options.wire)
    if options.wire:
        return report.finish()
    nets = networks(measured)
    for net in nets:
        print(f"{net.name}: {net}")
    for name in names:
        found = measured["shared"][name]
        schedule = schedule_of(found)
        show_ranks(name, schedule, nets, counts)
        show_jitter(
            name, schedule, np.array(found["alone"]), nets[2:], counts
        )
        show_buckets(name, found, nets[1:], counts)
        show_algorithms(name, schedule, nets[1:], counts[-1])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
