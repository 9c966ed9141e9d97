#include "vitrine/weights/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace vitrine {
namespace {

constexpr std::pair<LoadStatus, const char*> kStatuses[] = {{LoadStatus::Loaded, "loaded"},
                                                            {LoadStatus::Converted, "converted"},
                                                            {LoadStatus::Resized, "resized"},
                                                            {LoadStatus::Skipped, "skipped"},
                                                            {LoadStatus::Missing, "missing"}};

const char* status_name(LoadStatus status) {
  for (const auto& [known, name] : kStatuses)
    if (known == status) return name;
  return "";
}

}  // namespace

int64_t Account::count(LoadStatus status) const {
  return std::count_if(notes.begin(), notes.end(),
                       [&](const TensorNote& note) { return note.status == status; });
}

std::string Account::summary() const {
  std::vector<std::string> parts;
  for (const auto& [status, name] : kStatuses)
    if (const auto n = count(status); n > 0) parts.push_back(fmt::format("{} {}", n, name));
  const auto tensors = std::ssize(notes) - count(LoadStatus::Missing);
  return fmt::format("{} tensors: {}", tensors, fmt::join(parts, ", "));
}

std::string Account::lines() const {
  size_t width = 0;
  for (const auto& note : notes) width = std::max(width, note.theirs.size());
  std::string text;
  for (const auto& note : notes) {
    std::string more;
    if (!note.ours.empty() && note.ours != note.theirs) more += "  -> " + note.ours;
    if (!note.detail.empty()) more += "  (" + note.detail + ")";
    const auto padded = more.empty() ? 0 : width;
    text += fmt::format("{:<9}  {:<{}}{}\n", status_name(note.status), note.theirs, padded, more);
  }
  return text;
}

Account joined_accounts(const Account& mapped, const Account& loaded) {
  std::map<std::string, const TensorNote*> by_name;
  for (const auto& note : loaded.notes) by_name[note.ours] = &note;
  Account result;
  std::set<std::string> mapped_names;
  for (auto note : mapped.notes) {
    mapped_names.insert(note.ours);
    const auto found = by_name.find(note.ours);
    if (!note.ours.empty() && found != by_name.end() &&
        found->second->status != LoadStatus::Loaded) {
      note.status = found->second->status;
      note.detail += (note.detail.empty() ? "" : "; ") + found->second->detail;
    }
    result.notes.push_back(std::move(note));
  }
  for (const auto& note : loaded.notes)
    if (!mapped_names.contains(note.ours)) result.notes.push_back(note);
  return result;
}

}  // namespace vitrine
