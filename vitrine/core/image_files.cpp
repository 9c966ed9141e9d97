#include "vitrine/core/image_files.h"

#include <png.h>
#include <webp/decode.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>  // before jpeglib.h, which needs FILE
#include <cstring>

#include <jpeglib.h>

#include <jerror.h>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

constexpr int64_t kMaxPixels = int64_t{1} << 27;  // 134 megapixels: 400 MB as RGB
constexpr int64_t kLongestSide = 65535;
// A few bytes can claim any size, and memory is taken before they are decoded. Any file may ask for
// these 61 MB (as RGBA), a larger image must be that of a file which can hold one.
constexpr int64_t kFreePixels = 16'000'000, kPixelsPerByte = 256;
constexpr uint64_t kLargestImageFile = uint64_t{1} << 30;

void check_size(const std::string& name, int64_t width, int64_t height, size_t file_bytes) {
  check(width > 0 && height > 0 && width <= kLongestSide && height <= kLongestSide &&
            width * height <= kMaxPixels,
        "{}: an image of {} x {} pixels is not accepted (at most {} megapixels)", name, width,
        height, kMaxPixels / 1000000);
  const auto pixels = width * height;
  check(
      pixels <= kFreePixels || pixels / kPixelsPerByte <= static_cast<int64_t>(file_bytes),
      "{}: an image of {} x {} pixels in {} bytes is not accepted (more than {} pixels per byte); "
      "make it smaller",
      name, width, height, file_bytes, kPixelsPerByte);
}

/// RGB over white.
Image without_alpha(const std::vector<uint8_t>& rgba, int64_t width, int64_t height) {
  Image image(width, height);
  for (int64_t i = 0; i < width * height; ++i) {
    const int alpha = rgba[4 * i + 3];
    for (int c = 0; c < 3; ++c)
      image.pixels[3 * i + c] =
          static_cast<uint8_t>((rgba[4 * i + c] * alpha + 255 * (255 - alpha) + 127) / 255);
  }
  return image;
}

// libpng and libjpeg report errors by longjmp, which skips destructors: what must be destroyed
// lives in a struct that the caller of the jumping function owns.

struct PngReading {
  std::string_view rest;
  std::string message = "broken data";
  std::vector<uint8_t> rgba;
  std::vector<png_bytep> rows;
  png_structp png = nullptr;
  png_infop info = nullptr;

  PngReading() = default;
  PngReading(const PngReading&) = delete;
  PngReading& operator=(const PngReading&) = delete;
  ~PngReading() { png_destroy_read_struct(&png, &info, nullptr); }
};

void png_failed(png_structp png, png_const_charp text) {
  static_cast<PngReading*>(png_get_error_ptr(png))->message = text;
  png_longjmp(png, 1);
}

void png_warned(png_structp, png_const_charp) {}

void png_take(png_structp png, png_bytep to, size_t count) {
  auto& rest = static_cast<PngReading*>(png_get_io_ptr(png))->rest;
  if (count > rest.size()) png_error(png, "the file ends too early");
  std::memcpy(to, rest.data(), count);
  rest.remove_prefix(count);
}

bool read_png_header(PngReading& r) {
  if (setjmp(png_jmpbuf(r.png))) return false;
  png_set_read_fn(r.png, &r, png_take);
  png_read_info(r.png, r.info);
  return true;
}

/// Reads the header; false if it is not readable.
bool open_png(PngReading& r, std::string_view bytes) {
  r.rest = bytes;
  r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, png_failed, png_warned);
  r.info = png_create_info_struct(r.png);
  return read_png_header(r);
}

ImageSize size_of(const PngReading& r) {
  return {png_get_image_width(r.png, r.info), png_get_image_height(r.png, r.info)};
}

bool read_png_pixels(PngReading& r) {
  if (setjmp(png_jmpbuf(r.png))) return false;
  png_set_expand(r.png);
  png_set_scale_16(r.png);
  png_set_gray_to_rgb(r.png);
  png_set_add_alpha(r.png, 0xFF, PNG_FILLER_AFTER);
  png_set_interlace_handling(r.png);
  png_read_update_info(r.png, r.info);
  png_read_image(r.png, r.rows.data());
  png_read_end(r.png, nullptr);
  return true;
}

Image decode_png(std::string_view bytes, const std::string& name) {
  PngReading r;
  check(open_png(r, bytes), "{}: not a readable PNG file: {}", name, r.message);
  const auto [width, height] = size_of(r);
  check_size(name, width, height, bytes.size());
  r.rgba.resize(width * height * 4);
  for (int64_t y = 0; y < height; ++y) r.rows.push_back(r.rgba.data() + y * width * 4);
  check(read_png_pixels(r), "{}: not a readable PNG file: {}", name, r.message);
  return without_alpha(r.rgba, width, height);
}

/// A progressive JPEG has ten to twenty scans, each of which may cost as much time as the whole
/// image. The larger the image, the fewer are accepted.
int most_scans(int64_t pixels) {
  constexpr int64_t kFewest = 20, kMost = 100, kPixelsInAll = 400'000'000;
  return static_cast<int>(std::clamp(kPixelsInAll / std::max<int64_t>(pixels, 1), kFewest, kMost));
}

struct JpegReading {
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  jpeg_decompress_struct jpeg;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = "broken data";
  std::vector<uint8_t> row;
  Image image;

  JpegReading() {
    jpeg.err = jpeg_std_error(&errors);
    jpeg.client_data = this;
    errors.error_exit = [](j_common_ptr c) {
      auto* self = static_cast<JpegReading*>(c->client_data);
      c->err->format_message(c, self->message);
      std::longjmp(self->jump, 1);
    };
    // Missing data is only a warning to libjpeg, which would fill in grey.
    errors.emit_message = [](j_common_ptr c, int) {
      if (c->err->msg_code == JWRN_JPEG_EOF || c->err->msg_code == JWRN_HIT_MARKER)
        c->err->error_exit(c);
    };
    jpeg_create_decompress(&jpeg);
    progress.progress_monitor = [](j_common_ptr c) {
      auto* self = static_cast<JpegReading*>(c->client_data);
      const int most = most_scans(int64_t{self->jpeg.image_width} * self->jpeg.image_height);
      if (self->jpeg.input_scan_number <= most) return;
      std::snprintf(self->message, sizeof self->message, "more than %d scans", most);
      std::longjmp(self->jump, 1);
    };
    jpeg.progress = &progress;
  }
  JpegReading(const JpegReading&) = delete;
  JpegReading& operator=(const JpegReading&) = delete;
  ~JpegReading() { jpeg_destroy_decompress(&jpeg); }
};

/// By how much libjpeg may divide both sides, so that the short one keeps `enough` pixels.
unsigned int jpeg_divisor(int64_t width, int64_t height, std::optional<int64_t> enough) {
  unsigned int divisor = 8;
  while (divisor > 1 && (!enough || std::min(width, height) / divisor < *enough)) divisor /= 2;
  return divisor;
}

bool read_jpeg_header(JpegReading& r, std::string_view bytes, std::optional<int64_t> enough = {}) {
  if (setjmp(r.jump)) return false;
  jpeg_mem_src(&r.jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&r.jpeg, TRUE);
  const bool four = r.jpeg.num_components == 4;
  r.jpeg.out_color_space = four ? JCS_CMYK : JCS_RGB;
  r.jpeg.scale_num = 1;
  r.jpeg.scale_denom = jpeg_divisor(r.jpeg.image_width, r.jpeg.image_height, enough);
  jpeg_calc_output_dimensions(&r.jpeg);
  return true;
}

bool read_jpeg_pixels(JpegReading& r) {
  if (setjmp(r.jump)) return false;
  jpeg_start_decompress(&r.jpeg);
  const bool four = r.jpeg.out_color_space == JCS_CMYK;
  while (r.jpeg.output_scanline < r.jpeg.output_height) {
    uint8_t* to = r.image.at(0, r.jpeg.output_scanline);
    uint8_t* row = four ? r.row.data() : to;
    jpeg_read_scanlines(&r.jpeg, &row, 1);
    if (!four) continue;
    for (int64_t x = 0; x < r.image.width; ++x)  // Adobe's inverted CMYK
      for (int c = 0; c < 3; ++c)
        to[3 * x + c] = static_cast<uint8_t>(row[4 * x + c] * row[4 * x + 3] / 255);
  }
  jpeg_finish_decompress(&r.jpeg);
  return true;
}

Image decode_jpeg(std::string_view bytes, const std::string& name, std::optional<int64_t> enough) {
  JpegReading r;
  check(read_jpeg_header(r, bytes, enough), "{}: not a readable JPEG file: {}", name, r.message);
  const int64_t width = r.jpeg.image_width, height = r.jpeg.image_height;
  check_size(name, width, height, bytes.size());
  r.image = Image(r.jpeg.output_width, r.jpeg.output_height);
  r.row.resize(4 * r.image.width);
  check(read_jpeg_pixels(r), "{}: not a readable JPEG file: {}", name, r.message);
  return std::move(r.image);
}

Image decode_webp(std::string_view bytes, const std::string& name) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  int width = 0, height = 0;
  check(WebPGetInfo(data, bytes.size(), &width, &height), "{}: not a readable WebP file", name);
  check_size(name, width, height, bytes.size());
  std::vector<uint8_t> rgba(int64_t{4} * width * height);
  check(WebPDecodeRGBAInto(data, bytes.size(), rgba.data(), rgba.size(), 4 * width),
        "{}: not a readable WebP file: broken or cut short", name);
  return without_alpha(rgba, width, height);
}

bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }
bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xFF\xD8\xFF"); }

}  // namespace

std::optional<ImageSize> stated_image_size(std::string_view bytes) {
  if (is_png(bytes)) {
    PngReading r;
    return open_png(r, bytes) ? std::optional(size_of(r)) : std::nullopt;
  }
  if (is_jpeg(bytes)) {
    JpegReading r;
    if (!read_jpeg_header(r, bytes)) return std::nullopt;
    return ImageSize{r.jpeg.image_width, r.jpeg.image_height};
  }
  int width = 0, height = 0;
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  if (!WebPGetInfo(data, bytes.size(), &width, &height)) return std::nullopt;
  return ImageSize{width, height};
}

Image decode_image(std::string_view bytes, const std::string& name, std::optional<int64_t> enough) {
  if (is_png(bytes)) return decode_png(bytes, name);
  if (is_jpeg(bytes)) return decode_jpeg(bytes, name, enough);
  if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP"))
    return decode_webp(bytes, name);
  check(!bytes.empty(), "{}: the file is empty, expected a JPEG, PNG or WebP image", name);
  fail("{}: not a JPEG, PNG or WebP image, whatever its name says; replace or remove it", name);
}

std::string lower_extension(const fs::path& path) {
  auto extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension;
}

bool has_image_extension(const fs::path& path) {
  const auto extension = lower_extension(path);
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png" || extension == ".webp";
}

Image read_image(const fs::path& path, std::optional<int64_t> enough) {
  return decode_image(read_file(path, kLargestImageFile), path.string(), enough);
}

std::string encode_png(const Image& image) {
  check(image.channels == 1 || image.channels == 3, "png: {} channels, expected 1 or 3",
        image.channels);
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = image.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string bytes(size, '\0');
  const bool done = png_image_write_to_memory(&png, bytes.data(), &size, /*convert_to_8bit=*/0,
                                              image.pixels.data(), /*row_stride=*/0, nullptr);
  check(done, "png: {}", png.message);
  bytes.resize(size);
  return bytes;
}

void write_png(const fs::path& path, const Image& image) {
  write_file_atomically(path, encode_png(image));
}

}  // namespace vitrine
