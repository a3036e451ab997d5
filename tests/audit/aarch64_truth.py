# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Compares the aarch64 masks with llvm-mc: the extensions that each word needs.

aarch64_truth.py DECODER [--words N] [--seed N]

DECODER reads words in hexadecimal from standard input, one a line, and prints the features of each, with commas.
Words come from the spaces that the masks speak of (SVE, vectors, floating point, loads and atomics), at random, so that
every bit of an encoding is tried. Exit code 77 if llvm-mc is missing.
"""

import argparse
import random
import re
import shutil
import subprocess
import sys

# llvm-mc's extension: our feature. The one that it cannot be read without names it.
EXTENSIONS = {
    "lse": {"atomics"},
    "rdm": {"asimdrdm"},
    "crc": {"crc32"},
    "fullfp16": {"fphp", "asimdhp"},
    "fp16fml": {"asimdfhm"},
    "dotprod": {"asimddp"},
    "bf16": {"bf16", "svebf16"},
    "i8mm": {"i8mm", "svei8mm"},
    "complxnum": {"fcma"},
    "jsconv": {"jscvt"},
    "rcpc": {"lrcpc"},
    "rcpc-immo": {"ilrcpc"},
    "sve2": {"sve2"},
    "sve2-aes": {"sveaes"},
    "sve2-sha3": {"svesha3"},
    "sve2-sm4": {"svesm4"},
    "sve2-bitperm": {"svebitperm"},
    "f32mm": {"svef32mm"},
    "f64mm": {"svef64mm"},
    "mte": {"mte"},
    "pauth": {"paca", "pacg"},
    "lor": {"lor"},
    "fptoint": {"frint"},
    "flagm": {"flagm"},
    "hbc": {"hbc"},
    "mops": {"mops"},
    "ls64": {"ls64"},
}
# Features newer than llvm-mc 14: no word that it reads needs them.
NEWER = {"fp8", "faminmax", "lut", "the", "lsui", "lsfe", "cmpbr", "cpa", "cssc", "lse128", "lrcpc3", "gcs"}
# Extensions that an extension implies in llvm-mc: without the second, the first is disabled too.
NEEDED_BY = {
    "fullfp16": ["fp16fml"],
    "sve2": ["sve2-aes", "sve2-sha3", "sve2-sm4", "sve2-bitperm"],
    "rcpc": ["rcpc-immo"],
}
SVE = {"sve2", "sve2-aes", "sve2-sha3", "sve2-sm4", "sve2-bitperm", "f32mm", "f64mm"}  # bring FP16 along in llvm-mc
# (value, mask of the bits that are fixed): spaces to draw words from, each with the same number
SPACES = [
    (0x04000000, 0x1E000000),  # SVE
    (0x45000000, 0xFF000000),  # most of SVE2
    (0x44000000, 0xFF000000),
    (0x64000000, 0xFE000000),
    (0x0E000000, 0x9F000000),  # vectors
    (0x0F000000, 0x9F000000),
    (0x2E000000, 0xBF20E400 & 0xBF000000),
    (0x5E000000, 0xDF000000),  # scalars of them
    (0x1E000000, 0x5F000000),  # floating point
    (0x38200000, 0x3F200C00),  # atomics
    (0x08000000, 0x3F000000),
    (0x19000000, 0x3F200C00),
    (0x1AC00000, 0x7FE00000),
    (0x9AC00000, 0xDFE0C000),  # memory tags, pointer authentication
    (0x91800000, 0xBF800000),
    (0xD9000000, 0xFF000000),
    (0x68000000, 0xFE000000),
    (0xDAC10000, 0xFFFF8000),
    (0xD61F0800, 0xFE1FF800),
    (0x08800000, 0x3FA00000),
    (0x54000000, 0xFF000000),
    (0xBA000000, 0xFFE07C00),
]


def unreadable(words, extensions):
    """Indices of the words that llvm-mc refuses with these extensions."""
    text = "\n".join(" ".join(f"0x{word >> shift & 255:02x}" for shift in (0, 8, 16, 24)) for word in words)
    attributes = ",".join(f"+{name}" for name in ["neon", *extensions])
    done = subprocess.run(
        ["llvm-mc", "--disassemble", "-triple=aarch64", f"-mattr={attributes}"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    return {int(line) - 1 for line in re.findall(r"^<stdin>:(\d+):", done.stderr, re.MULTILINE)}


def is_sve(word):
    return word & 0x1E000000 == 0x04000000


def truth(words, everything):
    """The words that are instructions, each with the extensions that it cannot be read without."""
    refused = unreadable(words, everything)
    words = [word for index, word in enumerate(words) if index not in refused]
    needed = [set() for _ in words]
    for name in set(everything) & set(EXTENSIONS):
        gone = {name, *NEEDED_BY.get(name, [])}
        for index in unreadable(words, [other for other in everything if other not in gone]):
            needed[index].add(name)
    for extensions in needed:  # refused without a base because what needs it is gone too
        for name, dependents in NEEDED_BY.items():
            if extensions & set(dependents):
                extensions.discard(name)
    return words, needed


def decoded(decoder, words):
    """Returns DECODER's output for each word."""
    done = subprocess.run(
        [decoder],
        input="\n".join(f"{word:08x}" for word in words) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def wrong_unknowns(decoder, words):
    """SVE words that DECODER calls unknown although llvm-mc reads their bits 31 to 10, or the reverse."""
    refused = set(range(len(words)))
    for low in (0, 0x3FF):
        refused &= unreadable([word & ~0x3FF | low for word in words], ["sve", *EXTENSIONS])
    lines = decoded(decoder, words)
    return [word for i, word in enumerate(words) if (i in refused) != (lines[i] == "unknown")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("decoder")
    parser.add_argument("--words", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if shutil.which("llvm-mc") is None:
        print("no llvm-mc here: install Debian's llvm")
        return 77
    draw = random.Random(options.seed)
    words = []
    for value, mask in SPACES:
        words += [value | (draw.getrandbits(32) & ~mask) for _ in range(options.words // len(SPACES))]
    unknown = wrong_unknowns(options.decoder, [word for word in words if is_sve(word)])
    print(f"{len(unknown)} SVE words are wrongly known or unknown: {[f'{word:08x}' for word in unknown[:30]]}")
    sve_words, sve_needed = truth([word for word in words if is_sve(word)], ["sve", *EXTENSIONS])
    words, needed = truth([word for word in words if not is_sve(word)], [x for x in EXTENSIONS if x not in SVE])
    words += sve_words
    needed += sve_needed
    lines = decoded(options.decoder, words)
    known = NEWER.union(*EXTENSIONS.values())
    wrong = 0
    seen = dict.fromkeys(EXTENSIONS, 0)
    for word, extensions, line in zip(words, needed, lines, strict=True):
        ours = set(line.split(",")) & known
        fits = all(ours & EXTENSIONS[name] for name in extensions) and all(
            any(feature in EXTENSIONS[name] for name in extensions) for feature in ours
        )
        for name in extensions:
            seen[name] += 1
        if not fits:
            wrong += 1
            if wrong <= 30:
                print(f"{word:08x}: llvm-mc needs {sorted(extensions)}, we say {sorted(ours)}")
    print(f"{len(words)} instructions, {wrong} differ; seen: {seen}")
    return 1 if wrong or unknown or len(words) < options.words // 20 else 0


if __name__ == "__main__":
    sys.exit(main())
