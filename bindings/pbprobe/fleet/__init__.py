# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Job that finds slow, wrong or different nodes, started by the launcher that a site already has.

    torchrun --nnodes 8 --nproc-per-node gpu … -m pbprobe.fleet --minutes 3 --output fleet/
    srun -N 8 --ntasks-per-node 8 python -m pbprobe.fleet …
    python -m pbprobe.fleet --node-health          # this node only: one line and an exit code

Each rank has a supervisor, which imports no torch, and a worker, its child, which does. The supervisor records the end
of its worker. Ranks communicate through torch.distributed's store; every wait has a deadline. The job collects only
facts; `pbprobe merge` judges them.
"""
