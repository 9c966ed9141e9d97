#include "vitrine/data/palette_batches.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/core/files.h"
#include "vitrine/core/random.h"
#include "vitrine/formats/npy.h"

namespace vitrine {
namespace {

constexpr uint64_t kPixelKey = 0x706978656c;
constexpr int64_t kImages = 2048, kPixelsPerImage = 64;  // k-means looks at no more

class PaletteBatches : public BatchSource {
 public:
  PaletteBatches(std::shared_ptr<BatchSource> images, const Palette& palette)
      : images_(std::move(images)), palette_(palette) {}

  int64_t size() const override { return images_->size(); }
  Batch load(const std::vector<int64_t>& indices, int64_t epoch) const override {
    const auto tokens = palette_tokens(images_->load(indices, epoch).inputs, palette_);
    return {tokens, tokens};
  }

 private:
  std::shared_ptr<BatchSource> images_;
  Palette palette_;
};

/// Pixels of some images, three values each.
std::vector<float> some_pixels(const BatchSource& images) {
  auto order = permutation(images.size(), Random{kPixelKey});
  order.resize(static_cast<size_t>(std::min(images.size(), kImages)));
  std::vector<float> pixels;
  for (const auto index : order) {
    const auto image = images.load({index}, /*epoch=*/-1).inputs[0].flatten(1);  // (3, H * W)
    const auto values = image.accessor<float, 2>();
    Random random{kPixelKey, static_cast<uint64_t>(index)};
    for (int64_t i = 0; i < kPixelsPerImage; ++i) {
      const auto at = random.below(image.size(1));
      for (int c = 0; c < 3; ++c) pixels.push_back(values[c][at]);
    }
  }
  return pixels;
}

Palette read_palette(const PaletteConfig& config) {
  const auto colors = parse_npy(read_file(config.file), config.file);
  check(colors.dim() == 2 && colors.size(0) == config.colors && colors.size(1) == 3,
        "data: palette.file {} holds {} numbers, and palette.colors {} wants {}x3", config.file,
        fmt::join(colors.sizes(), "x"), config.colors, config.colors);
  return palette_of(colors);
}

Palette choose_palette(const BatchSource& train, const PaletteConfig& config) {
  if (!config.known.empty()) return Palette(config.known);
  return config.file.empty() ? fit_palette(some_pixels(train), config.colors)
                             : read_palette(config);
}

}  // namespace

torch::Tensor palette_tokens(const torch::Tensor& images, const Palette& palette) {
  const auto pixels = images.flatten(2).contiguous();  // (B, 3, H * W)
  const auto B = pixels.size(0), T = pixels.size(2);
  auto tokens = torch::empty({B, T}, torch::kLong);
  const auto in = pixels.accessor<float, 3>();
  auto out = tokens.accessor<int64_t, 2>();
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < T; ++t)
      out[b][t] = palette.nearest(in[b][0][t], in[b][1][t], in[b][2][t]);
  return tokens;
}

Palette palette_of(const torch::Tensor& colors) {
  const auto values = colors.to(torch::kCPU, torch::kFloat).contiguous();
  return Palette({values.data_ptr<float>(), values.data_ptr<float>() + values.numel()});
}

torch::Tensor palette_tensor(const Palette& palette) {
  return torch::tensor(palette.colors(), torch::kFloat).view({palette.size(), 3});
}

Splits palette_splits(Splits images, const PaletteConfig& config) {
  const auto palette = choose_palette(*images.train, config);
  Splits splits;
  splits.task = Task::NextToken;
  splits.vocabulary = palette.size();
  splits.palette = palette;
  for (const auto split : {Split::Train, Split::Validation, Split::Test})
    splits.get(split) = std::make_unique<PaletteBatches>(std::move(images.get(split)), palette);
  return splits;
}

}  // namespace vitrine
