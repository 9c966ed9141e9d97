#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "vitrine/data/image_splits.h"
#include "vitrine/studies/finetune/study.h"
#include "vitrine/studies/measured_part.h"
#include "vitrine/train/config.h"
#include "vitrine/train/run_folder.h"

namespace vitrine::finetune {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SideSpeed, image, training, inference)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Plan, init, hours, threads, speeds, image, images, epochs,
                                   estimate)

namespace {

/// Two seeds show how much of a difference is chance; a test needs none of that.
std::vector<int64_t> seeds_of(const StudyOptions& o) {
  return o.smoke ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 2};
}

constexpr const char* kScratchKey = "scratch";

fs::path recipe_file(const StudyOptions& o, const std::string& part) {
  return fs::absolute(o.sweeps / (part + ".yaml"));
}

Recipe recipe_of(const StudyOptions& o, const std::string& part) {
  return read_recipe(recipe_file(o, part).string(), {"init=" + o.init.string()});
}

/// The experiments at full size, and the data that there are.
PlanRequest request_of(const StudyOptions& o) {
  const auto seeds = seeds_of(o);
  PlanRequest request{.hours = o.hours, .runs = 2 * std::ssize(seeds)};
  for (const auto& part : finetune_parts())
    request.epochs.push_back(recipe_of(o, part).train.epochs);
  const auto recipe = recipe_of(o, finetune_parts().front());
  const auto splits = open_image_splits(recipe.data, static_cast<uint64_t>(seeds.front()));
  request.classes = std::ssize(splits.train->classes());
  request.images = splits.train->size();
  request.validation = splits.validation->size();
  request.test = splits.test->size();
  return request;
}

/// Sizes of a test: the smallest images, few of them, few epochs; nothing is timed.
Plan smoke_plan(const PlanRequest& request, const std::vector<int64_t>& sides) {
  constexpr int64_t kImages = 64;
  Plan plan{.image = sides.back(), .images = std::min(kImages, request.images)};
  for (size_t i = 0; i < request.epochs.size(); ++i)
    plan.epochs.push_back(i + 1 < request.epochs.size() ? 2 : 3);
  return plan;
}

Plan new_plan(const StudyOptions& o) {
  const auto request = request_of(o);
  const auto model = recipe_of(o, finetune_parts().front()).model;
  auto plan =
      o.smoke ? smoke_plan(request, image_sides(model)) : make_plan(request, measure_speeds(model));
  plan.init = o.init.string();
  plan.hours = o.hours;
  plan.threads = std::max<int64_t>(1, std::thread::hardware_concurrency());
  return plan;
}

/// The folder's plan; made if there is none. One folder has one plan, so that all its runs are
/// alike.
Plan plan_of(const StudyOptions& o) {
  const auto file = part_file(o, "plan");
  if (!fs::exists(file)) write_part(file, new_plan(o));
  const auto plan = *read_part<Plan>(file);
  check(plan.init == o.init.string() && plan.hours == o.hours,
        "study finetune: {} was planned for --init {} and --hours {:g}; give these, or another "
        "--out",
        o.out.string(), plan.init, plan.hours);
  return plan;
}

/// The sweep of an experiment at the plan's size, as a file that `vitrine sweep` takes, too.
fs::path write_sweep(const StudyOptions& o, const Plan& plan, size_t index) {
  const auto& part = finetune_parts()[index];
  const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
  const auto text = fmt::format(
      "# {} at the size of plan.json: pre-trained, and from random weights.\n"
      "name: finetune-{}{}\n"
      "recipe: {}\n"
      "seeds: [{}]\n"
      "workers: 1\n"
      "threads: {}\n"
      "set:\n"
      "  init: {}\n"
      "  model.image: {}\n"
      "  data.limit: {}\n"
      "  train.epochs: {}\n"
      "grid:\n"
      "  {}: [false, true]\n",
      part, part, o.smoke ? "-smoke" : "", quoted(recipe_file(o, part).string()),
      fmt::join(seeds_of(o), ", "), plan.threads, quoted(plan.init), plan.image, plan.images,
      plan.epochs.at(index), kScratchKey);
  const auto file = o.out / "plan" / fmt::format("{}{}.yaml", part, o.smoke ? "-smoke" : "");
  make_folder(file.parent_path());
  write_file_atomically(file, text);
  return file;
}

void gather(const SweepResult& result, FinetuneStudy& study, Experiment& experiment) {
  for (const auto& point : result.points) {
    auto& start =
        point.point.value(kScratchKey) == "true" ? experiment.scratch : experiment.pretrained;
    for (const auto& run : point.runs) {
      if (run.failed()) {
        start.failures.push_back(run.error);
        continue;
      }
      const auto folder = RunFolder::open(run.folder);
      start.runs.push_back({run.seed, *run.outcome, epoch_curves(read_metrics(folder.metrics()))});
      study.parameters = run.outcome->parameters;
    }
  }
}

}  // namespace

const std::vector<std::string>& finetune_parts() {
  static const std::vector<std::string> parts = {"experiment1", "experiment2", "experiment3"};
  return parts;
}

EpochCurves epoch_curves(const std::vector<MetricsLine>& lines) {
  EpochCurves curves;
  for (const auto& line : lines) {
    if (line.kind != "epoch") continue;
    curves.train_loss.push_back(line.value("train_loss"));
    curves.train_accuracy.push_back(line.value("train_accuracy"));
    curves.validation_loss.push_back(line.value("validation_loss"));
    curves.validation_accuracy.push_back(line.value("validation_accuracy"));
  }
  return curves;
}

FinetuneStudy run_finetune_study(const StudyOptions& options) {
  check_parts(options, "finetune", finetune_parts());
  check_usage(!options.init.empty(),
              "study finetune: no weights are given; --init FILE names a checkpoint or run folder");
  auto o = options;
  o.init = fs::absolute(options.init).lexically_normal();
  make_folder(o.out);
  FinetuneStudy study;
  study.network = recipe_of(o, finetune_parts().front()).model.name();
  study.plan = plan_of(o);
  for (size_t i = 0; i < finetune_parts().size(); ++i) {
    const auto& part = finetune_parts()[i];
    const auto file = write_sweep(o, study.plan, i);
    const auto result = run_part(o, part, file, read_sweep(file));
    if (!result) continue;
    study.experiments.push_back({.name = part});
    gather(*result, study, study.experiments.back());
  }
  return study;
}

}  // namespace vitrine::finetune
