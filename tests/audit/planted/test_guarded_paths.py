# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A guard counts only on the paths through a function that it is on: also through tables of switches, the handlers of
exceptions, and the parts that compilers move away."""

import pytest
from test_asked_features import NARROW, WIDE, judge, run
from test_cpu import X86
from test_guarded_objects import ASYNC, guarded

DEFERRED = "auto g = std::async(std::launch::deferred, [x] { fast(x); }); g.get();"
HELPERS = """
#include <cstdlib>
extern "C" void work(int* x) { if (x[5] == 5) throw x; x[6] = 7; }
N __attribute__((cold)) static void note(int* x) { x[7] = 8; }
namespace { struct Last { int* x; N ~Last() { fast(x); } }; }
"""


def switch(condition: str, case: str) -> str:
    cases = "".join(f"case {i}: x[{i}] = {7 * i}; x[{i * i}] += n; break; " for i in range(20))
    return run(f"{condition} switch (n) {{ {cases} case 20: {case} break; default: slow(x); }}")


def copy(more: str = "") -> str:
    """Names a function as BOLT names a copy that it left behind."""
    return f"""
__attribute__((noinline, used, section(".bolt.org.text"))) static void left(int* x) __asm__("fast.org.0");
static void left(int* x) {{ __asm__ volatile("vaddps %zmm1, %zmm0, %zmm0"); x[0] += 1; }}
extern "C" void run(int* x, int n) {{ if ({WIDE}) fast(x); else slow(x); {more} }}
"""


def label(first: str, case: str) -> str:
    """Jumps to a label through memory, which is followed to none."""
    jump = f"static void* volatile at; at = n > 1 ? &&one : &&two; {first} goto *at;"
    return run(f"{jump} one: {case} return; two: slow(x); x[2] = 2;")


def call(target: str) -> str:
    """Asks before a call of hand-written code, and tests the word in r10 after it."""
    word = "mov __cpu_model@GOTPCREL(%%rip), %%r10\\n mov 12(%%r10), %%r10d"
    code = f'__asm__("{word}\\n call take\\n mov %%r10d, %0" : "=r"(word) : : "r10", "r11", "memory");'
    take = f"""__asm__(".type take, @function\\n take: mov (%rdi), {target}\\n ret\\n .size take, . - take");"""
    return run(f"unsigned word; {code} if (word & (1 << 15)) fast(x); else slow(x);", take)


def offsets(entry: str) -> str:
    """Calls a function that only an offset in a table leads to."""
    table = f".pushsection .rodata\\n.balign 4\\noffsets: .long {entry} - offsets\\n.popsection"
    load = "lea offsets(%%rip), %0\\n movslq (%0), %%rcx\\n add %%rcx, %0"
    return f"""
__attribute__((noinline, used)) static void help(int* x) {{ x[3] = 1; fast(x); x[4] = 1; }}
__asm__("{table}");
extern "C" void run(int* x, int n) {{
  void (*f)(int*);
  __asm__("{load}" : "=&r"(f) : : "rcx", "cc");
  if ({WIDE}) fast(x); else slow(x);
  f(x);
}}
"""


def keep(call: str) -> str:
    """Adds a hidden function of C, as archives hold many that nothing calls."""
    kept = 'extern "C" __attribute__((visibility("hidden"))) void kept(int* x) { x[3] = 1; fast(x); x[4] = 1; }'
    return run(f"if ({WIDE}) fast(x); else slow(x); {call}", kept)


PATHS = {
    "tail call through a pointer": (
        run(f"auto f = reinterpret_cast<void (**)(int*)>(x)[n]; if ({NARROW}) fast(x); f(x);"),
        run(f"auto f = reinterpret_cast<void (**)(int*)>(x)[n]; if ({WIDE}) fast(x); f(x);"),
    ),
    "switch": (switch("", f"if ({WIDE}) x[9] = 1; fast(x);"), switch("", f"if ({WIDE}) fast(x);")),
    "switch behind a guard": (switch(f"if ({NARROW})", "fast(x);"), switch(f"if ({WIDE})", "fast(x);")),
    "async": (guarded(ASYNC, NARROW), guarded(ASYNC, WIDE)),
    "async that is also deferred": (
        guarded(ASYNC, WIDE) + f'extern "C" void other(int* x) {{ {DEFERRED} }}\n',
        guarded(ASYNC + DEFERRED, WIDE),
    ),
    "result in place of the answer": (
        run(
            f'if ({NARROW}) {{ auto* p = reinterpret_cast<int*>(getenv("A")); if (p[3] & (1 << 15)) fast(x); }}',
            HELPERS,
        ),
        run(
            f'if ({WIDE}) {{ auto* p = reinterpret_cast<int*>(getenv("A")); if (p[3] & (1 << 15)) fast(x); }}', HELPERS
        ),
    ),
    "answer as the result": (
        f'extern "C" bool run(int* x, int n) {{ if (n > 1) fast(x); return {WIDE}; }}\n',
        f'extern "C" bool run(int* x, int n) {{ bool has = {WIDE}; if (has && n > 1) fast(x); return has; }}\n',
    ),
    "handler": (
        run(f"try {{ if ({WIDE}) x[1] = 1; work(x); }} catch (...) {{ fast(x); }}", HELPERS),
        run(f"if ({WIDE}) {{ try {{ work(x); }} catch (...) {{ fast(x); }} }}", HELPERS),
    ),
    "destructor of an exception's path": (
        run(f"Last last{{x}}; if ({WIDE}) x[1] = 1; work(x);", HELPERS),
        run(f"if ({WIDE}) {{ Last last{{x}}; work(x); }}", HELPERS),
    ),
    "unlikely part": (
        run(f"if (n == 9) {{ note(x); fast(x); }} if ({WIDE}) x[1] = 1; else slow(x);", HELPERS),
        run(f"if (n == 8) {{ note(x); slow(x); }} if ({WIDE}) {{ if (n == 9) {{ note(x); fast(x); }} }}", HELPERS),
    ),
    "label in memory": (label(f"if ({WIDE}) x[1] = 1;", "fast(x);"), label("x[1] = 1;", f"if ({WIDE}) fast(x);")),
    "register of a callee": (call("%r10d"), call("%r11d")),
    "table of offsets": (offsets("_ZL4helpPi"), offsets("_ZL4slowPi")),
    "hidden function": (keep("kept(x);"), keep("")),
    "copy": (copy("left(x);"), copy()),
    "copy by a pointer": (copy("reinterpret_cast<void (**)(int*)>(x)[n] = left;"), copy()),
}
LEVELS = ("-O0", "-O2")


def list_cases(twin: bool, without=frozenset()):
    return [
        pytest.param(bodies[twin], program, level, id=f"{name}-{program}-{level}".replace(" ", "-"))
        for name, bodies in PATHS.items()
        if name not in without
        for program in ("g++", "clang++")
        for level in LEVELS
    ]


@pytest.mark.parametrize(("body", "program", "level"), list_cases(twin=False))
def test_rejects_path_around_guard(tmp_path, body, program, level):
    assert judge(X86, body, program, level, tmp_path) == ("fail", {"PB207"})


@pytest.mark.parametrize(("body", "program", "level"), list_cases(twin=True))
def test_accepts_guard_on_all_paths(tmp_path, body, program, level):
    assert judge(X86, body, program, level, tmp_path) == ("pass", set())


# Names show the copies of BOLT, unused code (std::async keeps its other policy), and where code without unwind
# tables ends.
NAMED = {
    "hidden function",
    "copy",
    "copy by a pointer",
    "table of offsets",
    "register of a callee",
    "async",
    "async that is also deferred",
}
STRIP = ("-Wl,-s",)


@pytest.mark.parametrize(("body", "program", "level"), list_cases(twin=False, without=NAMED))
def test_rejects_path_around_guard_without_symbols(tmp_path, body, program, level):
    assert judge(X86, body, program, level, tmp_path, STRIP) == ("unknown", {"PB211"})


@pytest.mark.parametrize(("body", "program", "level"), list_cases(twin=True, without=NAMED))
def test_accepts_guard_on_all_paths_without_symbols(tmp_path, body, program, level):
    assert judge(X86, body, program, level, tmp_path, STRIP) == ("pass", set())
