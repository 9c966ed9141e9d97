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

# vitrine_texts(RESULT NAME FOLDER): builds in the texts FOLDER/CODE.yaml of every language. Makes
# source files that define `const vitrine::report::TextSet& vitrine::NAME_texts()` and appends their
# paths to the list RESULT.
function(vitrine_texts result name folder)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.yaml)
  foreach(file ${files})
    get_filename_component(code ${file} NAME_WE)
    string(MAKE_C_IDENTIFIER ${name}_text_${code} variable)
    vitrine_embed(sources ${variable} ${file})
    string(APPEND declarations "extern const std::string_view ${variable};\n")
    string(APPEND entries "{\"${code}\", ${variable}},")
  endforeach()
  file(RELATIVE_PATH shown ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${name}_texts.cpp)
  file(CONFIGURE OUTPUT ${list} @ONLY CONTENT [[
#include "vitrine/report/translations.h"

namespace vitrine {
@declarations@
extern const report::TextSet& @name@_texts();

const report::TextSet& @name@_texts() {
  static const report::TextSet texts{"@shown@", {@entries@}};
  return texts;
}
}  // namespace vitrine
]])
  set(${result} ${${result}} ${sources} ${list} PARENT_SCOPE)
endfunction()
