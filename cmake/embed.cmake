# vitrine_embed(RESULT VARIABLE FILE): makes a source file that holds FILE's text as
# `const std::string_view vitrine::VARIABLE` and appends its path to the list RESULT.
function(vitrine_embed result variable file)
  get_filename_component(path ${file} ABSOLUTE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} text)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${variable}.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
#include <string_view>

namespace vitrine {
extern const std::string_view @variable@;
const std::string_view @variable@ = R"embedded(@text@)embedded";
}  // namespace vitrine
]])
  set(${result} ${${result}} ${source} PARENT_SCOPE)
endfunction()
