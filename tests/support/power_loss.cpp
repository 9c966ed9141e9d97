#include "tests/support/power_loss.h"

#include <algorithm>

#include "vitrine/core/error.h"

namespace vitrine::test {
namespace {

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().string(); }

}  // namespace

PowerLoss::PowerLoss(const fs::path& folder) : root_(fs::canonical(folder).string()) {}

std::vector<std::string> PowerLoss::Node::possible_data() const {
  std::set<std::string> possible = {on_disk, written};
  if (written.size() > on_disk.size()) {
    possible.insert(written.substr(0, (on_disk.size() + written.size()) / 2));
    possible.insert(on_disk + std::string(written.size() - on_disk.size(), '\0'));
  }
  return {possible.begin(), possible.end()};
}

size_t PowerLoss::new_node(bool is_folder) {
  nodes_.push_back({.is_folder = is_folder});
  return nodes_.size() - 1;
}

void PowerLoss::make(Names& names, const NameChange& change) {
  for (const auto& [path, node] : change.names) {
    if (node)
      names[path] = *node;
    else
      names.erase(path);
  }
}

void PowerLoss::change(NameChange change) {
  make(now_, change);
  pending_.push_back(std::move(change));
}

void PowerLoss::sync(const std::string& path) {
  if (path != root_ && !nodes_[now_.at(path)].is_folder) {
    auto& file = nodes_[now_.at(path)];
    file.on_disk = file.written;
    return;
  }
  std::erase_if(pending_, [&](const auto& change) {
    if (change.folder != path) return false;
    make(on_disk_, change);
    return true;
  });
}

void PowerLoss::apply(const FileCall& call) {
  using Kind = FileCall::Kind;
  const auto& path = call.path;
  switch (call.kind) {
    case Kind::Open:
      if (!call.for_writing) return;
      if (!now_.contains(path)) change({folder_of(path), {{path, new_node(false)}}});
      if (call.empties) nodes_[now_.at(path)].written.clear();
      return;
    case Kind::Write:
      nodes_[now_.at(path)].written += call.bytes;
      return;
    case Kind::Truncate:
      nodes_[now_.at(path)].written.resize(call.size);
      return;
    case Kind::Sync:
      sync(path);
      return;
    case Kind::Rename:
      change({folder_of(path), {{call.target, now_.at(path)}, {path, std::nullopt}}});
      return;
    case Kind::Link:
      change({folder_of(path), {{call.target, now_.at(path)}}});
      return;
    case Kind::MakeFolder:
      change({folder_of(path), {{path, new_node(true)}}});
      return;
  }
}

std::vector<FolderContent> PowerLoss::contents_with(const Names& names) const {
  std::map<size_t, std::vector<std::string>> data;  // two names of one file hold the same
  for (const auto& [path, node] : names) data.emplace(node, nodes_[node].possible_data());
  std::vector<FolderContent> contents;
  std::map<size_t, size_t> choice;
  const auto next_choice = [&] {
    for (const auto& [node, possible] : data) {
      if (++choice[node] < possible.size()) return true;
      choice[node] = 0;
    }
    return false;
  };
  do {
    FolderContent content;  // paths are sorted: folders come before what is in them
    for (const auto& [path, node] : names) {
      const auto folder = folder_of(path);
      if (folder != root_ && !content.contains(folder.substr(root_.size() + 1) + "/")) continue;
      const auto name = path.substr(root_.size() + 1);
      if (nodes_[node].is_folder)
        content[name + "/"] = "";
      else
        content[name] = data.at(node)[choice[node]];
    }
    contents.push_back(std::move(content));
  } while (next_choice());
  return contents;
}

std::set<FolderContent> PowerLoss::possible_contents() const {
  constexpr size_t kMostPending = 12;
  check(pending_.size() <= kMostPending, "power loss: {} names may be on the disk or not",
        pending_.size());
  std::set<FolderContent> all;
  for (size_t kept = 0; kept < size_t{1} << pending_.size(); ++kept) {
    auto names = on_disk_;
    for (size_t i = 0; i < pending_.size(); ++i)
      if ((kept >> i & 1) != 0) make(names, pending_[i]);
    all.merge([&] {
      const auto contents = contents_with(names);
      return std::set<FolderContent>(contents.begin(), contents.end());
    }());
  }
  return all;
}

}  // namespace vitrine::test
