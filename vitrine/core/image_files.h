#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "vitrine/core/files.h"
#include "vitrine/core/image.h"

namespace vitrine {

/// The RGB image in a JPEG, PNG or WebP file's bytes, told apart by content. Grey becomes RGB,
/// 16 bits become 8, transparent parts are laid on white. Anything else, broken data and sizes that
/// are absurd, also for so few bytes, throw an `Error` that starts with `name`. With `enough` a
/// JPEG is decoded at 1/2, 1/4 or 1/8 of its size if its short side has as many pixels even so,
/// which takes a fraction of the time.
Image decode_image(std::string_view bytes, const std::string& name,
                   std::optional<int64_t> enough = {});

struct ImageSize {
  int64_t width = 0, height = 0;

  int64_t pixels() const { return width * height; }
};

/// The size that the header of a JPEG, PNG or WebP file states, before anything is decoded; nothing
/// if there is none to find.
std::optional<ImageSize> stated_image_size(std::string_view bytes);

/// `decode_image` of a file.
Image read_image(const fs::path& path, std::optional<int64_t> enough = {});

/// The extension in lower case: ".png".
std::string lower_extension(const fs::path& path);

/// Whether the name ends as those of JPEG, PNG and WebP files do.
bool has_image_extension(const fs::path& path);

/// The bytes of a PNG file with this image (RGB or grey).
std::string encode_png(const Image& image);

/// Writes a PNG file atomically.
void write_png(const fs::path& path, const Image& image);

}  // namespace vitrine
