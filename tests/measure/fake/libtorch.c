/* SPDX-FileCopyrightText: 2026 The pbprobe authors
 * SPDX-License-Identifier: MIT
 *
 * Libraries that go by the name of libtorch_cpu.so and misbehave while they are loaded, one for each FAKE_… */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(FAKE_ABORT)
__attribute__((constructor)) static void start(void) {
  fputs("terminate called after throwing an instance of 'std::runtime_error'\n", stderr);
  abort();
}

#elif defined(FAKE_NO_MEMORY)
__attribute__((constructor)) static void start(void) {
  fputs("terminate called after throwing an instance of 'std::bad_alloc'\n", stderr);
  abort();
}

#elif defined(FAKE_ILLEGAL)
__attribute__((constructor)) static void start(void) {
#if defined(__x86_64__)
  __asm__ volatile("ud2");
#else
  __asm__ volatile("udf #0");
#endif
}

#elif defined(FAKE_DEADLOCK)
__attribute__((constructor)) static void start(void) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex);
}

#elif defined(FAKE_GARBAGE)
__attribute__((constructor)) static void start(void) {
  static const char noise[] = "{\"row\": 1}\n\x01\xff not JSON at all\n";
  for (int i = 0; i < 20000; ++i) fwrite(noise, 1, sizeof noise - 1, stdout);
  fflush(stdout);
}

#elif defined(FAKE_DAEMON)
__attribute__((constructor)) static void start(void) {
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  signal(SIGTERM, SIG_IGN);
  while (1) pause();
}

#elif defined(FAKE_FORK_BOMB)
/* The processes fork until there are 300, unless something stops them. */
#include <sys/mman.h>
__attribute__((constructor)) static void start(void) {
  int* count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  while (__atomic_add_fetch(count, 1, __ATOMIC_RELAXED) < 300) {
    if (fork() == 0) setsid();
    usleep(2000);
  }
  while (1) pause();
}

#elif defined(FAKE_FLOOD)
__attribute__((constructor)) static void start(void) {
  static char noise[1 << 16];
  memset(noise, 'x', sizeof noise);
  while (write(1, noise, sizeof noise) > 0) {
  }
  while (1) pause();
}

#elif defined(FAKE_HOG)
/* 800 MB at most, should nothing stop it. */
__attribute__((constructor)) static void start(void) {
  for (int i = 0; i < 100; ++i) {
    memset(malloc(8 << 20), 1, 8 << 20);
    usleep(10000);
  }
  while (1) pause();
}

#elif defined(FAKE_KILL_GROUP)
__attribute__((constructor)) static void start(void) {
  kill(0, SIGKILL);
  while (1) pause();
}

#elif defined(FAKE_KILL_PARENT)
__attribute__((constructor)) static void start(void) {
  kill(-getpgid(getppid()), SIGKILL);
  while (1) pause();
}

#elif defined(FAKE_KILL_ALL)
/* In the namespace of the test's own processes it would end everything. */
#include <sys/stat.h>
__attribute__((constructor)) static void start(void) {
  struct stat facts;
  const char* outside = getenv("PBPROBE_TEST_NAMESPACE");
  if (outside == NULL || stat("/proc/self/ns/pid", &facts) != 0) _exit(9);
  if (strtoull(outside, NULL, 10) == (unsigned long long)facts.st_ino) _exit(9);
  kill(-1, SIGKILL);
  while (1) pause();
}

#elif defined(FAKE_NETWORK)
#include <arpa/inet.h>
#include <sys/socket.h>
__attribute__((constructor)) static void start(void) {
  const char* port = getenv("PBPROBE_TEST_PORT");
  struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(port != NULL ? (uint16_t)atoi(port) : 0)};
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int reached = connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr*)&there, sizeof there);
  _exit(reached == 0 ? 10 : 11);
}

#elif defined(FAKE_FORK_AND_LEAVE)
__attribute__((constructor)) static void start(void) {
  if (fork() != 0) _exit(0);
}

#elif defined(FAKE_FORGER)
/* Writes an answer for its process to each descriptor, and exits before any request. */
__attribute__((constructor)) static void start(void) {
  static const char answer[] =
      "\n{\"libtorch\": {\"path\": \"/t\", \"loaded\": true, \"executed\": true, \"executed_on_gpu\": true, "
      "\"version\": \"2.99.1\", \"areas\": [], \"figures\": [], \"timings\": [], \"built_for\": [], "
      "\"libraries\": [], \"starts\": [], \"kernels\": [], \"speeds\": []}}\n{\"finished\": true}\n";
  for (int number = 3; number < 1024; ++number) {
    if (write(number, answer, sizeof answer - 1) < 0) continue;
  }
  _exit(0);
}

#elif defined(FAKE_CHANNEL_FLOOD)
/* Writes gigabytes without a line end to each descriptor. */
__attribute__((constructor)) static void start(void) {
  static char noise[1 << 16];
  memset(noise, 'x', sizeof noise);
  for (int round = 0; round < 20000; ++round)
    for (int number = 3; number < 1024; ++number)
      if (write(number, noise, sizeof noise) < 0) continue;
}

#elif defined(FAKE_CLOSER)
/* Closes all descriptors. */
#include <fcntl.h>
__attribute__((constructor)) static void start(void) {
  for (int number = 0; number < 1024; ++number) close(number);
}

#elif defined(FAKE_DEAF)
/* Nor here: all that is written goes nowhere. */
#include <fcntl.h>
__attribute__((constructor)) static void start(void) {
  const int nowhere = open("/dev/null", O_RDWR);
  for (int number = 3; number < 1024; ++number) dup2(nowhere, number);
}

#elif defined(FAKE_READER)
/* Takes what was meant for its process from each descriptor. */
#include <fcntl.h>
__attribute__((constructor)) static void start(void) {
  char text[4096];
  for (int number = 3; number < 1024; ++number) {
    fcntl(number, F_SETFL, O_NONBLOCK);
    if (read(number, text, sizeof text) < 0) continue;
  }
}

#elif defined(FAKE_STOPPER)
/* Stops its supervisor and itself. */
__attribute__((constructor)) static void start(void) {
  kill(getppid(), SIGSTOP);
  while (1) pause();
}

#elif defined(FAKE_TRACER)
/* Exit code 11: its supervisor cannot be traced, nor be read through /proc; 10: one of both can. */
#include <fcntl.h>
#include <sys/ptrace.h>
__attribute__((constructor)) static void start(void) {
  char path[64];
  int open_ones = ptrace(PTRACE_SEIZE, getppid(), 0, 0) == 0;
  for (int number = 0; number < 1024; ++number) {
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getppid(), number);
    const int file = open(path, O_WRONLY | O_NONBLOCK);
    if (file >= 0) open_ones += 1;
  }
  _exit(open_ones > 0 ? 10 : 11);
}

#elif defined(FAKE_WANDERER)
/* Changes working folder, mask, limits, signals, alarms. */
#include <sys/resource.h>
#include <sys/stat.h>
__attribute__((constructor)) static void start(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  umask(0777);
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_NOFILE, &none);
  if (chdir("/") != 0) _exit(9);
  clearenv();
}

#elif defined(FAKE_WRITER)
/* Exit code 10: a file could be made where PBPROBE_TEST_FILE says; 11: it could not. */
#include <fcntl.h>
__attribute__((constructor)) static void start(void) {
  const char* path = getenv("PBPROBE_TEST_FILE");
  const int file = open(path != NULL ? path : "", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  _exit(file >= 0 && write(file, "x", 1) == 1 ? 10 : 11);
}

#elif defined(FAKE_SCRATCH)
/* 12: what is meant for writing can be written: the scratch folder, memory that is shared, /dev/null, and itself. */
#include <fcntl.h>
#include <sys/prctl.h>
static int can_write(const char* path, int flags) {
  const int file = open(path, flags, 0600);
  return file >= 0 && write(file, "x", 1) == 1 && close(file) == 0;
}
__attribute__((constructor)) static void start(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/a", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "");
  char other[4096];
  snprintf(other, sizeof other, "%s/b", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "");
  if (!can_write(path, O_WRONLY | O_CREAT | O_EXCL) || rename(path, other) != 0 || unlink(other) != 0) _exit(13);
  snprintf(path, sizeof path, "/dev/shm/pbprobe-test-%d", (int)getpid());
  if (!can_write(path, O_RDWR | O_CREAT | O_EXCL) || unlink(path) != 0) _exit(14);
  if (!can_write("/dev/null", O_WRONLY)) _exit(15);
  if (!can_write("/proc/self/comm", O_WRONLY)) _exit(16);
  _exit(system("true") == 0 ? 12 : 17);
}

#elif defined(FAKE_EXIT)
__attribute__((constructor)) static void start(void) { exit(3); }

#elif defined(FAKE_MISSING)
int pbprobe_absent(void);
int use_it(void) { return pbprobe_absent(); }

#elif defined(FAKE_ABSENT)
int pbprobe_absent(void) { return 0; }

#elif defined(FAKE_WRONG)
/* Shims of a torch that computes nothing and leaves C unchanged. */
uint64_t aoti_torch_abi_version(void) { return 2ULL << 56 | 99ULL << 48 | 1ULL << 40; }
static int tensor;
int32_t aoti_torch_create_tensor_from_blob(void* data, int64_t ndim, const int64_t* sizes, const int64_t* strides,
                                           int64_t offset, int32_t dtype, int32_t device_type, int32_t device_index,
                                           void** result) {
  (void)data, (void)ndim, (void)sizes, (void)strides, (void)offset, (void)dtype, (void)device_type, (void)device_index;
  *result = &tensor;
  return 0;
}
int32_t aoti_torch_empty_strided(int64_t ndim, const int64_t* sizes, const int64_t* strides, int32_t dtype,
                                 int32_t device_type, int32_t device_index, void** result) {
  (void)ndim, (void)sizes, (void)strides, (void)dtype, (void)device_type, (void)device_index;
  *result = &tensor;
  return 0;
}
int32_t aoti_torch_new_tensor_handle(void* from, void** to) {
  *to = from;
  return 0;
}
int32_t aoti_torch_delete_tensor_object(void* which) {
  (void)which;
  return 0;
}
int32_t aoti_torch_call_dispatcher(const char* name, const char* overload, uint64_t* stack) {
  (void)name, (void)overload, (void)stack;
  return 0;
}
int32_t aoti_torch_device_type_cpu(void) { return 0; }
int32_t aoti_torch_device_type_cuda(void) { return 1; }
int32_t aoti_torch_dtype_float32(void) { return 6; }
int32_t aoti_torch_dtype_float16(void) { return 5; }
int32_t aoti_torch_dtype_bfloat16(void) { return 15; }
int32_t aoti_torch_dtype_int8(void) { return 1; }
int32_t aoti_torch_dtype_uint8(void) { return 0; }
int32_t aoti_torch_dtype_int32(void) { return 3; }

#elif defined(FAKE_WRONG_AREA) || defined(FAKE_DEADLY_AREA) || defined(FAKE_SLOW_AREA) || \
    defined(FAKE_SAME_AREA)
/* A real torch, of the site-packages that PBPROBE_TEST_TORCH names, but for its softmax. */
#include <dlfcn.h>
#include <time.h>
static void* real(const char* name) {
  static void* library;
  if (library == NULL) {
    char path[4096];
    snprintf(path, sizeof path, "%s/torch/lib/libtorch_global_deps.so", getenv("PBPROBE_TEST_TORCH"));
    dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    snprintf(path, sizeof path, "%s/torch/lib/libtorch_cpu.so", getenv("PBPROBE_TEST_TORCH"));
    library = dlopen(path, RTLD_NOW);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      abort();
    }
  }
  return dlsym(library, name);
}
#define FORWARD(result, name, parameters, arguments) \
  result name parameters { return ((result(*) parameters)real(#name)) arguments; }
FORWARD(uint64_t, aoti_torch_abi_version, (void), ())
FORWARD(int32_t, aoti_torch_create_tensor_from_blob,
        (void* data, int64_t ndim, const int64_t* sizes, const int64_t* strides, int64_t offset, int32_t dtype,
         int32_t device_type, int32_t device_index, void** result),
        (data, ndim, sizes, strides, offset, dtype, device_type, device_index, result))
FORWARD(int32_t, aoti_torch_empty_strided,
        (int64_t ndim, const int64_t* sizes, const int64_t* strides, int32_t dtype, int32_t device_type,
         int32_t device_index, void** result),
        (ndim, sizes, strides, dtype, device_type, device_index, result))
FORWARD(int32_t, aoti_torch_new_tensor_handle, (void* from, void** to), (from, to))
FORWARD(int32_t, aoti_torch_delete_tensor_object, (void* which), (which))
FORWARD(int32_t, aoti_torch_cpu_convolution,
        (void* input, void* weight, void** bias, const int64_t* stride, int64_t strides, const int64_t* padding,
         int64_t paddings, const int64_t* dilation, int64_t dilations, int32_t transposed,
         const int64_t* output_padding, int64_t output_paddings, int64_t groups, void** result),
        (input, weight, bias, stride, strides, padding, paddings, dilation, dilations, transposed, output_padding,
         output_paddings, groups, result))
#define FORWARD_CODE(name) FORWARD(int32_t, name, (void), ())
FORWARD_CODE(aoti_torch_device_type_cpu)
FORWARD_CODE(aoti_torch_device_type_cuda)
FORWARD_CODE(aoti_torch_dtype_float32)
FORWARD_CODE(aoti_torch_dtype_float16)
FORWARD_CODE(aoti_torch_dtype_bfloat16)
FORWARD_CODE(aoti_torch_dtype_int8)
FORWARD_CODE(aoti_torch_dtype_uint8)
FORWARD_CODE(aoti_torch_dtype_int32)
FORWARD_CODE(aoti_torch_dtype_float64)
FORWARD_CODE(aoti_torch_dtype_int64)
FORWARD_CODE(aoti_torch_dtype_complex64)
typedef int32_t (*dispatcher)(const char* name, const char* overload, uint64_t* stack);
int32_t aoti_torch_call_dispatcher(const char* name, const char* overload, uint64_t* stack) {
  const dispatcher call = (dispatcher)real("aoti_torch_call_dispatcher");
  if (strcmp(name, "aten::_softmax") != 0) return call(name, overload, stack);
#ifdef FAKE_SLOW_AREA
  /* Many times what softmax takes, also if other work delays it: a share of its own time would grow with that work. */
  const struct timespec pause = {.tv_nsec = 100000000};
  nanosleep(&pause, NULL);
  return call(name, overload, stack);
#endif
#ifdef FAKE_DEADLY_AREA
  raise(SIGILL);
#endif
#ifdef FAKE_SAME_AREA
  return call(name, overload, stack);
#endif
  return call("aten::_log_softmax", overload, stack);
}

#else /* FAKE_OLD: a torch from before the shims */
int some_function(void) { return 1; }
#endif
