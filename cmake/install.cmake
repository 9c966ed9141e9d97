# `cmake --install build --prefix DIR`: the program, the library, its public headers, its package config
# and the recipes.
include(CMakePackageConfigHelpers)
set(config_dir lib/cmake/vitrine)

set_target_properties(vitrine_program PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS vitrine EXPORT vitrine_targets LIBRARY DESTINATION lib)
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
install(EXPORT vitrine_targets NAMESPACE vitrine:: FILE vitrine-targets.cmake
        DESTINATION ${config_dir})
configure_package_config_file(cmake/vitrine-config.cmake.in vitrine-config.cmake
                              INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/vitrine-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/vitrine-config.cmake
              ${PROJECT_BINARY_DIR}/vitrine-config-version.cmake
        DESTINATION ${config_dir})
