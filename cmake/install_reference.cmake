# Has `program` write its man pages and completion scripts below the folder of the installation, where the file
# `changes` becomes the changelog.
get_filename_component(share "${CMAKE_INSTALL_PREFIX}/share" ABSOLUTE)
set(share "$ENV{DESTDIR}${share}")
message(STATUS "Installing: man pages, completion and changelog in ${share}")

execute_process(COMMAND ${program} man --out ${share}/man/man1
                OUTPUT_VARIABLE pages COMMAND_ERROR_IS_FATAL ANY)
string(STRIP "${pages}" pages)
string(REPLACE "\n" ";" pages "${pages}")
execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
list(TRANSFORM pages APPEND .gz)
execute_process(COMMAND gzip -9nc ${changes} OUTPUT_FILE ${share}/doc/vitrine/changelog.gz
                COMMAND_ERROR_IS_FATAL ANY)
list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${pages} ${share}/doc/vitrine/changelog.gz)

foreach(place bash:bash-completion/completions/vitrine zsh:zsh/vendor-completions/_vitrine
              fish:fish/vendor_completions.d/vitrine.fish)
  string(REGEX MATCH "^([^:]*):(.*)$" place ${place})
  set(script ${share}/${CMAKE_MATCH_2})
  get_filename_component(folder ${script} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${program} completion ${CMAKE_MATCH_1}
                  OUTPUT_FILE ${script} COMMAND_ERROR_IS_FATAL ANY)
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${script})
endforeach()
