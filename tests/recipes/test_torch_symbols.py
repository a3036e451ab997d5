# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""recipes/torch_symbols.py selects the names that core/torch_names.cpp does."""

import importlib.util
import json
import pathlib

SOURCE = pathlib.Path(__file__).parents[2]
EXAMPLES = json.loads((SOURCE / "tests/core/torch_names.json").read_text())

spec = importlib.util.spec_from_file_location("torch_symbols", SOURCE / "recipes/torch_symbols.py")
torch_symbols = importlib.util.module_from_spec(spec)
spec.loader.exec_module(torch_symbols)


def test_matches_each_form_of_mangling():
    kinds = ["member", "signature", "stable", "none"]
    assert {kind: [torch_symbols.classify(name) for name in EXAMPLES[kind]] for kind in kinds} == {
        kind: [kind] * len(EXAMPLES[kind]) for kind in kinds
    }


def test_leaves_out_weak_signatures():
    lines = [
        "0000 W _ZNSt6vectorIN2at6TensorESaIS1_EE9push_backEOS1_",
        "0000 T _ZN8pybind116detail11type_casterIN2at6TensorEvE4loadENS_6handleEb",
        "0000 W _ZN2at6Tensor4dataEv",
        "0000 T _ZN4dnnl6memoryC1Ev",
        "0000 T torch_list_size@@TORCH_2",
    ]
    assert torch_symbols.select(lines) == {
        "_ZN8pybind116detail11type_casterIN2at6TensorEvE4loadENS_6handleEb",
        "_ZN2at6Tensor4dataEv",
        "torch_list_size",
    }
