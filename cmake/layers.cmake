# vitrine_layer(NAME [TORCH] [TORCH_FREE FILES...] [GENERATED FILES...] [SINGLE FILES...]): the .cpp files of this folder and
# of those below it, compiled several as one. Layers marked TORCH share the precompiled torch header, but for the
# files listed as TORCH_FREE and the generated ones. SINGLE files are compiled by themselves.
function(vitrine_layer name)
  cmake_parse_arguments(ARG "TORCH" "" "TORCH_FREE;GENERATED;SINGLE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
  set(plain ${sources})
  if(ARG_TORCH)
    set(plain ${ARG_TORCH_FREE})
    list(REMOVE_ITEM sources ${ARG_TORCH_FREE} "")
    vitrine_objects(vitrine_${name} ${sources})
    vitrine_use_torch(vitrine_${name})
  endif()
  list(APPEND plain ${ARG_GENERATED})
  if(plain)
    vitrine_objects(vitrine_${name}_plain ${plain})
    target_compile_options(vitrine_${name}_plain PRIVATE ${VITRINE_PLAIN_OPTIONS})
  endif()
  set_source_files_properties(${ARG_SINGLE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

function(vitrine_objects target)
  add_library(${target} OBJECT ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${VITRINE_UNITY})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE ${VITRINE_WARNINGS})
  target_link_libraries(${target} PUBLIC fmt::fmt)
  set_property(GLOBAL APPEND PROPERTY VITRINE_OBJECTS $<TARGET_OBJECTS:${target}>)
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

file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/torch_header.cpp CONTENT "")  # leaves an equal file alone
add_library(vitrine_torch_header OBJECT ${PROJECT_BINARY_DIR}/torch_header.cpp)
target_include_directories(vitrine_torch_header SYSTEM PUBLIC ${TORCH_INCLUDE_DIRS})
target_compile_options(vitrine_torch_header PRIVATE ${VITRINE_WARNINGS})
target_precompile_headers(vitrine_torch_header PRIVATE <torch/torch.h>)

# The whole library, made of the layers.
function(vitrine_library)
  get_property(objects GLOBAL PROPERTY VITRINE_OBJECTS)
  set_property(GLOBAL PROPERTY VITRINE_OBJECTS "")  # what follows belongs to the program
  add_library(vitrine SHARED ${objects})
  target_include_directories(vitrine PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                            $<INSTALL_INTERFACE:include>)
  target_link_libraries(vitrine
    PUBLIC fmt::fmt
    PRIVATE ${TORCH_LIBRARIES} OpenMP::OpenMP_CXX Threads::Threads yaml-cpp
            PNG::PNG JPEG::JPEG CURL::libcurl LibArchive::LibArchive OpenSSL::Crypto ZLIB::ZLIB
            PkgConfig::WEBP PkgConfig::CBLAS PkgConfig::HWY PkgConfig::XXHASH
            PkgConfig::ISAL protobuf::libprotobuf ONNX::onnx)
endfunction()

# What the program has beyond the library, in one archive, so that tests can call it; and the program, which loads the same
# from a shared library when it must.
function(vitrine_program)
  get_property(objects GLOBAL PROPERTY VITRINE_OBJECTS)
  add_library(vitrine_commands STATIC ${objects})
  target_link_libraries(vitrine_commands PUBLIC vitrine
                        PRIVATE yaml-cpp OpenMP::OpenMP_CXX PkgConfig::HTTPLIB)
  # Only to link: torch's definitions would not fit the precompiled header.
  foreach(library ${TORCH_LIBRARIES})
    target_link_libraries(vitrine_commands PRIVATE $<LINK_ONLY:${library}>)
  endforeach()
  add_library(vitrine_commands_module SHARED vitrine/program/commands_main.cpp)
  set_target_properties(vitrine_commands_module PROPERTIES OUTPUT_NAME vitrine_commands)
  target_link_libraries(vitrine_commands_module PRIVATE vitrine_commands)

  add_executable(vitrine_write_answers vitrine/program/write_answers.cpp)
  target_link_libraries(vitrine_write_answers PRIVATE vitrine_commands)
  set(answers ${PROJECT_BINARY_DIR}/instant_answers.cpp)
  add_custom_command(OUTPUT ${answers} DEPENDS vitrine_write_answers VERBATIM
                     COMMAND sh -c "\"$1\" > \"$2.new\" && mv \"$2.new\" \"$2\"" -
                             $<TARGET_FILE:vitrine_write_answers> ${answers})
  add_executable(vitrine_program vitrine/program/main.cpp ${answers})
  set_target_properties(vitrine_program PROPERTIES
    OUTPUT_NAME vitrine RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} BUILD_RPATH ${PROJECT_BINARY_DIR})
  target_include_directories(vitrine_program PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(vitrine_program PRIVATE ${CMAKE_DL_LIBS})
  add_dependencies(vitrine_program vitrine_commands_module)
endfunction()
