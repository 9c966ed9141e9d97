// Writes one figure of every kind to a folder, to be looked at: plot_gallery FOLDER

#include <cmath>
#include <cstdio>
#include <numbers>

#include "vitrine/core/error.h"
#include "vitrine/core/random.h"
#include "vitrine/plot/figure.h"
#include "vitrine/plot/page.h"

namespace vitrine::plot {
namespace {

const std::vector<std::string> kClasses = {"airplane", "automobile", "bird",  "cat",  "deer",
                                           "dog",      "frog",       "horse", "ship", "truck"};

Image sample_image(int64_t side, uint64_t seed) {
  Random random{seed};
  Image image(side, side);
  const double cx = random.uniform(0.3, 0.7) * side, cy = random.uniform(0.3, 0.7) * side;
  const Color ground = series_color(random.below(6)), thing = series_color(random.below(6) + 1);
  for (int64_t y = 0; y < side; ++y)
    for (int64_t x = 0; x < side; ++x) {
      const bool inside = std::hypot(x - cx, y - cy) < 0.28 * side;
      const Color color = inside ? thing : ground;
      const double shade = random.uniform(0.6, 1.0);
      uint8_t* pixel = image.at(x, y);
      pixel[0] = static_cast<uint8_t>(color.red * shade);
      pixel[1] = static_cast<uint8_t>(color.green * shade);
      pixel[2] = static_cast<uint8_t>(color.blue * shade);
    }
  return image;
}

Matrix attention(int64_t side, int64_t layer, int64_t head) {
  Matrix m{side, side, {}};
  Random random{7, static_cast<uint64_t>(layer), static_cast<uint64_t>(head)};
  const double shift = random.uniform(-6, 6), width = 1 + random.uniform() * (layer + 2);
  for (int64_t r = 0; r < side; ++r)
    for (int64_t c = 0; c < side; ++c)
      m.values.push_back(std::exp(-std::pow((r - c + shift) / width, 2)) * random.uniform(0.6, 1));
  return m;
}

std::vector<double> curve(int64_t n, double from, double to, double rate, double noise,
                          uint64_t seed) {
  Random random{seed};
  std::vector<double> y;
  for (int64_t i = 0; i < n; ++i)
    y.push_back(to + (from - to) * std::exp(-rate * i) + noise * random.normal());
  return y;
}

std::vector<double> epochs(int64_t n) {
  std::vector<double> x;
  for (int64_t i = 1; i <= n; ++i) x.push_back(static_cast<double>(i));
  return x;
}

std::vector<double> normals(int64_t n, double mean, double spread, uint64_t seed) {
  Random random{seed};
  std::vector<double> y;
  for (int64_t i = 0; i < n; ++i) y.push_back(mean + spread * random.normal());
  return y;
}

Figure training_curves() {
  const auto x = epochs(40);
  Chart chart{.title = "vit_tiny on CIFAR-10",
              .x = {.label = "epoch"},
              .y = {.label = "loss (nats)", .low = 0},
              .right = {.label = "accuracy (%)"}};
  chart.series = {
      {.name = "train loss", .x = x, .y = curve(40, 2.3, 0.4, 0.1, 0.01, 1), .color = 0},
      {.name = "validation loss",
       .x = x,
       .y = curve(40, 2.3, 0.7, 0.12, 0.03, 2),
       .stroke = Stroke::Dashed,
       .color = 0},
      {.name = "train accuracy",
       .x = x,
       .y = curve(40, 10, 90, 0.1, 0.5, 3),
       .right = true,
       .color = 1},
      {.name = "validation accuracy",
       .x = x,
       .y = curve(40, 10, 78, 0.12, 1.0, 4),
       .stroke = Stroke::Dashed,
       .right = true,
       .color = 1}};
  return {.title = "Training", .panels = {chart}};
}

Figure korean_curves() {
  const auto x = epochs(30);
  std::vector<double> band(30, 0.05);
  auto gap = curve(30, 2.0, 0.9, 0.15, 0.01, 8);
  gap[12] = gap[13] = gap[15] = gap[17] = std::nan("");
  Chart loss{.title = "손실 곡선 (표준편차 띠)", .x = {.label = "에포크"}, .y = {.label = "손실"}};
  loss.series = {
      {.name = "밀집 어텐션", .x = x, .y = curve(30, 2.2, 0.5, 0.15, 0.01, 5), .error = band},
      {.name = "희소 어텐션", .x = x, .y = gap, .error = band, .stroke = Stroke::Dotted}};
  Chart rate{.title = "학습률", .x = {.label = "에포크"}, .y = {.label = "학습률", .log = true}};
  rate.series = {
      {.name = "코사인", .x = x, .y = curve(30, 1e-3, 1e-6, 0.3, 0, 6), .markers = true},
      {.name = "상수", .x = x, .y = std::vector<double>(30, 3e-4), .stroke = Stroke::Dashed}};
  return {.title = "비전 트랜스포머 훈련 결과", .columns = 2, .panels = {loss, rate}};
}

Figure confusion_matrix() {
  Random random{3};
  HeatMap map{.title = "Confusion matrix, 10,000 test images",
              .values = {10, 10, {}},
              .row_names = kClasses,
              .column_names = kClasses,
              .x_label = "predicted class",
              .y_label = "true class",
              .colors = ColorMap::Blues,
              .annotate = true,
              .color_label = "images"};
  for (int64_t r = 0; r < 10; ++r)
    for (int64_t c = 0; c < 10; ++c)
      map.values.values.push_back(r == c ? 800 + random.below(150) : random.below(60));
  return {.panels = {map}};
}

Figure contact_sheet() {
  std::vector<Image> images;
  std::vector<std::string> titles;
  for (uint64_t i = 0; i < 40; ++i) {
    images.push_back(sample_image(32, i));
    titles.push_back(i % 7 == 3
                         ? "true: " + kClasses[i % 10] + ", seen as " + kClasses[(i * 3) % 10]
                         : kClasses[i % 10]);
  }
  titles[5] = "a_very_long_file_name_without_spaces_0001.jpeg";
  titles[8] = "비행기 {x}^2";
  return image_grid("Contact sheet: validation images", images, titles, 8);
}

Figure attention_maps() {
  Figure figure{.title = "Attention of vit_tiny: layers x heads",
                .columns = 8,
                .shared_colors = true,
                .color_label = "attention weight"};
  for (int64_t layer = 0; layer < 4; ++layer) {
    figure.row_names.push_back(fmt::format("layer {}", layer + 1));
    for (int64_t head = 0; head < 8; ++head)
      figure.panels.push_back(HeatMap{.values = attention(17, layer, head)});
  }
  for (int64_t head = 0; head < 8; ++head)
    figure.column_names.push_back(fmt::format("head {}", head + 1));
  return figure;
}

Figure overlays() {
  Figure figure{.title = "Attention rollout over the image", .columns = 4};
  const auto image = sample_image(32, 11);
  const auto heat = attention(8, 2, 1);
  figure.panels = {
      ImagePanel{.title = "image: frog", .image = image},
      ImagePanel{.title = "rollout, smooth", .image = image, .heat = heat},
      ImagePanel{.title = "rollout, per patch", .image = image, .heat = heat, .smooth = false},
      HeatMap{.title = "rollout",
              .values = heat,
              .colors = ColorMap::Inferno,
              .color_label = "weight",
              .size = 256}};
  return figure;
}

Figure bars() {
  Chart grouped{.title = "Accuracy by model and data set", .y = {.label = "accuracy (%)"}};
  grouped.x.names = {"ResNet-18", "LSTM", "ViT", "Swin"};
  grouped.series = {
      {.name = "CIFAR-10", .y = {93, 61, 84, 91}, .error = {0.5, 3, 1.5, 0.8}, .mark = Mark::Bars},
      {.name = "Fashion-MNIST",
       .y = {94, 88, 92, 93},
       .error = {0.4, 1, 0.6, 0.5},
       .mark = Mark::Bars},
      {.name = "digits", .y = {99, 97, 98, 99}, .error = {0.1, 0.3, 0.2, 0.2}, .mark = Mark::Bars}};
  Chart named{.title = "Per-class recall", .x = {.label = "class"}, .y = {.label = "recall"}};
  named.x.names = kClasses;
  named.series = {
      {.y = {0.9, 0.95, 0.8, 0.7, 0.83, 0.75, 0.92, 0.9, 0.94, 0.93}, .mark = Mark::Bars}};
  return {.columns = 2, .panels = {grouped, named}};
}

Figure distributions() {
  Chart histogram{
      .title = "Weights of the first layer", .x = {.label = "weight"}, .y = {.label = "count"}};
  histogram.series = {
      {.name = "at the start", .y = normals(4000, 0, 0.02, 1), .mark = Mark::Histogram},
      {.name = "trained", .y = normals(4000, 0.01, 0.05, 2), .mark = Mark::Histogram}};
  Chart boxes{.title = "Accuracy over 20 seeds", .y = {.label = "accuracy (%)"}};
  boxes.series = {{.name = "dense", .y = normals(20, 80, 1.5, 3), .mark = Mark::Box},
                  {.name = "banded", .y = normals(20, 79, 2, 4), .mark = Mark::Box},
                  {.name = "희소", .y = normals(40, 77, 1, 5), .mark = Mark::Box},
                  {.name = "linear", .y = normals(20, 74, 2.5, 6), .mark = Mark::Box}};
  boxes.series[2].y.push_back(70);
  boxes.series[2].y.push_back(84);
  return {.columns = 2, .panels = {histogram, boxes}};
}

Figure scatter() {
  Chart cost{.title = "Accuracy against cost",
             .x = {.label = "FLOPs per image", .log = true},
             .y = {.label = "accuracy (%)"}};
  for (int64_t k = 0; k < 3; ++k) {
    Series s{.name = std::vector<std::string>{"ViT", "Swin", "ResNet"}[k], .mark = Mark::Points};
    for (int64_t i = 0; i < 5; ++i) {
      s.x.push_back(std::pow(10.0, 7 + 0.6 * i + 0.1 * k));
      s.y.push_back(60 + 7 * i + 3 * k);
      s.error.push_back(1.5);
    }
    cost.series.push_back(s);
  }
  Chart plane{.title = "Class tokens in two dimensions (PCA)",
              .x = {.label = "component 1"},
              .y = {.label = "component 2"}};
  for (int64_t k = 0; k < 5; ++k)
    plane.series.push_back(
        {.name = kClasses[k],
         .x = normals(80, 3 * std::cos(k * 2 * std::numbers::pi / 5), 0.7, 2 * k),
         .y = normals(80, 3 * std::sin(k * 2 * std::numbers::pi / 5), 0.7, 2 * k + 1),
         .mark = Mark::Points});
  return {.columns = 2, .panels = {cost, plane}};
}

Figure heat_maps() {
  Matrix wave{12, 12, {}}, strip{3, 40, {}}, table{4, 5, {}};
  for (int64_t r = 0; r < 12; ++r)
    for (int64_t c = 0; c < 12; ++c)
      wave.values.push_back(r == 3 && c == 7 ? std::nan("")
                                             : std::sin(r * 0.7) * std::cos(c * 0.5));
  for (int64_t i = 0; i < 120; ++i) strip.values.push_back(i % 17);
  for (int64_t i = 0; i < 20; ++i) table.values.push_back(i / 19.0);
  return {
      .title = "Heat maps",
      .columns = 3,
      .panels = {
          HeatMap{.title = "Cosine similarity of positions",
                  .values = wave,
                  .x_label = "position",
                  .y_label = "position",
                  .colors = ColorMap::BlueRed,
                  .color_label = "cosine"},
          HeatMap{.title = "A flat one", .values = strip, .row_names = {"query", "key", "value"}},
          HeatMap{.title = "With numbers",
                  .values = table,
                  .row_names = {"층 1", "층 2", "층 3", "층 4"},
                  .column_names = {"a", "b", "c", "d", "e"},
                  .annotate = true}}};
}

Figure crowded() {
  Chart chart{.title = "Nine runs that fill the whole area, so the legend stands outside",
              .x = {.label = "step"},
              .y = {.label = "gradient norm"}};
  for (int64_t k = 0; k < 9; ++k)
    chart.series.push_back({.name = fmt::format("run_{} lr={{1e-{}}}", k, k),
                            .y = normals(200, 0, 1, 90 + k),
                            .stroke = k < 8 ? Stroke::Solid : Stroke::Dotted});
  return {.panels = {chart}};
}

Figure nasty_text() {
  const std::string nasty = R"(50% of `ls` $x @y {a}_b^c \n "q" 's' <&> #! ~|)";
  Chart chart{.title = nasty, .x = {.label = nasty}, .y = {.label = nasty}};
  chart.x.names = {"50%",  "%d %s", "a_b^c",         "{x}",     "`id`",
                   "it's", "\"q\"", "한글\n둘째 줄", "\xff\xfe"};
  chart.series = {{.name = nasty, .y = {1, 2, 3, 4, 5, 6, 7, 8, 9}, .mark = Mark::Bars}};
  return {.title = nasty, .panels = {chart}};
}

Page every_kind_of_block() {
  Page page("Vitrine 설명: vit_tiny", "ko");
  page.paragraph(
      "이 페이지는 그림과 표를 모두 담고 있어 인터넷 없이 열립니다. <b>그대로</b> & 안전하게.");
  page.section("Results");
  page.table({"model", "accuracy (%)", "note"},
             {{"vit_tiny", "81.2 ± 0.3", "40 epochs"}, {"resnet18", "93.0 ± 0.1", "희소 & dense"}});
  page.figure({.figure = training_curves(), .caption = "Loss and accuracy by epoch."});
  page.section("어텐션");
  page.list({"one head per column", "층마다 한 줄"});
  page.figure({.figure = attention_maps(), .caption = "Attention weights.", .embed = Embed::Png});
  page.section("Side by side");
  page.grid({{.figure = confusion_matrix()}, {.figure = crowded(), .caption = "Nine runs."}});
  page.preformatted("vitrine train recipe.yaml\n  model=vit_tiny");
  return page;
}

}  // namespace
}  // namespace vitrine::plot

int main(int argc, char** argv) {
  using namespace vitrine::plot;
  if (argc != 2) {
    std::fputs("usage: plot_gallery FOLDER\n", stderr);
    return 2;
  }
  try {
    const vitrine::fs::path folder = argv[1];
    vitrine::make_folder(folder);
    training_curves().save(folder / "training_curves");
    korean_curves().save(folder / "korean_curves");
    confusion_matrix().save(folder / "confusion_matrix");
    contact_sheet().save(folder / "contact_sheet");
    attention_maps().save(folder / "attention_maps");
    overlays().save(folder / "overlays");
    bars().save(folder / "bars");
    distributions().save(folder / "distributions");
    scatter().save(folder / "scatter");
    heat_maps().save(folder / "heat_maps");
    crowded().save(folder / "crowded");
    nasty_text().save(folder / "nasty_text");
    every_kind_of_block().save(folder / "page.html");
  } catch (const vitrine::Error& e) {
    std::fprintf(stderr, "plot_gallery: %s\n", e.what());
    return 1;
  }
  return 0;
}
