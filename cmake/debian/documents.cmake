# What only the .deb holds: a changelog of the packaging, and what lintian need not say.
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
configure_file(${CMAKE_CURRENT_LIST_DIR}/lintian-overrides ${share}/lintian/overrides/vitrine COPYONLY)

set(source ${CMAKE_CURRENT_LIST_DIR}/../../CHANGELOG.md)
set(folder ${share}/doc/vitrine)
execute_process(COMMAND date -R -r ${source} OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${folder}/changelog.Debian
"vitrine (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Package of version ${CPACK_PACKAGE_VERSION}; changelog.gz says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
execute_process(COMMAND gzip -9nf ${folder}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
