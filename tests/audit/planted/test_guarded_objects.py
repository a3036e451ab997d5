# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Code that only an object leads to is as guarded as all code that makes the object."""

import pytest
from test_asked_features import NARROW, WIDE, judge
from test_cpu import X86

CLASSES = """
#include <atomic>
#include <future>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
namespace {
struct Base { virtual ~Base() = default; virtual void run(int*) = 0; virtual Base* copy() const { return nullptr; } };
struct Other { virtual ~Other() = default; virtual void more(int*) = 0; };
struct Fast : Base {
  int size = 1;
  N void run(int* x) override { fast(x); x[1] = size; }
  N Base* copy() const override { return new Fast(*this); }
};
struct Slow : Base { int size = 1; N void run(int* x) override { slow(x); x[1] = size; } };
struct Both : Base, Other {
  N void run(int* x) override { slow(x); }
  N void more(int* x) override { fast(x); }
};
struct Neither : Base, Other {  // a second class, so that the compiler cannot replace virtual calls
  N void run(int* x) override { slow(x); }
  N void more(int* x) override { slow(x); }
};
}
extern "C" void* neither() { return new Neither; }
extern "C" void use(void* object, int* x) { static_cast<Base*>(object)->run(x); }
extern "C" void* copy(void* object) { return static_cast<Base*>(object)->copy(); }
extern "C" void drop(void* object) { delete static_cast<Base*>(object); }
extern "C" void more(void* object, int* x) { static_cast<Other*>(object)->more(x); }
"""
TABLES = """
struct Table { const char* name; void (*run)(int*); void (*more)(int*); };
static const Table fast_table = {"fast", fast, slow}, slow_table = {"slow", slow, slow};
extern "C" void use(const void* table, int* x) { static_cast<const Table*>(table)->run(x); }
"""


def make(body: str) -> str:
    return CLASSES + f'extern "C" void* make(int n) {{ {body} }}\n'


def choose(condition: str, made: str = "std::make_unique<Fast>().release()", other: str = "new Slow") -> str:
    return make(f"Base* made = nullptr; if ({condition}) made = {made}; else made = {other}; return made;")


def pick(condition: str) -> str:
    return (
        TABLES + f'extern "C" const void* pick(int n) {{ if ({condition}) return &fast_table; return &slow_table; }}\n'
    )


def run(body: str) -> str:
    return CLASSES + f'extern "C" void run(int* x, int n) {{ {body} }}\n'


EXPORTED = """
#include <new>
struct __attribute__((visibility("default"))) Open {
  virtual void first();
  __attribute__((visibility("hidden"))) N virtual void run(int* x) { fast(x); }
};
void Open::first() {}
extern "C" void use(Open* object, int* x) { object->run(x); }
extern "C" void* make(void* at, int n) { if (%s) return new (at) Open; return nullptr; }
"""
THREAD = "std::thread t([x] { fast(x); }); t.join();"
ASYNC = "auto f = std::async(std::launch::async, [x] { fast(x); }); f.get();"
ONCE = "static std::once_flag once; std::call_once(once, [x] { fast(x); });"
FUNCTION = "std::function<void(int*)> f = [n](int* y) { fast(y + n); }; hold = f;"
HOLD = "namespace { std::function<void(int*)> hold; }\n"


def guarded(body: str, condition: str, head: str = "") -> str:
    return CLASSES + head + f'extern "C" void run(int* x, int n) {{ if ({condition}) {{ {body} }} else slow(x); }}\n'


RIGHT = {
    "object": choose(WIDE),
    "object that copies itself": choose(WIDE, "new Fast"),
    "object with two bases": choose(WIDE, "new Both"),
    "shared object": make(
        f"static std::shared_ptr<Base> made; if ({WIDE}) made = std::make_shared<Fast>(); return made.get();"
    ),
    "object in place": make(f"static char at[64]; if (!{WIDE}) return new (at) Slow; return new (at) Fast;"),
    "table": pick(WIDE),
    "thread": guarded(THREAD, WIDE),
    "call_once": guarded(ONCE, WIDE),
    "function": guarded(FUNCTION, WIDE, HOLD),
    "async": guarded(ASYNC, WIDE),
}
WRONG = {
    "object without a guard": choose("n > 1"),
    "object for another feature": choose(NARROW),
    "object of the other branch": choose(WIDE, "new Slow", "new Fast"),
    "object made in two ways": choose(WIDE) + 'extern "C" void* other() { return new Fast; }\n',
    "object with two bases": choose("n > 1", "new Both"),
    "shared object": make(
        "static std::shared_ptr<Base> made; if (n > 1) made = std::make_shared<Fast>(); return made.get();"
    ),
    "exported vtable": EXPORTED % WIDE,
    "table": pick("n > 1"),
    "table for another feature": pick(NARROW),
    "thread": guarded(THREAD, "n > 1"),
    "thread for another feature": guarded(THREAD, NARROW),
    "thread started in two ways": f"""{CLASSES}
N static void start(int* x) {{ {THREAD} }}
extern "C" void run(int* x, int n) {{ if ({WIDE}) start(x); else slow(x); }}
extern "C" void other(int* x) {{ start(x); }}
""",
    "call_once": guarded(ONCE, "n > 1"),
    "function": guarded(FUNCTION, "n > 1", HOLD),
    "async": guarded(ASYNC, "n > 1"),
}


def list_cases(cases):
    return [
        pytest.param(body, program, level, id=f"{name}-{program}-{level}".replace(" ", "-"))
        for name, body in cases.items()
        for program in ("g++", "clang++")
        for level in ("-O0", "-O2", "-O3")
    ]


@pytest.mark.parametrize(("body", "program", "level"), list_cases(RIGHT))
def test_accepts_object_behind_guard(tmp_path, body, program, level):
    assert judge(X86, body, program, level, tmp_path) == ("pass", set())


@pytest.mark.parametrize(("body", "program", "level"), list_cases(WRONG))
def test_rejects_object_without_guard(tmp_path, body, program, level):
    assert judge(X86, body, program, level, tmp_path) == ("fail", {"PB207"})


STRIPPED = ("object", "object that copies itself", "table", "thread", "function")


@pytest.mark.parametrize("level", ["-O2", "-O3"])
@pytest.mark.parametrize("name", STRIPPED)
def test_follows_objects_without_symbols(tmp_path, name, level):
    wrong = "object without a guard" if name.startswith("object") and name not in WRONG else name
    stripped = ("-Wl,-s",)
    assert judge(X86, RIGHT[name], "g++", level, tmp_path / "right", stripped) == ("pass", set())
    assert judge(X86, WRONG[wrong], "g++", level, tmp_path / "wrong", stripped) == ("unknown", {"PB211"})
