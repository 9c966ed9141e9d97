# vitrine_layer(NAME [TORCH] [TORCH_FREE FILES...] [GENERATED FILES...]): the .cpp files of this folder and of those
# below it. Layers marked TORCH share the precompiled torch header, but for the files listed as TORCH_FREE and
# the generated ones; what never sees torch compiles in a second.
function(vitrine_layer name)
  cmake_parse_arguments(ARG "TORCH" "" "TORCH_FREE;GENERATED" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
  set(target vitrine_${name})
  add_library(${target} OBJECT ${sources} ${ARG_GENERATED})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE ${VITRINE_WARNINGS})
  target_link_libraries(${target} PUBLIC fmt::fmt)
  if(ARG_TORCH)
    vitrine_use_torch(${target})
    vitrine_torch_free(${ARG_TORCH_FREE} ${ARG_GENERATED})
  endif()
  set_property(GLOBAL APPEND PROPERTY VITRINE_LAYERS ${target})
endfunction()

# Torch's headers as system headers, precompiled once; several files are compiled as one.
function(vitrine_use_torch target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${VITRINE_UNITY})
  target_include_directories(${target} SYSTEM PUBLIC ${TORCH_INCLUDE_DIRS})
  target_precompile_headers(${target} REUSE_FROM vitrine_torch_header)
endfunction()

# Files of a torch target that never see torch.
function(vitrine_torch_free)
  set_source_files_properties(${ARGN} PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

file(WRITE ${PROJECT_BINARY_DIR}/torch_header.cpp "")
add_library(vitrine_torch_header OBJECT ${PROJECT_BINARY_DIR}/torch_header.cpp)
target_include_directories(vitrine_torch_header SYSTEM PUBLIC ${TORCH_INCLUDE_DIRS})
target_compile_options(vitrine_torch_header PRIVATE ${VITRINE_WARNINGS})
target_precompile_headers(vitrine_torch_header PRIVATE <torch/torch.h>)

# The whole library, made of the layers.
function(vitrine_library)
  get_property(layers GLOBAL PROPERTY VITRINE_LAYERS)
  add_library(vitrine SHARED)
  foreach(layer ${layers})
    target_sources(vitrine PRIVATE $<TARGET_OBJECTS:${layer}>)
  endforeach()
  target_include_directories(vitrine PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                            $<INSTALL_INTERFACE:include>)
  target_link_libraries(vitrine
    PUBLIC fmt::fmt
    PRIVATE ${TORCH_LIBRARIES} OpenMP::OpenMP_CXX Threads::Threads yaml-cpp
            PNG::PNG JPEG::JPEG CURL::libcurl LibArchive::LibArchive OpenSSL::Crypto ZLIB::ZLIB
            PkgConfig::WEBP PkgConfig::CBLAS PkgConfig::HWY PkgConfig::XXHASH
            PkgConfig::ISAL protobuf::libprotobuf)
endfunction()
