// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Definitions of newer symbols that the headers of this compiler expect, for a wheel that is linked to an older libc
// and libstdc++ (cmake/OlderLibc.cmake). The symbols are hidden, so that no other library of the process uses them.
#include <new>
#include <sstream>
#include <string>

#define PBPROBE_STANDS_FOR(symbol) __asm__(symbol) __attribute__((visibility("hidden")))

// GLIBC_2.32. Never reports a single thread: reference counts are atomic, as before this flag existed.
extern "C" char pbprobe_single_threaded PBPROBE_STANDS_FOR("__libc_single_threaded");
char pbprobe_single_threaded = 0;

// GLIBCXX_3.4.29.
[[noreturn]] void pbprobe_throw_bad_array_new_length() PBPROBE_STANDS_FOR("_ZSt28__throw_bad_array_new_lengthv");
void pbprobe_throw_bad_array_new_length() {
  throw std::bad_array_new_length();
}

// GLIBCXX_3.4.29, for C++20.
template std::string std::basic_stringbuf<char>::str() const&;
