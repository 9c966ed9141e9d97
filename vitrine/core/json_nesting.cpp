#include "vitrine/core/json_nesting.h"

namespace vitrine {

bool is_nested_deeper(std::string_view json, int levels) {
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') in_text = !in_text;
    if (in_text && c == '\\') ++i;  // whatever is escaped does not end the text
    if (in_text) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > levels) return true;
  }
  return false;
}

}  // namespace vitrine
