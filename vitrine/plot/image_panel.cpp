#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/plot/panel.h"

namespace vitrine::plot {
namespace {

double default_image_size(size_t panels) { return panels <= 4 ? 256 : panels <= 20 ? 160 : 96; }

class ImagePlan : public PanelPlan {
 public:
  ImagePlan(const ImagePanel& panel, const Shared& shared)
      : title_(panel.title),
        image_(panel.image),
        title_size_(shared.panels > 6 ? kSmallText : kPanelTitle) {
    if (panel.heat.rows > 0) {
      const auto range =
          shared.colors.value_or(color_range({&panel.heat}, panel.colors, panel.low, panel.high));
      // Enough pixels to show a smooth heat map over a small image.
      const auto factor = std::max<int64_t>(1, 256 / std::max(image_.width, image_.height));
      image_ = overlay(resize_nearest(image_, image_.width * factor, image_.height * factor),
                       panel.heat, panel.colors, range,
                       {.alpha = panel.alpha, .fade = panel.fade, .smooth = panel.smooth});
    }
    const double size = panel.size > 0 ? panel.size : default_image_size(shared.panels);
    const double scale = size / std::max(image_.width, image_.height);
    width_ = image_.width * scale;
    height_ = image_.height * scale;
  }

  Extent extent() const override {
    return {.width = width_,
            .height = height_,
            .top = title_height(title_, title_width(), title_size_)};
  }

  void draw(Canvas& canvas, const Rect& room) const override {
    const Rect inner{room.middle_x() - width_ / 2, room.top, width_, height_};
    canvas.image(inner, image_);
    canvas.frame(inner, kGridInk);
    draw_title(canvas, inner, title_, title_width(), title_size_);
  }

 private:
  double title_width() const { return std::max(width_ + 6, 60.0); }

  std::string title_;
  Image image_;
  double title_size_, width_ = 0, height_ = 0;
};

}  // namespace

std::unique_ptr<PanelPlan> plan(const ImagePanel& panel, const Shared& shared,
                                const std::string& who) {
  const auto& image = panel.image;
  check(image.width > 0 && image.height > 0, "{}: the image has no pixels", who);
  check(image.channels == 1 || image.channels == 3, "{}: the image has {} channels, not 1 or 3",
        who, image.channels);
  check(static_cast<int64_t>(image.pixels.size()) == image.width * image.height * image.channels,
        "{}: the image has {} bytes for {} x {} x {}", who, image.pixels.size(), image.width,
        image.height, image.channels);
  if (panel.heat.rows > 0) check_matrix(panel.heat, who);
  return std::make_unique<ImagePlan>(panel, shared);
}

}  // namespace vitrine::plot
