# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Compares the census with independent tools: llvm-mc and objdump on small files, and with the label `real`
# (make test-real) on a real torch.
find_package(Python QUIET COMPONENTS Interpreter)
add_executable(audit_decode_aarch64 decode_aarch64.cpp)
target_link_libraries(audit_decode_aarch64 PRIVATE pbprobe_audit)
set_target_properties(audit_decode_aarch64 PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
if(CMAKE_CROSSCOMPILING OR NOT Python_FOUND)
  return()
endif()

# audit_truth(<name> <label> <seconds> <script> <argument> …)
function(audit_truth name label seconds script)
  set(configurations "")
  if(label STREQUAL "real")
    set(configurations CONFIGURATIONS real)
  endif()
  add_test(NAME audit.${name} ${configurations} COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARGN})
  set_tests_properties(audit.${name} PROPERTIES LABELS "${label}" SKIP_RETURN_CODE 77 TIMEOUT ${seconds})
endfunction()

audit_truth(aarch64_truth audit 300 aarch64_truth.py $<TARGET_FILE:audit_decode_aarch64>)
audit_truth(objdump_truth audit 300 objdump_truth.py $<TARGET_FILE:pbprobe> ${host_code_files} $<TARGET_FILE:Zydis::Zydis>)
if(PBPROBE_TEST_TORCH)
  set(library ${PBPROBE_TEST_TORCH}/torch/lib/libtorch_cpu.so)
  audit_truth(objdump_truth_real real 3600 objdump_truth.py $<TARGET_FILE:pbprobe> ${library} --runs 1)
  audit_truth(stripped_truth_real real 600 stripped_truth.py $<TARGET_FILE:pbprobe> ${library})
endif()
