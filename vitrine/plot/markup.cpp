#include "vitrine/plot/markup.h"

#include "vitrine/plot/text.h"

namespace vitrine::plot {

std::string escape_markup(std::string_view text) {
  std::string result;
  for (const char c : clean_text(text)) switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  return result;
}

}  // namespace vitrine::plot
