#include "vitrine/weights/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace vitrine {
namespace {

constexpr std::pair<Fate, const char*> kFates[] = {{Fate::Loaded, "loaded"},
                                                   {Fate::Converted, "converted"},
                                                   {Fate::Resized, "resized"},
                                                   {Fate::Skipped, "skipped"},
                                                   {Fate::Missing, "missing"}};

const char* fate_name(Fate fate) {
  for (const auto& [known, name] : kFates)
    if (known == fate) return name;
  return "";
}

}  // namespace

int64_t Account::count(Fate fate) const {
  return std::count_if(notes.begin(), notes.end(),
                       [&](const TensorNote& note) { return note.fate == fate; });
}

std::string Account::summary() const {
  std::vector<std::string> parts;
  for (const auto& [fate, name] : kFates)
    if (const auto n = count(fate); n > 0) parts.push_back(fmt::format("{} {}", n, name));
  const auto tensors = std::ssize(notes) - count(Fate::Missing);
  return fmt::format("{} tensors: {}", tensors, fmt::join(parts, ", "));
}

std::string Account::lines() const {
  size_t width = 0;
  for (const auto& note : notes) width = std::max(width, note.theirs.size());
  std::string text;
  for (const auto& note : notes) {
    auto line = fmt::format("{:<9}  {:<{}}", fate_name(note.fate), note.theirs, width);
    if (!note.ours.empty() && note.ours != note.theirs) line += "  -> " + note.ours;
    if (!note.detail.empty()) line += "  (" + note.detail + ")";
    text += line + "\n";
  }
  return text;
}

Account joined(const Account& mapped, const Account& loaded) {
  std::map<std::string, const TensorNote*> by_name;
  for (const auto& note : loaded.notes) by_name[note.ours] = &note;
  Account result;
  std::set<std::string> mapped_names;
  for (auto note : mapped.notes) {
    mapped_names.insert(note.ours);
    const auto found = by_name.find(note.ours);
    if (!note.ours.empty() && found != by_name.end() && found->second->fate != Fate::Loaded) {
      note.fate = found->second->fate;
      note.detail += (note.detail.empty() ? "" : "; ") + found->second->detail;
    }
    result.notes.push_back(std::move(note));
  }
  for (const auto& note : loaded.notes)
    if (!mapped_names.contains(note.ours)) result.notes.push_back(note);
  return result;
}

}  // namespace vitrine
