// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What this compiler's headers expect of a newer libc and libstdc++ than those that a wheel is linked to
// (cmake/OlderLibc.cmake). By their symbols, and hidden: nobody else in the process gets these.
#include <new>
#include <sstream>
#include <string>

#define PBPROBE_STANDS_FOR(symbol) __asm__(symbol) __attribute__((visibility("hidden")))

// GLIBC_2.32. Never single-threaded: reference counts are atomic, as they were before there was such a flag.
extern "C" char pbprobe_single_threaded PBPROBE_STANDS_FOR("__libc_single_threaded");
char pbprobe_single_threaded = 0;

// GLIBCXX_3.4.29.
[[noreturn]] void pbprobe_throw_bad_array_new_length() PBPROBE_STANDS_FOR("_ZSt28__throw_bad_array_new_lengthv");
void pbprobe_throw_bad_array_new_length() {
  throw std::bad_array_new_length();
}

// GLIBCXX_3.4.29: C++20's.
template std::string std::basic_stringbuf<char>::str() const&;
