# `cmake --install build --prefix DIR`: the program with its man pages and completion, the library, its public headers,
# its package config and the recipes. The copy runs from any folder.
include(CMakePackageConfigHelpers)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # neither tests nor benchmarks are installed
set(config_dir lib/cmake/vitrine)

# In a folder of its own: the library has no stable ABI that other packages could rely on.
set(library_dir lib/${CMAKE_LIBRARY_ARCHITECTURE}/vitrine)
set_target_properties(vitrine_program PROPERTIES INSTALL_RPATH "$ORIGIN/../${library_dir}")
set_target_properties(vitrine_commands_module PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS vitrine EXPORT vitrine_targets LIBRARY DESTINATION ${library_dir})
install(TARGETS vitrine_commands_module LIBRARY DESTINATION ${library_dir})
install(TARGETS vitrine_program RUNTIME DESTINATION bin)
# The public headers are those that docs/library.md describes, a table row each.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS docs/library.md)
file(STRINGS docs/library.md rows REGEX "^[|] `vitrine/")
foreach(row ${rows})
  string(REGEX REPLACE "^[|] `([^`]*)`.*" "\\1" header "${row}")
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION include/${folder})
endforeach()
install(DIRECTORY recipes DESTINATION share/vitrine)
install(FILES cmake/debian/copyright DESTINATION share/doc/vitrine)
install(EXPORT vitrine_targets NAMESPACE vitrine:: FILE vitrine-targets.cmake
        DESTINATION ${config_dir})
configure_package_config_file(cmake/vitrine-config.cmake.in vitrine-config.cmake
                              INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/vitrine-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/vitrine-config.cmake
              ${PROJECT_BINARY_DIR}/vitrine-config-version.cmake
        DESTINATION ${config_dir})

# The program itself writes its man pages and completion, from its table of commands. The changelog is compressed.
install(CODE "set(program \"$<TARGET_FILE:vitrine_program>\")\nset(changes \"${PROJECT_SOURCE_DIR}/CHANGELOG.md\")")
install(SCRIPT cmake/install_reference.cmake)
