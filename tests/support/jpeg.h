#pragma once

#include <cstdio>  // before jpeglib.h, which needs FILE
#include <cstdlib>
#include <string>
#include <vector>

#include <jpeglib.h>

#include "vitrine/core/image.h"

namespace vitrine::test {

/// An RGB image as the bytes of a JPEG file; with `scans` a progressive one.
inline std::string encode_jpeg(const Image& image, const std::vector<jpeg_scan_info>& scans = {}) {
  jpeg_error_mgr errors;
  jpeg_compress_struct jpeg;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = static_cast<JDIMENSION>(image.width);
  jpeg.image_height = static_cast<JDIMENSION>(image.height);
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  if (!scans.empty()) jpeg.scan_info = scans.data();
  jpeg.num_scans = static_cast<int>(scans.size());
  jpeg_start_compress(&jpeg, TRUE);
  for (int64_t y = 0; y < image.height; ++y) {
    auto* line = const_cast<uint8_t*>(image.pixels.data()) + 3 * y * image.width;
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string text(reinterpret_cast<const char*>(bytes), size);
  jpeg_destroy_compress(&jpeg);
  std::free(bytes);
  return text;
}

}  // namespace vitrine::test
