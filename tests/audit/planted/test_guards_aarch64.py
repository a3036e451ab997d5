# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Code for SVE is guarded only if HWCAP_SVE is tested on all paths to it."""

import pytest
from test_asked_features import HWCAP, HWCAP2, IF, SVE, judge, resolved, run
from test_cpu import ARM
from test_guarded_objects import CLASSES
from test_guarded_paths import HELPERS, label, switch

BIT = "(1 << 22)"
CALL_LAST = "auto f = reinterpret_cast<void (**)(int*)>(x)[n]; if (%s) fast(x); f(x);"
STORED = f'static unsigned long caps;\nextern "C" void ask() {{ caps = {HWCAP}; }}\n'
FLAG = 'static int flag;\nextern "C" void ask() { flag = %s; }\n'
BOTH = f"{SVE} && ({HWCAP2} & 2)"


def choose(condition: str) -> str:
    made = f"if ({condition}) return std::make_unique<Fast>().release(); return new Slow;"
    return CLASSES + f'extern "C" void* make(int n) {{ {made} }}\n'


def result(body: str) -> str:
    return f'extern "C" bool run(int* x, int n) {{ {body} }}\n'


RIGHT = {
    "two tail calls": run(IF % SVE),
    "inverted question": run(f"if (!{SVE}) slow(x); else fast(x);"),
    "early return": run(f"if (!{SVE}) {{ slow(x); return; }} x[1] = 1; fast(x); x[2] = 1;"),
    "loop": run(f"for (int i = 0; i < n; ++i) {IF % SVE}"),
    "kept answer": run(f"const bool has = {SVE}; slow(x); for (int i = 0; i < n; ++i) {IF % 'has'}"),
    "two questions": run(IF % f"({BOTH})"),
    "question and argument": run(IF % f"(n > 3 && {SVE})"),
    "all bits": run(IF % f"({HWCAP} & 0x500000) == 0x500000"),
    "pointer": run(f"void (*f)(int*) = {SVE} ? fast : slow; f(x);"),
    "zero on the other path": run(f"unsigned long has = 0; if (n > 1) has = {HWCAP}; {IF % f'(has & {BIT})'}"),
    "stored answer": STORED + run(IF % f"(caps & {BIT})"),
    "stored decision": FLAG % f"{SVE} != 0" + run(IF % "flag"),
    "stored inverted decision": FLAG % f"{SVE} == 0" + run(IF % "!flag"),
    "local flag": run(f"static const bool has = {SVE}; {IF % 'has'}"),
    "helper": run(f"if ({SVE}) help(x);", "N static void help(int* x) { x[3] = 1; fast(x); x[4] = 1; }"),
    "object": choose(SVE),
    "answer as the result": result(f"const bool has = ({SVE}) != 0; if (has && n > 1) fast(x); return has;"),
    "switch": switch("", f"if ({SVE}) fast(x);"),
    "switch behind a guard": switch(f"if ({SVE})", "fast(x);"),
    "tail call through a pointer": run(CALL_LAST % SVE),
    "handler": run(f"if ({SVE}) {{ try {{ work(x); }} catch (...) {{ fast(x); }} }}", HELPERS),
    "destructor of an exception's path": run(f"if ({SVE}) {{ Last last{{x}}; work(x); }}", HELPERS),
    "unlikely part": run(
        f"if (n == 8) {{ note(x); slow(x); }} if ({SVE}) {{ if (n == 9) {{ note(x); fast(x); }} }}", HELPERS
    ),
    "label in memory": label("x[1] = 1;", f"if ({SVE}) fast(x);"),
}
WRONG = {
    "inverted question": run(f"if (!{SVE}) fast(x); else slow(x);"),
    "another feature": run(IF % f"({HWCAP} & 2)"),
    "either feature": run(IF % f"({SVE} || ({HWCAP} & 2))"),
    "either argument": run(IF % f"(n > 3 || {SVE})"),
    "both branches": run(f"if ({SVE}) {{ x[1] = 1; fast(x); x[2] = 1; }} else {{ x[3] = 1; fast(x); x[4] = 2; }}"),
    "call after the guard": run(f"if ({SVE}) x[1] = 1; else x[2] = 2; fast(x);"),
    "call before the guard": run(f"fast(x); {IF % SVE}"),
    "early return of the other branch": run(f"if ({SVE}) {{ slow(x); return; }} x[1] = 1; fast(x); x[2] = 1;"),
    "one of two paths": run(f"unsigned long has = ~0UL; if (n > 1) has = {HWCAP}; {IF % f'(has & {BIT})'}"),
    "pointer": run(f"void (*f)(int*) = {SVE} ? slow : fast; f(x);"),
    "stored answer for another feature": STORED + run(IF % "(caps & 2)"),
    "inverted stored answer": STORED + run(IF % f"!(caps & {BIT})"),
    "inverted decision": FLAG % f"{SVE} == 0" + run(IF % "flag"),
    "inverted stored decision": FLAG % f"{SVE} != 0" + run(IF % "!flag"),
    "inverted local flag": run(f"static const bool has = {SVE}; {IF % '!has'}"),
    "helper with another caller": run(
        f"if ({SVE}) help(x); else if (n > 1) {{ help(x); x[5] = 1; }}",
        "N static void help(int* x) { x[3] = 1; fast(x); x[4] = 1; }",
    ),
    "inverted resolver": resolved("unsigned long caps", f"return caps & {BIT} ? slow : fast;"),
    "object": choose("n > 1"),
    "object for another feature": choose(f"{HWCAP} & 2"),
    "answer as the result": result(f"if (n > 1) fast(x); return ({SVE}) != 0;"),
    "switch": switch("", f"if ({SVE}) x[9] = 1; fast(x);"),
    "switch behind a guard": switch(f"if ({HWCAP} & 2)", "fast(x);"),
    "tail call through a pointer": run(CALL_LAST % f"{HWCAP} & 2"),
    "handler": run(f"try {{ if ({SVE}) x[1] = 1; work(x); }} catch (...) {{ fast(x); }}", HELPERS),
    "destructor of an exception's path": run(f"Last last{{x}}; if ({SVE}) x[1] = 1; work(x);", HELPERS),
    "unlikely part": run(f"if (n == 9) {{ note(x); fast(x); }} if ({SVE}) x[1] = 1; else slow(x);", HELPERS),
    "label in memory": label(f"if ({SVE}) x[1] = 1;", "fast(x);"),
}


def list_cases(cases):
    return [
        pytest.param(body, level, id=f"{name}-{level}".replace(" ", "-"))
        for name, body in cases.items()
        for level in ("-O0", "-O2", "-O3")
    ]


@pytest.mark.parametrize(("body", "level"), list_cases(RIGHT))
def test_accepts_question_on_all_paths(tmp_path, body, level):
    assert judge(ARM, body, "g++", level, tmp_path) == ("pass", set())


@pytest.mark.parametrize(("body", "level"), list_cases(WRONG))
def test_rejects_path_without_question(tmp_path, body, level):
    assert judge(ARM, body, "g++", level, tmp_path) == ("fail", {"PB207"})
