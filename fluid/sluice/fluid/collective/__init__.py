"""``fluid.incubate.fleet`` for collective training, with one worker.

What a script calls of it is there. Several workers are refused, which are
:mod:`sluice.distributed`, and so are servers of parameters.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...display import Shown
from .. import io
from ..errors import unknown, wrong
from ..executor import BuildStrategy, CompiledProgram, ExecutionStrategy
from ..framework import (
    Program,
    default_main_program,
    default_startup_program,
)
from ..left_out import left_out
from ..optimizer import _Optimizer

__all__ = [
    "Collective", "CollectiveOptimizer", "DistributedOptimizer",
    "DistributedStrategy", "Fleet", "PaddleCloudRoleMaker", "Role",
    "RoleMakerBase", "UserDefinedCollectiveRoleMaker",
    "UserDefinedRoleMaker", "fleet",
]  # fmt: skip


class Role(Shown):
    """The role of a process."""

    WORKER, SERVER = 1, 2


class RoleMakerBase(Shown):
    """Says which worker of how many this process is: the only one."""

    def __init__(self, current_id: int = 0, role: int = Role.WORKER,
                 worker_num: int = 1,
                 endpoints: Sequence[str] = ()) -> None:  # fmt: skip
        self._current_id, self._role = current_id, role
        self._worker_num = worker_num or 1
        self._endpoints = [*endpoints] or ["127.0.0.1:0"]

    def generate_role(self) -> None:
        """Check the roles.

        Raises:
            UnimplementedError: there are several workers, or servers.
        """
        if self._role != Role.WORKER:
            unknown(
                "fleet.init: this process is a server, and there is no "
                "parameter server",
                "fluid.parameter_server",
            )
        if self._worker_num != 1 or self._current_id:
            unknown(
                f"fleet.init: worker {self._current_id} of {self._worker_num};"
                " there is one worker here, see sl.distributed for several",
                "fluid.one_worker",
            )


class UserDefinedRoleMaker(RoleMakerBase):
    """A role by numbers; its servers are not needed."""

    def __init__(self, current_id: int = 0, role: int = Role.WORKER,
                 worker_num: int = 0,
                 server_endpoints: Any = None) -> None:  # fmt: skip
        super().__init__(current_id, role, worker_num)


class UserDefinedCollectiveRoleMaker(RoleMakerBase):
    """A role by a number and the addresses of the workers."""

    def __init__(
        self, current_id: int = 0, worker_endpoints: Any = None
    ) -> None:
        endpoints = worker_endpoints or ()
        super().__init__(current_id, Role.WORKER, len(endpoints), endpoints)


class PaddleCloudRoleMaker(RoleMakerBase):
    """A role by what ``paddle.distributed.launch`` sets in the environment; one
    worker without it.
    """

    def __init__(self, is_collective: bool = False) -> None:
        listed = os.environ.get("PADDLE_TRAINER_ENDPOINTS", "").split(",")
        endpoints = [each for each in listed if each]
        number = int(os.environ.get("PADDLE_TRAINER_ID", "0"))
        role = Role.WORKER if is_collective else Role.SERVER
        super().__init__(number, role, len(endpoints), endpoints)

    def generate_role(self) -> None:
        """Check the roles, as :meth:`RoleMakerBase.generate_role`."""
        if self._role == Role.SERVER:
            unknown(
                "fleet.init: PaddleCloudRoleMaker without is_collective=True "
                "is for a parameter server, and there is none",
                "fluid.parameter_server",
            )
        super().generate_role()


class DistributedStrategy(BuildStrategy):
    """Takes any attribute. Only ``use_amp`` has an effect: it is refused."""

    mode, collective_mode = "collective", None
    use_local_sgd = use_dist_fc = use_amp = forward_recompute = False
    nccl_comm_num = 1

    def __init__(self) -> None:
        self.exec_strategy = ExecutionStrategy()
        self.recompute_checkpoints: list[Any] = []


class CollectiveOptimizer(_Optimizer):
    """An optimizer, after which ``fleet.main_program`` is there."""

    def __init__(self, optimizer: Any, strategy: Any = None) -> None:
        strategy = DistributedStrategy() if strategy is None else strategy
        if getattr(strategy, "use_amp", False):
            unknown(
                "fleet.distributed_optimizer: use_amp; programs train in the "
                "dtype of their variables",
                "fluid.use_amp",
            )
        self._optimizer, self._strategy = optimizer, strategy

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(vars(self)["_optimizer"], name)

    def minimize(self, loss: Any, startup_program: Program | None = None,
                 parameter_list: Any = None, no_grad_set: Any = None,
                 grad_clip: Any = None) -> Any:  # fmt: skip
        """As that of the optimizer."""
        fleet._origin_program = loss.block.program
        fleet.startup_program = startup_program or default_startup_program()
        fleet.main_program = CompiledProgram(loss.block.program)
        return self._optimizer.minimize(
            loss, startup_program, parameter_list, no_grad_set, grad_clip
        )


class Fleet(Shown):
    """The workers of a training: this process."""

    _role: RoleMakerBase | None = None
    _origin_program: Program | None = None
    main_program: Any = None
    startup_program: Any = None

    def init(self, role_maker: Any = None) -> None:
        """Take the role of this process.

        Raises:
            InvalidArgumentError: it is none.
            UnimplementedError: there are several workers, or servers.
        """
        if not isinstance(role_maker, RoleMakerBase):
            wrong(
                "fleet.init: expected a role maker, such as "
                f"PaddleCloudRoleMaker(is_collective=True), got {role_maker!r}",
                "fluid.role_maker",
            )
        role_maker.generate_role()
        self._role = role_maker

    def worker_endpoints(self, to_string: bool = False) -> Any:
        """The addresses of the workers."""
        if self._role is None:
            wrong("fleet.init was not called", "fluid.fleet_init")
        made = self._role._endpoints
        return ",".join(made) if to_string else made

    def server_endpoints(self, to_string: bool = False) -> Any:
        """None: there are no servers."""
        return "" if to_string else []

    def worker_index(self) -> int:
        """0."""
        return 0

    def worker_num(self) -> int:
        """1."""
        return 1

    def server_num(self) -> int:
        """0."""
        return 0

    def is_first_worker(self) -> bool:
        """True."""
        return True

    is_worker = is_first_worker

    def is_server(self) -> bool:
        """False."""
        return False

    def split_files(self, files: list[str]) -> list[str]:
        """The files of this worker: all."""
        if not isinstance(files, list):
            raise TypeError("files should be a list of file need to be read.")
        return files

    def barrier_worker(self) -> None:
        """Does nothing, since this is the only worker."""

    init_worker = stop_worker = run_worker = barrier_worker

    def init_server(self, model_dir: str | None = None) -> None:
        """Warns: there is no parameter server."""
        warnings.warn("there is no parameter server", stacklevel=2)

    run_server = init_server

    def all_reduce_worker(self, input: Any, output: Any) -> None:
        """Let ``output`` be the sum over the workers: ``input``."""
        output[...] = np.asarray(input)

    def distributed_optimizer(
        self, optimizer: Any, strategy: Any = None
    ) -> CollectiveOptimizer:
        """The optimizer for this process."""
        return CollectiveOptimizer(optimizer, strategy)

    def save_inference_model(self, executor: Any, dirname: str,
                             feeded_var_names: Any = None,
                             target_vars: Any = None,
                             main_program: Any = None,
                             export_for_deployment: bool = True,
                             ) -> None:  # fmt: skip
        """See :func:`sluice.fluid.io.save_inference_model`."""
        io.save_inference_model(
            dirname, feeded_var_names, target_vars, executor,
            main_program or self._origin_program,
        )  # fmt: skip

    def save_persistables(self, executor: Any, dirname: str,
                          main_program: Any = None,
                          filename: str | None = None) -> None:  # fmt: skip
        """See :func:`sluice.fluid.io.save_persistables`."""
        program = main_program or self._origin_program or default_main_program()
        io.save_persistables(executor, dirname, program, filename)

    def __getattr__(self, name: str) -> Any:
        if name.strip("_") in _CHECKPOINTS:
            return left_out("fleet", name, "use fluid.save and fluid.load")
        raise AttributeError(f"fleet has no {name}")


_CHECKPOINTS = (
    "save_check_point", "load_check_point", "save_checkpoint",
    "load_checkpoint", "clean_redundant_check_points",
    "clean_redundant_checkpoints",
)  # fmt: skip
Collective, DistributedOptimizer = Fleet, CollectiveOptimizer
fleet = Fleet()
