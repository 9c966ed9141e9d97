// The next token of a sequence: logits (B, T, N), targets (B, T) int64, some of them kIgnoreIndex.
// Tokens are words, whose perplexity is reported, bytes, with bits per dim, or colours of a
// palette, with bits per token: a colour stands for several bytes and not for all of their values,
// so its bits are no bits per dim. The loss is in nats per token.
#include <torch/torch.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "vitrine/core/error.h"
#include "vitrine/models/decoder.h"
#include "vitrine/models/model.h"
#include "vitrine/train/bits_per_dim.h"
#include "vitrine/train/objective.h"

namespace vitrine {
namespace {

/// Bits per dim of images by channel and by row.
class ByteImageReport : public Report {
 public:
  explicit ByteImageReport(const ImageLayout& layout) : bits_(layout) {}

  void add(const torch::Tensor& output, const torch::Tensor& targets,
           std::span<const int64_t> /*indices*/) override {
    bits_.add(output, targets);
  }
  std::string text() const override { return bits_per_dim_text(bits_); }
  nlohmann::ordered_json json() const override {
    return {{"channels", bits_.channels()}, {"rows", bits_.rows()}};
  }
  void save(const fs::path& folder) const override {
    write_file_atomically(folder / "bits_per_dim.txt", text());
  }

 private:
  ImageBitsPerDim bits_;
};

class NextToken : public OutputObjective {
 public:
  NextToken(const Splits& data, double label_smoothing)
      : OutputObjective(label_smoothing),
        words_(!data.classes.empty()),
        colors_(data.palette.has_value()),
        image_layout_(data.image_layout) {}

  std::vector<Metric> metrics() const override { return {loss_metric(), derived()}; }
  Metric selection_metric() const override { return words_ ? loss_metric() : derived(); }
  int64_t target_count(const torch::Tensor& targets) const override {
    return targets.ne(kIgnoreIndex).sum().item<int64_t>();
  }
  Metrics derived_metrics(double mean_loss) const override {
    return {{derived().name, words_ ? std::exp(mean_loss) : mean_loss / std::numbers::ln2}};
  }
  std::unique_ptr<Report> make_report() const override {
    return image_layout_ ? std::make_unique<ByteImageReport>(*image_layout_) : nullptr;
  }

 protected:
  torch::Tensor output_loss(const torch::Tensor& output, const torch::Tensor& targets,
                            double smoothing) const override {
    check(output.dim() == 3 && output.sizes().slice(0, 2) == targets.sizes(),
          "next token: output {} does not fit targets {}", fmt::join(output.sizes(), "x"),
          fmt::join(targets.sizes(), "x"));
    return cross_entropy(output.flatten(0, 1), targets.flatten(), smoothing);
  }

 private:
  Metric derived() const {
    return words_ ? Metric{.name = "perplexity", .log_scale = true}
                  : Metric{.name = colors_ ? "bits_per_token" : "bits_per_dim"};
  }

  bool words_, colors_;
  std::optional<ImageLayout> image_layout_;
};

/// Where the targets are the inputs themselves, a model must not look at the token it predicts.
void check_hidden(Model& model, const Batch& batch) {
  if (!batch.inputs.equal(batch.targets)) return;
  const bool was_training = model.is_training();
  model.eval();
  auto changed = batch.inputs.clone();
  changed.select(1, -1).bitwise_xor_(1);
  const bool hidden =
      model.forward(batch.inputs).select(1, -1).equal(model.forward(changed).select(1, -1));
  model.train(was_training);
  check(hidden,
        "train: the model predicts the token after each, but the data asks for the token itself; "
        "choose a model whose name begins with sparse_ or igpt_");
}

/// Colours have to be painted, so they are for models that know a palette.
void check_palette_fits(Model& model, const Splits& data) {
  const bool painter = model.decoder() != nullptr && model.decoder()->palette().defined();
  check(!painter || data.palette,
        "train: the model predicts colours of a palette, and the data has none; set "
        "data.palette.colors={}",
        painter ? model.decoder()->vocabulary() : 0);
  check(painter || !data.palette,
        "train: data.palette.colors makes colours of the images, and the model does not know them; "
        "choose a model whose name begins with igpt_");
  if (!painter) return;
  const auto pixels = data.train->load({0}, /*epoch=*/-1).inputs.size(1);
  check(pixels == model.decoder()->context(),
        "train: the images of the data have {} pixels, those of the model {}; set "
        "data.preprocess.image={}",
        pixels, model.decoder()->context(), model.decoder()->image_layout()->rows);
}

/// The data's tokens and the length of its sequences must be those of the model.
void check_tokens(Model& model, const Splits& data) {
  const torch::NoGradGuard no_grad;
  check_palette_fits(model, data);
  const auto known = model.forward(model.example_input(1)).size(-1);
  check(
      known == data.vocabulary,
      "train: the model knows {} tokens, the data has {}; set model.{}={}, or choose a model with "
      "that vocabulary",
      known, data.vocabulary, data.palette ? "colors" : "vocabulary", data.vocabulary);
  try_example(model, data);
  check_hidden(model, data.train->load({0}, /*epoch=*/-1));
}

}  // namespace

TaskEntry next_token_task() {
  return {.task = Task::NextToken,
          .models = "word_transformer, or a model whose name begins with sparse_ or igpt_",
          .objective = [](const Splits& data,
                          const ObjectiveSettings& settings) -> std::unique_ptr<Objective> {
            return std::make_unique<NextToken>(data, settings.label_smoothing);
          },
          .check_fit = check_tokens,
          .random_targets =
              [](const torch::Tensor& output) {
                const auto options = torch::TensorOptions(torch::kLong).device(output.device());
                return torch::randint(output.size(2), {output.size(0), output.size(1)}, options);
              }};
}

}  // namespace vitrine
