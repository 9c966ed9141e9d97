#include "vitrine/train/metrics.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "vitrine/core/error.h"
#include "vitrine/core/file_writing.h"

namespace vitrine {
namespace {

constexpr const char* kStep = "step";

/// Nothing if the line is incomplete.
std::optional<MetricsLine> parsed(const std::string& text) {
  const auto j = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!j.is_object() || !j.contains("kind") || !j["kind"].is_string()) return std::nullopt;
  const auto number = [&](const char* key) {
    return j.contains(key) && j[key].is_number() ? j[key].get<double>() : 0;
  };
  const auto count = [&](const char* key) {
    return j.contains(key) && j[key].is_number_integer() ? j[key].get<int64_t>() : 0;
  };
  MetricsLine line{j["kind"], count("epoch"), count("step"), number("time")};
  for (const auto& [key, value] : j.items())
    if (value.is_number() && key != "epoch" && key != "step" && key != "time")
      line.values.emplace_back(key, value.get<double>());
  return line;
}

}  // namespace

MetricsFile::MetricsFile(fs::path path, int64_t keep_bytes) : path_(std::move(path)) {
  if (!fs::exists(path_)) write_file_atomically(path_, "");  // so that the disk has its name
  std::error_code error;
  if (keep_bytes >= 0 && bytes() > keep_bytes)
    fs::resize_file(path_, static_cast<uintmax_t>(keep_bytes), error);
  check(!error, "metrics: cannot shorten {}: {}", path_.string(), error.message());
}

void MetricsFile::add(const MetricsLine& line) {
  nlohmann::ordered_json j = {
      {"kind", line.kind}, {"epoch", line.epoch}, {"step", line.step}, {"time", line.time}};
  for (const auto& [name, value] : line.values) j[name] = value;
  WritableFile file(path_, WritableFile::Mode::Append);
  file.write(j.dump() + "\n");
  file.close();
}

void MetricsFile::sync() const {
  WritableFile file(path_, WritableFile::Mode::Append);
  file.sync();
  file.close();
}

int64_t MetricsFile::bytes() const {
  std::error_code error;
  const auto size = fs::file_size(path_, error);
  return error ? 0 : static_cast<int64_t>(size);
}

std::vector<MetricsLine> read_metrics(const fs::path& path, int64_t steps) {
  std::ifstream in(path);
  check(in.is_open(), "cannot read {}", path.string());
  std::vector<MetricsLine> lines;
  int64_t seen = 0, kept = 0, every = 1;  // lines of steps
  for (std::string text; std::getline(in, text);) {
    auto line = parsed(text);
    if (!line) continue;
    if (line->kind == kStep) {
      if (seen++ % every != 0) continue;
      ++kept;
    }
    lines.push_back(std::move(*line));
    if (kept <= 2 * steps) continue;
    int64_t i = 0;
    kept -= static_cast<int64_t>(std::erase_if(
        lines, [&](const MetricsLine& l) { return l.kind == kStep && i++ % 2 != 0; }));
    every *= 2;
  }
  return lines;
}

}  // namespace vitrine
