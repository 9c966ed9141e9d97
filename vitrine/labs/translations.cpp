#include "vitrine/labs/translations.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>

#include "vitrine/core/error.h"
#include "vitrine/core/nearest.h"
#include "vitrine/labs/languages.h"

namespace vitrine::labs {
namespace {

void collect_texts(const YAML::Node& node, const std::string& key,
                   std::map<std::string, std::string>& texts) {
  const auto start = key.empty() ? "" : key + ".";
  if (node.IsMap())
    for (const auto& item : node)
      collect_texts(item.second, start + item.first.as<std::string>(), texts);
  else if (node.IsSequence())
    for (size_t i = 0; i < node.size(); ++i)
      collect_texts(node[i], start + std::to_string(i), texts);
  else
    texts[key] = node.IsNull() ? "" : node.as<std::string>();
}

/// "ko" of "ko_KR.UTF-8".
std::string language_part(const std::string& locale) {
  return locale.substr(0, locale.find_first_of("_.@"));
}

}  // namespace

std::vector<std::string> Translations::languages() {
  std::vector<std::string> codes;
  for (const auto& file : language_files()) codes.push_back(file.code);
  return codes;
}

std::string Translations::default_language() {
  for (const auto* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* locale = std::getenv(name);
    if (locale == nullptr || *locale == '\0') continue;
    const auto code = language_part(locale);
    const auto known = languages();
    return std::find(known.begin(), known.end(), code) != known.end() ? code : "en";
  }
  return "en";
}

Translations::Translations(const std::string& language) : language_(language) {
  const auto& files = language_files();
  const auto file =
      std::find_if(files.begin(), files.end(), [&](const auto& f) { return f.code == language; });
  check(file != files.end(), "language '{}' is not known{} (known: {})", language,
        did_you_mean(language, languages()), fmt::join(languages(), ", "));
  collect_texts(YAML::Load(std::string(file->yaml)), "", texts_);
}

const std::string& Translations::at(const std::string& key) const {
  const auto text = texts_.find(key);
  check(text != texts_.end(), "labs: text/{}.yaml has no text '{}'", language_, key);
  return text->second;
}

std::vector<std::string> Translations::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, text] : texts_) keys.push_back(key);
  return keys;
}

}  // namespace vitrine::labs
