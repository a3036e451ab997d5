# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""PB2xx: small libtorches whose objects a compiler made by their tiers' flags (HostCodeFixtures.cmake)."""

import pytest
from builds import ANY, CPU
from rows import Row, ask
from small_builds import HOST_CODE, Build, Library


def built(name: str):
    def build() -> Build:
        if not (HOST_CODE / f"lib{name}.so").exists():
            pytest.skip(f"lib{name}.so was not built: no cross compiler")
        return Build({CPU: Library(ready=f"lib{name}.so")}, tag=None)

    return build


ROWS = [
    Row("PB204", "needs avx", built("initializer"), built("generic"), ANY),
    Row("PB205", "runs everywhere, and the linker took a tier's copy of it", built("leak"), built("generic"), ANY),
    # The twin's inline function is called by its tier alone.
    Row("PB205", "took a tier's copy of it", built("hidden_leak"), built("own"), ANY),
    Row("PB206", "the AVX512 tier is missing", built("lost"), built("generic"), ANY),
    Row("PB207", "which avx2 has not", built("avx512"), built("avx2"), "avx2,only"),
    Row("PB207", "which avx has not", built("avx2"), built("avx"), "avx,only"),
    Row("PB207", "which armv8_2 has not", built("armv9"), built("armv8_2"), "armv8_2,only"),
    Row("PB208", "avx2 is claimed, and no unguarded code", built("generic"), built("avx2"), "avx2,only"),
    Row("PB208", "avx2 is claimed, and no unguarded", built("generic"), built("generic"), "avx2,only", "avx2"),
    Row("PB208", "armv8_2 is claimed, and no", built("arm_generic"), built("armv8_2"), "armv8_2,only"),
    Row("PB208", "armv9 is claimed, and no", built("armv8_2"), built("armv9"), "armv9,only"),
    Row("PB209", "the same code as avx512", built("avx512bf16"), built("avx512"), "avx512bf16,only", "avx512,only"),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_planted_fault_is_found_and_its_twin_is_sound(tmp_path, row):
    ask(row, tmp_path)
