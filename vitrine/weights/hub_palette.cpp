#include "vitrine/weights/hub_palette.h"

#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/data/palette_batches.h"
#include "vitrine/formats/npy.h"

namespace vitrine {

std::optional<Palette> read_hub_palette(const fs::path& folder) {
  const auto processor = folder / "preprocessor_config.json",
             clusters = folder / "kmeans_centers.npy";
  if (fs::exists(processor)) {
    try {
      const auto root = nlohmann::json::parse(read_file(processor));
      if (root.is_object() && root.contains("clusters")) {
        std::vector<float> colors;
        for (const auto& color : root["clusters"]) {
          const auto values = color.get<std::vector<float>>();
          check(values.size() == 3, "import: a colour of clusters has {} values, not 3",
                values.size());
          colors.insert(colors.end(), values.begin(), values.end());
        }
        return Palette(std::move(colors));
      }
    } catch (const nlohmann::json::exception& e) {
      fail("import: {} cannot be read: {}", processor.string(), e.what());
    }
  }
  if (!fs::exists(clusters)) return std::nullopt;
  const auto colors = parse_npy(read_file(clusters), clusters.string());
  check(colors.dim() == 2 && colors.size(1) == 3, "import: {} is {}, and colours are (n, 3)",
        clusters.string(), fmt::join(colors.sizes(), "x"));
  return palette_of(colors);
}

}  // namespace vitrine
