#include "vitrine/report/translations.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>

#include "vitrine/core/error.h"
#include "vitrine/core/nearest.h"

namespace vitrine::report {
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

std::vector<std::string> TextSet::languages() const {
  std::vector<std::string> codes;
  for (const auto& file : files) codes.push_back(file.language);
  return codes;
}

std::string TextSet::default_language() const {
  for (const auto* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* locale = std::getenv(name);
    if (locale == nullptr || *locale == '\0') continue;
    const auto code = language_part(locale);
    const auto known = languages();
    return std::find(known.begin(), known.end(), code) != known.end() ? code : "en";
  }
  return "en";
}

Translations::Translations(const TextSet& texts, const std::string& language)
    : file_(fmt::format("{}/{}.yaml", texts.folder, language)), language_(language) {
  const auto file = std::find_if(texts.files.begin(), texts.files.end(),
                                 [&](const auto& f) { return f.language == language; });
  check_usage(file != texts.files.end(), "language '{}' is not known{} (known: {})", language,
              did_you_mean(language, texts.languages()), fmt::join(texts.languages(), ", "));
  collect_texts(YAML::Load(std::string(file->yaml)), "", texts_);
}

const std::string& Translations::at(const std::string& key) const {
  const auto text = texts_.find(key);
  check(text != texts_.end(), "{} has no text '{}'", file_, key);
  return text->second;
}

std::vector<std::string> Translations::list(const std::string& key) const {
  std::vector<std::string> items = {at(key + ".0")};
  for (auto next = key + ".1"; has(next); next = fmt::format("{}.{}", key, items.size()))
    items.push_back(at(next));
  return items;
}

std::vector<std::string> Translations::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, text] : texts_) keys.push_back(key);
  return keys;
}

}  // namespace vitrine::report
