# The harnesses of tests/fuzz for libFuzzer, each a program fuzz_NAME, with the torch-free files that they reach. Needs
# clang; torch is not asked for.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(LibArchive REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)

set(targets safetensors npy pth tfjs image recipe sweep cifar archive http tensor_json)
file(GLOB core CONFIGURE_DEPENDS vitrine/core/*.cpp)
set(formats file_mapping npy_header pickle pickle_globals pickle_machine pth_content pth_legacy safetensors_header
  stored_zip tfjs_manifest)
set(data cifar_records dataset geometry idx resize)
set(serve http router routes/infer_request routes/json_body transport/connection_threads transport/http_server
  transport/limited_stream)
list(TRANSFORM formats REPLACE "(.+)" "vitrine/formats/\\1.cpp")
list(TRANSFORM data REPLACE "(.+)" "vitrine/data/\\1.cpp")
list(TRANSFORM serve REPLACE "(.+)" "vitrine/serve/\\1.cpp")

add_library(parsers STATIC ${core} ${formats} ${data} ${serve} vitrine/studies/sweep_config.cpp)
target_include_directories(parsers PUBLIC ${PROJECT_SOURCE_DIR})
# Undefined behaviour ends the process, as a crash does.
target_compile_options(parsers PUBLIC -O2 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined
  -fno-sanitize-recover=all)
target_link_libraries(parsers PUBLIC fmt::fmt yaml-cpp PNG::PNG JPEG::JPEG LibArchive::LibArchive PkgConfig::WEBP
  PkgConfig::ISAL PkgConfig::HTTPLIB Threads::Threads)

foreach(target ${targets})
  add_executable(fuzz_${target} tests/fuzz/${target}.cpp tests/fuzz/entry.cpp)
  target_compile_definitions(fuzz_${target} PRIVATE VITRINE_TARGET=${target})
  target_link_libraries(fuzz_${target} PRIVATE parsers)
  target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer,address,undefined)
endforeach()
