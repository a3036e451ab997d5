# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# So that `.venv/bin/ctest -L '^sm121$'` runs in the repository's root as in build/, and never finds none in silence.
if(NOT EXISTS build/CTestTestfile.cmake)
  message(FATAL_ERROR "pbprobe: not configured: make test, then run ctest here or in build/")
endif()
subdirs(build)
