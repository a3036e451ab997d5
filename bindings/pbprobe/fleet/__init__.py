# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Which node is slow, wrong or different: a job on the engines that a site already has.

    torchrun --nnodes 8 --nproc-per-node gpu … -m pbprobe.fleet --minutes 3 --output fleet/
    srun -N 8 --ntasks-per-node 8 python -m pbprobe.fleet …
    python -m pbprobe.fleet --node-health          # this node only: one line and an exit code

Each rank is a supervisor, which imports no torch, and a worker, its child, which does: whatever becomes of the worker,
somebody is left to write it down. Ranks meet through torch.distributed's store, where nobody is waited for beyond a
deadline. Facts only; `pbprobe merge` judges them.
"""
