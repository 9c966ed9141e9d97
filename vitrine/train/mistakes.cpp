#include "vitrine/train/mistakes.h"

#include <torch/torch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/data/resize.h"
#include "vitrine/plot/figure.h"

namespace vitrine {
namespace {

constexpr double kShownSize = 128;  // pixels of an image's longer side on the sheet

}  // namespace

MistakesReport::MistakesReport(std::shared_ptr<const Dataset> data, int64_t count, std::string name,
                               std::string title)
    : data_(std::move(data)), count_(count), name_(std::move(name)), title_(std::move(title)) {}

void MistakesReport::add(const torch::Tensor& output, const torch::Tensor& targets,
                         std::span<const int64_t> indices) {
  const auto log_shares = output.to(torch::kCPU, torch::kDouble).log_softmax(1);  // (B, N)
  const auto truths = targets.cpu();
  const auto [best, predicted] = log_shares.max(1);
  for (int64_t i = 0; i < truths.size(0); ++i) {
    const auto truth = truths[i].item<int64_t>(), answer = predicted[i].item<int64_t>();
    if (truth == answer) continue;
    worst_.push_back({indices[i], truth, answer, std::exp(best[i].item<double>()),
                      -log_shares[i][truth].item<double>()});
  }
  std::stable_sort(worst_.begin(), worst_.end(),
                   [](const Mistake& a, const Mistake& b) { return a.loss > b.loss; });
  if (std::ssize(worst_) > count_) worst_.resize(count_);
}

std::string MistakesReport::text() const {
  if (worst_.empty()) return "no mistakes\n";
  size_t width = std::string_view("predicted").size();
  for (const auto& m : worst_)
    width = std::max({width, class_name(m.truth).size(), class_name(m.predicted).size()});
  auto text = fmt::format("{:>7}  {:<{}}  {:<{}} {:>8} {:>8}  {}\n", "example", "true", width,
                          "predicted", width, "%", "loss", "file");
  for (const auto& m : worst_)
    text += fmt::format("{:>7}  {:<{}}  {:<{}} {:>8.2f} {:>8.3f}  {}\n", m.index,
                        class_name(m.truth), width, class_name(m.predicted), width,
                        100 * m.probability, m.loss, data_->file(m.index));
  return text;
}

nlohmann::ordered_json MistakesReport::json() const {
  auto list = nlohmann::ordered_json::array();
  for (const auto& m : worst_) {
    nlohmann::ordered_json row = {{"index", m.index},
                                  {"label", class_name(m.truth)},
                                  {"predicted", class_name(m.predicted)},
                                  {"probability", m.probability},
                                  {"loss", m.loss}};
    if (const auto file = data_->file(m.index); !file.empty()) row["file"] = file;
    list.push_back(std::move(row));
  }
  return {{"mistakes", list}};
}

void MistakesReport::save(const fs::path& folder) const {
  if (worst_.empty()) return;
  plot::Figure figure{.title = title_};
  for (const auto& m : worst_)
    figure.panels.push_back(
        plot::ImagePanel{.title = fmt::format("{} → {} ({:.0f} %)", class_name(m.truth),
                                              class_name(m.predicted), 100 * m.probability),
                         .image = thumbnail(data_->get(m.index).image),
                         .size = kShownSize});
  figure.save(sheet(folder));
}

}  // namespace vitrine
