// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <dlfcn.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "probes/measure/child/words.hpp"

namespace pbprobe {
namespace {

CrashMessage* last_words = nullptr;
pid_t owner = 0;

uintptr_t get_instruction_address(const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
#else
  return static_cast<uintptr_t>(context.uc_mcontext.pc);
#endif
}

// Copies `from` with each character that JSON would escape replaced by "?".
void copy_name(std::array<char, 160>& to, const char* from) {
  size_t i = 0;
  for (; from != nullptr && from[i] != '\0' && i + 1 < to.size(); ++i) {
    const char c = from[i];
    to[i] = c >= ' ' && c < 0x7f && c != '"' && c != '\\' ? c : '?';
  }
  to[i] = '\0';
}

// dladdr and snprintf are no functions for a signal handler; the process is lost anyway, and a second fault ends it.
void handle_signal(int signal, siginfo_t*, void* context) {
  std::signal(signal, SIG_DFL);
  print_kept_words();
  if (signal == SIGABRT) {  // abort() printed its cause to stderr
    raise(signal);
    return;
  }
  if (getpid() == owner) {
    const uintptr_t address = get_instruction_address(*static_cast<ucontext_t*>(context));
    Dl_info info{};
    std::array<char, 160> object{};
    std::array<char, 160> symbol{};
    uintptr_t offset = address;
    if (dladdr(reinterpret_cast<void*>(address), &info) != 0 && info.dli_fname != nullptr) {
      const char* const slash = std::strrchr(info.dli_fname, '/');
      copy_name(object, slash == nullptr ? info.dli_fname : slash + 1);
      copy_name(symbol, info.dli_sname);
      offset = address - reinterpret_cast<uintptr_t>(info.dli_fbase);
    }
    // Through the kernel: an address that cannot be read is then an error and no second fault.
    std::array<unsigned char, 15> bytes{};
    iovec here{bytes.data(), bytes.size()};
    iovec there{reinterpret_cast<void*>(address), bytes.size()};
    ssize_t read = process_vm_readv(owner, &here, 1, &there, 1, 0);
    if (read < 0 && signal == SIGILL) {
      // An emulator may have no such call; an illegal instruction was read already, and so can be its page.
      constexpr uintptr_t kPage = 4096;
      read = static_cast<ssize_t>(std::min<uintptr_t>(bytes.size(), kPage - address % kPage));
      std::memcpy(bytes.data(), reinterpret_cast<const void*>(address), static_cast<size_t>(read));
    }
    std::array<char, 3 * 15 + 1> hex{};
    for (ssize_t i = 0; i < read; ++i) std::snprintf(hex.data() + 3 * i, 4, "%02x ", bytes[i]);
    auto& line = last_words->text;
    const int length = std::snprintf(line.data(), line.size(),
                                     "{\"crash\": {\"object\": \"%s\", \"offset\": %llu, \"symbol\": \"%s\", "
                                     "\"bytes\": \"%.*s\"}}",
                                     object.data(), static_cast<unsigned long long>(offset), symbol.data(),
                                     read > 0 ? static_cast<int>(3 * read - 1) : 0, hex.data());
    last_words->length = static_cast<uint32_t>(std::clamp<int>(length, 0, static_cast<int>(line.size()) - 1));
  }
  raise(signal);
}

}  // namespace

void report_crashes(CrashMessage* words) {
  last_words = words;
  owner = getpid();
  // A stack of its own, for a fault that is an overflow of the stack.
  static std::array<std::byte, 1 << 16> stack;
  stack_t alternate{};
  alternate.ss_sp = stack.data();
  alternate.ss_size = stack.size();
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = &handle_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) sigaction(signal, &action, nullptr);
}

}  // namespace pbprobe
