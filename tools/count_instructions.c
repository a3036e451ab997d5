// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Plugin for QEMU's user mode. Counts the executed instructions by function, and prints "COUNT FUNCTION" lines at exit.
// Functions without a symbol, as in shared libraries, count as "-". The file declares version 1 of the plugin API itself,
// because Debian ships no qemu-plugin.h.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef struct qemu_info_t qemu_info_t;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*translated)(qemu_plugin_id_t, struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* tb, enum qemu_plugin_op op, void* to,
                                              uint64_t number);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*ended)(qemu_plugin_id_t, void*), void* data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* tb);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* tb, size_t index);
const char* qemu_plugin_insn_symbol(const struct qemu_plugin_insn* insn);
void qemu_plugin_outs(const char* text);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

// Functions are never moved: translated code adds to their counters.
#define FUNCTIONS 65536
static struct {
  const char* name;
  uint64_t count;
} functions[FUNCTIONS];
static size_t used;

static uint64_t* find_counter(const char* name) {
  size_t i = 0;
  while (i < used && strcmp(functions[i].name, name) != 0) ++i;
  if (i == used && used < FUNCTIONS - 1) functions[used++].name = name;
  return &functions[i].count;
}

// Called once for each block, which begins and ends in one function.
static void count_block(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  (void)id;
  const char* name = qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(tb, 0));
  uint64_t* counter = find_counter(name != NULL && *name != '\0' ? name : "-");
  qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, counter, qemu_plugin_tb_n_insns(tb));
}

static void print_counts(qemu_plugin_id_t id, void* data) {
  (void)id;
  (void)data;
  char line[4096];
  for (size_t i = 0; i < used; ++i) {
    snprintf(line, sizeof line, "%" PRIu64 " %s\n", functions[i].count, functions[i].name);
    qemu_plugin_outs(line);
  }
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  (void)info;
  (void)argc;
  (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
  qemu_plugin_register_atexit_cb(id, print_counts, NULL);
  return 0;
}
