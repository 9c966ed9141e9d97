#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/progress.h"
#include "vitrine/core/random.h"
#include "vitrine/core/settings.h"
#include "vitrine/data/image_splits.h"
#include "vitrine/data/registry.h"
#include "vitrine/data/resize.h"
#include "vitrine/plot/figure.h"

namespace vitrine::cli {
namespace {

using nlohmann::json;

struct DataOptions {
  std::string name;
  std::string root;
  std::vector<std::string> settings;  // key=value
  std::string from;
  std::string split = "train";
  int64_t count = 64;
  std::string out = "contact.png";
  int64_t seed = 0;
  bool json = false;
};

void bind_common(CLI::App& app, DataOptions& o) {
  app.add_option("name", o.name, "the data set (`vitrine data list`)")
      ->type_name("DATASET")
      ->required();
  app.add_option("--root", o.root, "data directory (default: $VITRINE_DATA, else data)")
      ->type_name("FOLDER");
  app.add_option("settings", o.settings,
                 "settings of the data set (path=FOLDER), validation=FRACTION and limit=COUNT")
      ->type_name("KEY=VALUE");
}

/// What the settings of these commands are about: the data set's own, and how it is split.
struct SplitSettings {
  DataConfig& config;

  void visit(Fields& f) {
    config.dataset.visit_settings(f);
    f("validation", config.validation, "fraction of the training images held out for validation");
    f("limit", config.limit, "use only this many training images; 0 = all");
  }
};

/// Throws if a key is written as in a recipe.
void check_short_names(const DataOptions& o) {
  for (const auto& assignment : o.settings)
    for (const auto& prefix : {std::string("data.dataset."), std::string("dataset."),
                               std::string("data."), o.name + "."})
      check_usage(!assignment.starts_with(prefix), "data: write {} here, not {}",
                  assignment.substr(std::min(prefix.size(), assignment.size())), assignment);
}

DataConfig config_of(const DataOptions& o) {
  DataConfig config;
  config.dataset.choose(o.name);
  check_short_names(o);
  auto settings = Settings::from_text("{}", "command line");
  for (const auto& assignment : o.settings) settings.override_with(assignment);
  SplitSettings split{config};
  settings.read_into(split);
  if (!o.root.empty()) config.root = o.root;
  as_usage([&] { config.validate(); });
  return config;
}

int run_list(const DataOptions& o, Streams streams) {
  for (const auto& [name, entry] : datasets()) {
    if (o.json)
      streams.out << json{{"name", name}, {"summary", entry.summary}}.dump() << '\n';
    else
      streams.out << fmt::format("{:<14} {}\n", name, entry.summary);
  }
  return 0;
}

int run_fetch(const DataOptions& o, Streams streams) {
  catch_interrupts();
  const auto config = config_of(o);
  const auto done = config.dataset->fetch(config, o.from);
  (o.json ? streams.err : streams.out) << done << '\n';
  if (o.json)
    streams.out
        << json{{"name", o.name}, {"root", data_root(config).string()}, {"done", done}}.dump()
        << '\n';
  return 0;
}

constexpr std::array kSplits = {Split::Train, Split::Validation, Split::Test};

/// What takes a pass over all images.
struct Measured {
  int64_t channels = 0, narrowest = 0, widest = 0, lowest = 0, highest = 0;
  std::vector<double> mean, std;  // per channel, of values from 0 to 1
};

Measured measure(const Dataset& data, const std::string& label) {
  Measured m;
  std::vector<std::array<int64_t, 256>> histograms;
  Progress progress(label, data.size(), "images");
  Image image;
  for (int64_t i = 0; i < data.size(); ++i) {
    data.read(i, image);
    m.channels = image.channels;
    histograms.resize(m.channels);
    m.narrowest = i == 0 ? image.width : std::min(m.narrowest, image.width);
    m.lowest = i == 0 ? image.height : std::min(m.lowest, image.height);
    m.widest = std::max(m.widest, image.width);
    m.highest = std::max(m.highest, image.height);
    for (size_t p = 0; p < image.pixels.size(); ++p)
      ++histograms[p % static_cast<size_t>(m.channels)][image.pixels[p]];
    progress.update(i + 1);
  }
  for (const auto& histogram : histograms) {
    double count = 0, sum = 0, squares = 0;
    for (int v = 0; v < 256; ++v) {
      const double n = static_cast<double>(histogram[v]), x = v / 255.0;
      count += n;
      sum += n * x;
      squares += n * x * x;
    }
    m.mean.push_back(sum / count);
    m.std.push_back(std::sqrt(squares / count - sum / count * (sum / count)));
  }
  return m;
}

void print_info(const DataOptions& o, const ImageSplits& splits, const Measured& m,
                std::ostream& out) {
  const auto range = [](int64_t low, int64_t high) {
    return low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high);
  };
  out << fmt::format("{}: {}\n", o.name, datasets().get(o.name).summary);
  out << fmt::format("size      {} x {}, {}\n", range(m.narrowest, m.widest),
                     range(m.lowest, m.highest), counted(m.channels, "channel"));
  out << fmt::format("mean      {:.4f}\n", fmt::join(m.mean, " "));
  out << fmt::format("std       {:.4f}\n\n", fmt::join(m.std, " "));
  out << fmt::format("{:<20} {:>8} {:>11} {:>8}\n", "class", "train", "validation", "test");
  const auto row = [&](const std::string& name, int64_t train, int64_t validation, int64_t test) {
    out << fmt::format("{:<20} {:>8} {:>11} {:>8}\n", name, train, validation, test);
  };
  const auto train = class_counts(*splits.train), validation = class_counts(*splits.validation),
             test = class_counts(*splits.test);
  for (size_t k = 0; k < train.size(); ++k)
    row(splits.train->classes()[k], train[k], validation[k], test[k]);
  row("all", splits.train->size(), splits.validation->size(), splits.test->size());
}

json info_json(const DataOptions& o, const ImageSplits& splits, const Measured& m) {
  json per_split;
  for (const auto split : kSplits)
    per_split[split_name(split)] = {{"images", splits.get(split)->size()},
                                    {"per_class", class_counts(*splits.get(split))}};
  return {{"name", o.name},
          {"classes", splits.train->classes()},
          {"splits", per_split},
          {"channels", m.channels},
          {"width", {m.narrowest, m.widest}},
          {"height", {m.lowest, m.highest}},
          {"mean", m.mean},
          {"std", m.std}};
}

/// "skipped   3 files that are not JPEG, PNG or WebP: 2 .gif, 1 .txt", or nothing.
std::string skipped_text(const std::map<std::string, int64_t>& skipped) {
  int64_t total = 0;
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : skipped) {
    total += count;
    kinds.push_back(fmt::format("{} {}", count, kind));
  }
  if (total == 0) return "";
  return fmt::format("skipped   {} that {} not JPEG, PNG or WebP: {}\n", counted(total, "file"),
                     total == 1 ? "is" : "are", fmt::join(kinds, ", "));
}

int run_info(const DataOptions& o, Streams streams) {
  const auto config = config_of(o);
  const auto splits = open_image_splits(config, o.seed);
  const auto measured = measure(*splits.train, o.name);
  const auto skipped = config.dataset->skipped_files();
  if (o.json) {
    auto info = info_json(o, splits, measured);
    info["skipped_files"] = skipped;
    streams.out << info.dump() << '\n';
  } else {
    print_info(o, splits, measured, streams.out);
    streams.out << skipped_text(skipped);
  }
  return 0;
}

/// `count` examples chosen by the seed, sorted by class.
std::vector<int64_t> choose(const Dataset& data, int64_t count, uint64_t seed) {
  auto chosen = permutation(data.size(), Random{seed});
  chosen.resize(std::min(count, data.size()));
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](int64_t a, int64_t b) { return data.label(a) < data.label(b); });
  return chosen;
}

int run_show(const DataOptions& o, Streams streams) {
  plot::check_figure_file(o.out);
  const auto split = split_of_name(o.split);
  const auto data = open_image_split(config_of(o), o.seed, split);
  std::vector<Image> images;
  std::vector<std::string> titles;
  for (const auto index : choose(*data, o.count, o.seed)) {
    auto example = data->get(index);
    images.push_back(thumbnail(std::move(example.image)));
    titles.push_back(data->classes().at(example.label));
  }
  const auto title =
      fmt::format("{}: {} of {} {} images", o.name, images.size(), data->size(), split_name(split));
  plot::image_grid(title, images, titles).save(o.out);
  streams.err << fmt::format("data show: wrote {}\n", o.out);
  if (o.json)
    streams.out << json{{"name", o.name}, {"file", o.out}, {"images", images.size()}}.dump()
                << '\n';
  return 0;
}

/// A class's name as part of a file's name.
std::string file_word(std::string name) {
  for (auto& c : name)
    if (c == '/' || c == ' ') c = '_';
  return name;
}

int run_export(const DataOptions& o, Streams streams) {
  const auto data = open_image_split(config_of(o), o.seed, split_of_name(o.split));
  make_folder(o.out);
  int64_t number = 0;
  for (const auto index : choose(*data, o.count, o.seed)) {
    const auto example = data->get(index);
    const auto& label = data->classes().at(example.label);
    const auto path = fs::path(o.out) / fmt::format("{:04}-{}.png", ++number, file_word(label));
    write_png(path, example.image);
    if (o.json)
      streams.out << json{{"file", path.string()}, {"label", label}, {"index", index}}.dump()
                  << '\n';
    else
      streams.out << path.string() << '\n';
  }
  return 0;
}

}  // namespace

Command data_command() {
  return {"data", "list, fetch, describe, show and export data sets", [](CLI::App& app) {
            const auto o = std::make_shared<DataOptions>();
            Subcommands commands(app);
            const auto add = [&](const char* name, const char* summary, auto run) {
              auto* sub = commands.add(name, summary, o, run);
              sub->add_flag("--json", o->json, "results as JSON");
              return sub;
            };
            add("list", "list all data sets", run_list);
            auto* fetch = add("fetch", "download a data set's files and verify them", run_fetch);
            bind_common(*fetch, *o);
            fetch->add_option("--from", o->from, "an archive or folder instead of the network")
                ->type_name("PATH");
            auto* info = add("info", "splits, images per class, sizes, mean and std", run_info);
            bind_common(*info, *o);
            auto* show = add("show", "write a grid of labelled images", run_show);
            bind_common(*show, *o);
            add_split(*show, o->split);
            show->add_option("-n,--count", o->count, "number of images")
                ->capture_default_str()
                ->check(between(1, 1000));
            show->add_option("-o,--out", o->out, "the PNG (or SVG) file")
                ->type_name("FILE")
                ->capture_default_str();
            auto* export_ = add("export", "write single images as PNG files", run_export);
            bind_common(*export_, *o);
            add_split(*export_, o->split);
            export_->add_option("-n,--count", o->count, "number of images")
                ->capture_default_str()
                ->check(at_least(1));
            export_->add_option("-o,--out", o->out, "the folder for NUMBER-CLASS.png")
                ->type_name("FOLDER")
                ->required();
            for (auto* sub : {info, show, export_})
              sub->add_option("--seed", o->seed, "seed of the split and of the choice")
                  ->capture_default_str();
            return commands.body();
          }};
}

}  // namespace vitrine::cli
