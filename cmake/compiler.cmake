# One set of flags for every file, so that all torch files can share one precompiled header.
# -fPIC by hand: CMake would give -fPIE to executables, and the header would not fit them.
add_compile_options(-fPIC -fopenmp)
set(VITRINE_WARNINGS -Wall -Wextra -Wpedantic)
if(VITRINE_SANITIZE)
  add_compile_options(-fsanitize=${VITRINE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${VITRINE_SANITIZE})
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  add_compile_options(-fpch-preprocess)
endif()
