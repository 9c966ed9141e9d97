#include <memory>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/core/error.h"
#include "vitrine/core/files.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/registry.h"
#include "vitrine/ops/runtime.h"
#include "vitrine/studies/addition/study.h"
#include "vitrine/studies/finetune/study.h"
#include "vitrine/studies/inductive_bias/study.h"
#include "vitrine/studies/scratch/study.h"
#include "vitrine/studies/sparse/study.h"
#include "vitrine/studies/zoo/study.h"

namespace vitrine::cli {
namespace {

struct Study {
  std::string summary;
  const std::vector<std::string>& (*parts)();
  const report::TextSet& (*texts)();
  void (*run)(const StudyOptions& o, Streams s);
};

/// Runs a study and writes its report.
template <auto run_parts, auto write_report>
void run_and_report(const StudyOptions& o, Streams s) {
  const auto study = run_parts(o);
  s.err << "writing the report\n";
  write_report(study, o.out, o.languages);
}

const Registry<Study>& studies() {
  static const auto registry = [] {
    Registry<Study> r("study");
    r.add(
        "addition",
        {"CNN against Transformer at adding two numbers", addition::addition_parts, addition_texts,
         run_and_report<addition::run_addition_study, addition::write_addition_report>});
    r.add("finetune",
          {"three experiments in fine-tuning a pre-trained network, against training from scratch",
           finetune::finetune_parts, finetune_texts,
           run_and_report<finetune::run_finetune_study, finetune::write_finetune_report>});
    r.add("inductive-bias",
          {"ViT, hybrid, CCT and ResNet on few images: accuracy, locality, shifts",
           inductive_bias::inductive_bias_parts, inductive_bias_texts,
           run_and_report<inductive_bias::run_inductive_bias_study,
                          inductive_bias::write_inductive_bias_report>});
    r.add("scratch", {"the learning rate of a ViT that learns CIFAR-10 from scratch",
                      scratch::scratch_parts, scratch_texts,
                      run_and_report<scratch::run_scratch_study, scratch::write_scratch_report>});
    r.add("sparse",
          {"sparse against dense attention over the bytes of images", sparse::sparse_parts,
           sparse_texts, run_and_report<sparse::run_sparse_study, sparse::write_sparse_report>});
    r.add("zoo", {"every family of image classifiers on CIFAR-10, with equal time", zoo::zoo_parts,
                  zoo_texts, run_and_report<zoo::run_zoo_study, zoo::write_zoo_report>});
    return r;
  }();
  return registry;
}

int run_study(const std::string& name, StudyOptions o, Streams s) {
  const auto& study = studies().get(name);
  if (o.sweeps.empty()) o.sweeps = shipped_path("recipes/" + name);
  if (o.out.empty()) o.out = "studies/" + name;
  check_usage(o.init.empty() || name == "finetune" || name == "inductive-bias",
              "study {}: --init is for the studies finetune and inductive-bias", name);
  check_usage(o.minutes == 0 || name == "zoo" || name == "scratch",
              "study {}: --minutes is for the studies zoo and scratch", name);
  o.languages = report_languages(study.texts(), o.languages);
  set_up_runtime(/*threads=*/0);
  study.run(o, s);
  if (interrupted())
    s.err << "interrupted; the same command resumes it. The report holds what is done\n";
  for (const auto& language : o.languages)
    s.out << (o.out / localized_file("report", language, ".html")).string() << '\n';
  return interrupted() ? 1 : 0;
}

/// One line per study: what `text` says of it.
template <typename Text>
std::string each_study(const Text& text) {
  std::vector<std::string> lines;
  for (const auto& [name, study] : studies())
    lines.push_back(fmt::format("{}: {}", name, text(study)));
  return fmt::format("{}", fmt::join(lines, "; "));
}

}  // namespace

Command study_command() {
  return {
      "study", "reproduce a whole study: sweeps, figures and a report", [](CLI::App& app) {
        const auto o = std::make_shared<StudyOptions>();
        const auto name = std::make_shared<std::string>();
        app.add_option("name", *name, each_study([](const Study& study) { return study.summary; }))
            ->type_name(value_type(studies().names()))
            ->required();
        app.add_option("--parts", o->parts,
                       "which to run; default all. " + each_study([](const Study& study) {
                         return fmt::format("{}", fmt::join(study.parts(), ", "));
                       }))
            ->delimiter(',');
        app.add_option(
               "--sweeps", o->sweeps,
               "the folder of the study's sweep files; default recipes/NAME here or as installed")
            ->type_name("FOLDER");
        app.add_option("--out", o->out,
                       "output folder of runs, figures and reports; default studies/NAME")
            ->type_name("FOLDER");
        app.add_option("--lang", o->languages,
                       "languages of the report; default all, each as a page of its own")
            ->type_name("en|ko")
            ->delimiter(',');
        app.add_option("--workers", o->workers, "processes at once; 0 = as each sweep says")
            ->capture_default_str()
            ->check(at_least(0));
        app.add_option(
               "--init", o->init,
               "pre-trained weights: what finetune starts from; inductive-bias shows how far "
               "their heads look")
            ->type_name("PATH");
        app.add_option("--hours", o->hours,
                       "finetune: the time for all runs, which decides their size")
            ->capture_default_str()
            ->check(positive());
        app.add_option("--minutes", o->minutes,
                       "zoo, scratch: the training time of each run; default as the sweeps say")
            ->check(positive());
        app.add_flag("--smoke", o->smoke, "tiny sizes, for a quick check");
        app.footer(
            "The same command resumes an interrupted study. Parts that are complete are in the "
            "report\neven if they were not asked for.");
        return [o, name](Streams s) { return run_study(*name, *o, s); };
      }};
}

}  // namespace vitrine::cli
