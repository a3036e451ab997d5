// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The functions behind the rows of the catalogue, one a row; the row says what each asks.
#pragma once

#include "probes/judge/checks.hpp"
#include "probes/judge/facts.hpp"

namespace pbprobe {

// The catalogue's rows, each list in a file of its own.
[[nodiscard]] std::vector<Check> file_checks();     // PB1xx
[[nodiscard]] std::vector<Check> cpu_checks();      // PB2xx
[[nodiscard]] std::vector<Check> gpu_checks();      // PB3xx
[[nodiscard]] std::vector<Check> running_checks();  // PB5xx

}  // namespace pbprobe

namespace pbprobe::ask {

// files.cpp
Answer libtorch_readable(const Facts& facts);
Answer rest_readable(const Facts& facts);
Answer links_lead_somewhere(const Facts& facts);
Answer libtorch_present(const Facts& facts);
Answer right_platform(const Facts& facts);

// claims.cpp
Answer torch_is_claimed(const Facts& facts);
Answer cuda_is_claimed(const Facts& facts);
Answer python_is_claimed(const Facts& facts);
Answer blas_is_claimed(const Facts& facts);
Answer processor_is_claimed(const Facts& facts);
Answer store_name_is_claimed(const Facts& facts);

// closure.cpp
Answer cuda_is_one_major(const Facts& facts);
Answer toolkit_is_one_release(const Facts& facts);
Answer toolkit_is_claimed(const Facts& facts);
Answer compilers_know_claim(const Facts& facts);
Answer compilers_know_host(const Facts& facts);
Answer closure_resolves(const Facts& facts);
Answer opened_parts_are_there(const Facts& facts);
Answer openmp_is_one(const Facts& facts);
Answer driver_is_not_shipped(const Facts& facts);
Answer names_are_their_own(const Facts& facts);

// nix.cpp
Answer files_stay_in_store_closure(const Facts& facts);
Answer store_closure_has_one_cuda(const Facts& facts);
Answer store_closure_has_one_libc(const Facts& facts);

// packages.cpp
Answer requirements_are_met(const Facts& facts);
Answer versions_agree(const Facts& facts);
Answer tags_agree(const Facts& facts);
Answer abi_is_one(const Facts& facts);
Answer commit_is_known(const Facts& facts);
Answer matrix_library_is_there(const Facts& facts);
Answer cudnn_is_there(const Facts& facts);
Answer magma_is_there(const Facts& facts);
Answer nvshmem_is_there(const Facts& facts);

// identity.cpp
Answer package_is_one(const Facts& facts);
Answer version_is_assigned_once(const Facts& facts);
Answer libraries_are_of_version(const Facts& facts);

// runpaths.cpp
Answer build_folder_is_forgotten(const Facts& facts);
Answer runpaths_are_nobodys_else(const Facts& facts);
Answer runpaths_are_installed(const Facts& facts);
Answer runpaths_are_known(const Facts& facts);

// cpu.cpp
Answer cpu_has_target(const Facts& facts);
Answer cpu_tier(const Facts& facts);

// host_code.cpp
Answer cpu_runs_unguarded_code(const Facts& facts);
Answer hwcaps_keep_their_level(const Facts& facts);
Answer cpu_loads_libtorch(const Facts& facts);
Answer initializers_are_plain(const Facts& facts);
Answer no_tier_code_leaks(const Facts& facts);
Answer has_its_tiers(const Facts& facts);
Answer claimed_cpu_suffices(const Facts& facts);
Answer claimed_cpu_is_delivered(const Facts& facts);
Answer claimed_sub_row_differs(const Facts& facts);

// gpu.cpp
Answer gpu_code_runs(const Facts& facts);
Answer gpu_code_is_machine_code(const Facts& facts);
Answer gpu_code_is_native(const Facts& facts);
Answer gpu_code_is_uncontested(const Facts& facts);
Answer gpu_is_used(const Facts& facts);
Answer driver_knows_cuda_major(const Facts& facts);
Answer driver_knows_cuda_minor(const Facts& facts);
Answer gpu_is_usable(const Facts& facts);
Answer gpu_is_visible(const Facts& facts);
Answer has_device_code(const Facts& facts);
Answer other_libraries_run(const Facts& facts);
Answer driver_runs_our_kernels(const Facts& facts);
Answer other_libtorch_files_run(const Facts& facts);

// claimed_sms.cpp
Answer claimed_sm_is_throughout(const Facts& facts);
Answer claimed_sm_is_machine_code(const Facts& facts);
Answer nothing_but_claimed_sms(const Facts& facts);
Answer no_ptx_beside_claimed_sms(const Facts& facts);
Answer other_libraries_hold_claimed_sm(const Facts& facts);
Answer other_libraries_hold_more(const Facts& facts);
Answer no_claimed_kernel_only_traps(const Facts& facts);
Answer one_toolkit_a_file(const Facts& facts);
Answer images_are_of_claimed_cuda(const Facts& facts);
Answer tensor_paths_have_their_image(const Facts& facts);

// running.cpp
Answer libtorch_loads(const Facts& facts);
Answer libcuda_is_in_reach(const Facts& facts);
Answer libtorch_computes(const Facts& facts);
Answer libtorch_computes_on_gpu(const Facts& facts);
Answer areas_are_right(const Facts& facts);
Answer libraries_are_those_it_was_compiled_with(const Facts& facts);
Answer cuda_starts_in_time(const Facts& facts);
Answer what_ran_was_machine_code(const Facts& facts);
Answer kernels_are_right(const Facts& facts);
Answer steps_ran(const Facts& facts);
Answer version_agrees(const Facts& facts);
Answer libtorch_keeps_up(const Facts& facts);

// beside.cpp
Answer nothing_is_slower(const Facts& facts);
Answer each_area_gains(const Facts& facts);
Answer is_smaller(const Facts& facts);

}  // namespace pbprobe::ask
