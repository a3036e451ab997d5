# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Rank of this process in the job, from the variables of torchrun, srun or mpirun."""

import dataclasses
import os
import re
import socket
from collections.abc import Mapping

# (rank, world, local rank): torchrun; Slurm; Open MPI; MPICH and Intel MPI
VARIABLES = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
)
DEFAULT_PORT = 29441


@dataclasses.dataclass(frozen=True)
class Place:
    """Place of one rank in the job."""

    rank: int
    world: int
    local_rank: int
    address: str
    port: int
    agent_store: bool  # the launcher serves the store: nothing of ours has to


def first_host(nodes: str) -> str:
    """Returns the first host of a Slurm node list: gpu003 for "gpu[003-007,12],login1"."""
    match = re.match(r"([^,\[]+)(?:\[([^\]]+)\])?", nodes)
    if match is None:
        return "127.0.0.1"
    prefix, numbers = match.group(1), match.group(2)
    return prefix if numbers is None else prefix + re.split(r"[-,]", numbers)[0]


def find_place(env: Mapping[str, str] = os.environ) -> Place | None:
    """Finds this process's place; None if no launcher started it."""
    for names in VARIABLES:
        rank, world, local_rank = (env.get(name) for name in names)
        if rank is None or world is None:
            continue
        address = env.get("MASTER_ADDR") or first_host(env.get("SLURM_STEP_NODELIST", env.get("SLURM_NODELIST", "")))
        if "MASTER_ADDR" not in env and "SLURM_PROCID" not in env and int(world) > 1:
            raise ValueError("MASTER_ADDR is not set: name the host of rank 0, as with mpirun -x MASTER_ADDR=node1")
        # One port for all who share a node in turn would collide with the job before it, which may still be closing.
        port = int(env.get("MASTER_PORT") or DEFAULT_PORT + int(env.get("SLURM_JOB_ID", "0")) % 1000)
        return Place(
            int(rank),
            int(world),
            int(local_rank or 0),
            address,
            port,
            env.get("TORCHELASTIC_USE_AGENT_STORE") == "True",
        )
    return None


def host_name(env: Mapping[str, str] = os.environ) -> str:
    """Returns the node's name. NODE_NAME (downward API) wins, because the name of a Kubernetes pod is arbitrary."""
    return env.get("NODE_NAME") or env.get("SLURMD_NODENAME") or socket.gethostname()
