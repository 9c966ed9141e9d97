#pragma once

// The JSON files in the folders that timm and Hugging Face publish: config.json, which describes
// the model, and preprocessor_config.json, which describes its images.

#include <optional>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/data/config.h"

namespace vitrine {

/// A setting of the model and the entry of config.json that makes it: ("dim", "768",
/// "hidden_size").
struct HubSetting {
  std::string key, value, entry;
};

/// What the JSON files of a folder say; nothing if there are none.
struct HubConfig {
  std::vector<HubSetting> settings{};
  std::optional<Preprocess> preprocess{};  // for the image size of the config
  std::vector<std::string> classes{};
};

/// What a name such as "swinv2_base_window12to16_192to256" says of a Swin: window, image and, where
/// it was fine-tuned at another size, pretrained_windows. Nothing of other names.
std::vector<HubSetting> swin_name_settings(const std::string& name);

/// Reads the JSON files. What cannot be honoured throws and names the entry.
HubConfig read_hub_config(const fs::path& folder);

}  // namespace vitrine
