"""What PyTorch computes in 100 steps: recorded, and new where it is installed.

    python tests/python/optimizers/of_pytorch.py

records it in of_pytorch.json.
"""

import json
from pathlib import Path

import numpy as np
from stepping import GRADS, RATE, START, STEPS

try:
    import torch
except ImportError:
    torch = None

FILE = Path(__file__).with_suffix(".json")
# A class of torch.optim and its arguments, by the names of CASES.
OPTIMIZERS = {
    "sgd": ("SGD", {}),
    "momentum": ("SGD", {"momentum": 0.9}),
    "nesterov": ("SGD", {"momentum": 0.9, "nesterov": True}),
    "adam": ("Adam", {"betas": (0.9, 0.99)}),
    "adamw": ("AdamW", {"betas": (0.9, 0.99), "weight_decay": 0.1}),
    "adamax of PyTorch": ("Adamax", {"betas": (0.9, 0.99), "eps": 1e-2}),
    "adagrad": ("Adagrad", {"eps": 1e-6}),
    "adagrad from 0.25": (
        "Adagrad", {"eps": 1e-6, "initial_accumulator_value": 0.25},
    ),
    "decayed_adagrad": ("RMSprop", {"alpha": 0.95, "eps": 1e-6}),
    "adadelta": ("Adadelta", {"rho": 0.95}),
    "rmsprop of PyTorch": (
        "RMSprop",
        {"alpha": 0.95, "eps": 1e-2, "momentum": 0.5, "centered": True},
    ),
    "rmsprop not centered": (
        "RMSprop", {"alpha": 0.95, "eps": 1e-2, "momentum": 0.5},
    ),
}
# A schedule of torch.optim.lr_scheduler and its arguments.
SCHEDULES = {
    "exponential staircase": ("StepLR", {"step_size": 7, "gamma": 0.9}),
    "exponential_decay": ("ExponentialLR", {"gamma": 0.9 ** (1 / 7)}),
    "polynomial to 0": ("PolynomialLR", {"total_iters": 60, "power": 2.0}),
    "pieces": ("MultiStepLR", {"milestones": [30, 60], "gamma": 0.5}),
    "cosine to 0": ("CosineAnnealingLR", {"T_max": 100}),
    "line": (
        "LinearLR",
        {"start_factor": 0.2, "end_factor": 1.0, "total_iters": 20},
    ),
}


def steps_of(name, arguments):
    """The parameter after all steps of an optimizer."""
    p = torch.tensor(START, requires_grad=True)
    stepped = getattr(torch.optim, name)([p], lr=RATE, **arguments)
    for g in GRADS:
        p.grad = torch.tensor(g)
        stepped.step()
    return p.detach().numpy().ravel().tolist()


def rates_of(name, arguments):
    """The rates of all steps."""
    stepped = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    schedule = getattr(torch.optim.lr_scheduler, name)(stepped, **arguments)
    rates = []
    for _ in range(STEPS):
        rates.append(schedule.get_last_lr()[0])
        stepped.step()
        schedule.step()
    return rates


def computed():
    """Lists of numbers by the names of optimizers and schedules."""
    return {
        "steps": {name: steps_of(*case) for name, case in OPTIMIZERS.items()},
        "rates": {name: rates_of(*case) for name, case in SCHEDULES.items()},
    }


def recorded(kind, name):
    return np.array(json.loads(FILE.read_text())[kind][name])


if __name__ == "__main__":
    FILE.write_text(json.dumps(computed()) + "\n")
