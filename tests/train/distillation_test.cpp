// Distillation as in DeiT: the loss by its formula, what the teacher sees, and whole runs.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <csignal>

#include "tests/support/errors.h"
#include "tests/support/shake.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/small_source.h"
#include "tests/support/training.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/train/autocast.h"
#include "vitrine/train/objective.h"
#include "vitrine/train/run.h"
#include "vitrine/train/teacher.h"

namespace vitrine {
namespace {

const std::vector<std::string> kSmallResNet = {"model.blocks=[1, 1]", "model.stem=cifar"};

/// A student with one or two heads whose logits are parameters.
class FreeLogits : public Model {
 public:
  explicit FreeLogits(const std::vector<torch::Tensor>& heads) {
    for (const auto& logits : heads)
      heads_.push_back(register_parameter(fmt::format("head{}", heads_.size()), logits.clone()));
  }
  torch::Tensor features(const torch::Tensor&) override { return torch::cat(heads_, 1); }
  torch::Tensor logits(const torch::Tensor& features) override {
    return torch::stack(logits_by_head(features)).mean(0);
  }
  std::vector<torch::Tensor> logits_by_head(const torch::Tensor& features) override {
    return features.chunk(std::ssize(heads_), 1);
  }
  torch::Tensor example_input(int64_t batch) const override { return torch::zeros({batch}); }

  std::vector<torch::Tensor> heads_;
};

/// - sum p log softmax(logits), the mean over the rows.
torch::Tensor entropy_with(const torch::Tensor& p, const torch::Tensor& logits) {
  return -(p * (logits - logits.logsumexp(1, /*keepdim=*/true))).sum(1).mean();
}

class DistillationLoss : public testing::Test {
 protected:
  DistillationLoss() {
    test::save_small_checkpoint(folder_ / "teacher.safetensors", "resnet18", kSmallResNet);
    auto loaded = load_checkpoint(folder_ / "teacher.safetensors");
    network_ = loaded.model;
    test::shake(*network_, 0.2);
    teacher_ = std::make_shared<Teacher>(loaded, *loaded.info.preprocess, torch::kCPU);
    torch::manual_seed(2);
    batch_ = {torch::randn({5, 3, 16, 16}), torch::tensor({0, 3, 1, 1, 2})};
    one_ = torch::randn({5, 4});
    two_ = torch::randn({5, 4});
  }

  LossAndOutput loss(Model& student, const DistillationConfig& config, double smoothing = 0) const {
    ObjectiveSettings settings(smoothing);
    settings.teacher = teacher_;
    settings.distillation = config;
    return make_objective(data_, settings)->loss(student, batch_);
  }

  torch::Tensor labels() const {
    return torch::nn::functional::one_hot(batch_.targets, 4).to(torch::kFloat);
  }
  torch::Tensor teacher_labels() const {
    return torch::nn::functional::one_hot(teacher_->logits(batch_.inputs).argmax(1), 4)
        .to(torch::kFloat);
  }
  /// T^2 KL(teacher || student).
  torch::Tensor divergence(const torch::Tensor& student, double T) const {
    const auto t = teacher_->logits(batch_.inputs) / T;
    const auto p = t.softmax(1);
    return T * T * (entropy_with(p, student / T) - entropy_with(p, t));
  }

  test::TemporaryFolder folder_;
  const Splits data_{.task = Task::Classes, .classes = {"a", "b", "c", "d"}};
  std::shared_ptr<Model> network_;
  std::shared_ptr<Teacher> teacher_;
  Batch batch_;
  torch::Tensor one_, two_;
};

void expect_near(const torch::Tensor& a, const torch::Tensor& b) {
  EXPECT_NEAR(a.item<double>(), b.item<double>(), 1e-5);
}

}  // namespace

TEST_F(DistillationLoss, HardIsTheFormulaWithOneHeadAndWithTwo) {
  FreeLogits one({one_}), two({one_, two_});
  expect_near(loss(one, {}).loss,
              0.5 * entropy_with(labels(), one_) + 0.5 * entropy_with(teacher_labels(), one_));
  expect_near(loss(two, {}).loss,
              0.5 * entropy_with(labels(), one_) + 0.5 * entropy_with(teacher_labels(), two_));
  expect_near(loss(two, {.alpha = 0.3}).loss,
              0.7 * entropy_with(labels(), one_) + 0.3 * entropy_with(teacher_labels(), two_));
  EXPECT_TRUE(loss(two, {}).output.allclose((one_ + two_) / 2));
}

TEST_F(DistillationLoss, SoftIsTheFormulaWithOneHeadAndWithTwo) {
  FreeLogits one({one_}), two({one_, two_});
  const DistillationConfig soft{.kind = DistillationKind::Soft};
  expect_near(loss(one, soft).loss, 0.9 * entropy_with(labels(), one_) + 0.1 * divergence(one_, 3));
  expect_near(loss(two, soft).loss, 0.9 * entropy_with(labels(), one_) + 0.1 * divergence(two_, 3));
  expect_near(loss(two, {.kind = DistillationKind::Soft, .temperature = 1.5, .alpha = 1}).loss,
              divergence(two_, 1.5));
}

TEST_F(DistillationLoss, SmoothedAndMixedLabelsLeaveTheTeachersTermAlone) {
  FreeLogits two({one_, two_});
  const auto term = 0.5 * entropy_with(teacher_labels(), two_);
  expect_near(loss(two, {}, /*smoothing=*/0.2).loss,
              0.5 * entropy_with(0.8 * labels() + 0.2 / 4, one_) + term);
  const auto mixed = 0.75 * labels() + 0.25 * labels().flip(0);
  batch_.targets = mixed;
  EXPECT_NEAR(loss(two, {}).loss.item<double>(),
              (0.5 * entropy_with(mixed, one_) + term).item<double>(), 1e-5);
}

TEST_F(DistillationLoss, GradientsReachTheStudentOnly) {
  const auto before = named_weights(*network_);
  std::vector<torch::Tensor> values;
  for (const auto& [name, weight] : before) values.push_back(weight.clone());
  for (const auto kind : {DistillationKind::Hard, DistillationKind::Soft}) {
    FreeLogits student({one_, two_});
    loss(student, {.kind = kind}).loss.backward();
    for (const auto& head : student.heads_) EXPECT_GT(head.grad().abs().sum().item<double>(), 0);
  }
  EXPECT_FALSE(network_->is_training());
  for (const auto& parameter : network_->parameters()) {
    EXPECT_FALSE(parameter.grad().defined());
    EXPECT_FALSE(parameter.requires_grad());
  }
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_TRUE(before[i].second.equal(values[i])) << before[i].first;
}

TEST_F(DistillationLoss, LogitsThatAreKnownAreTakenInsteadOfTheTeachers) {
  FreeLogits two({one_, two_});
  const DistillationConfig soft{.kind = DistillationKind::Soft};
  const auto asked = loss(two, soft).loss;
  batch_.teacher = teacher_->logits(batch_.inputs);
  EXPECT_TRUE(loss(two, soft).loss.equal(asked));
  batch_.inputs = torch::Tensor();  // so nobody reads them
  EXPECT_TRUE(loss(two, soft).loss.equal(asked));
}

TEST_F(DistillationLoss, TheTeacherSeesImagesOfItsOwnSizeAndNormalisation) {
  auto loaded = load_checkpoint(folder_ / "teacher.safetensors");
  auto& own = *loaded.info.preprocess;
  own.mean = {0.1, 0.2, 0.3};
  own.std = {0.4, 0.5, 0.6};
  Image image(16, 16);
  for (size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<uint8_t>((i * 37) % 251);
  const Preprocess students{
      .image = 16, .resize = 16, .mean = {0.5, 0.4, 0.3}, .std = {0.2, 0.3, 0.4}};
  const auto seen_by_student = preprocess(image, students).unsqueeze(0);
  const Teacher same_size(loaded, students, torch::kCPU);
  EXPECT_TRUE(
      same_size.view_of(seen_by_student).allclose(preprocess(image, own).unsqueeze(0), 1e-5, 1e-5));
  EXPECT_TRUE(test::contains(same_size.description(), "normalised as it was trained with"));
  // Resized images are rounded to bytes by the one and not by the other.
  own.image = own.resize = 32;
  const Teacher larger(loaded, students, torch::kCPU);
  const auto view = larger.view_of(seen_by_student);
  EXPECT_EQ(view.sizes(), (std::vector<int64_t>{1, 3, 32, 32}));
  EXPECT_LT((view - preprocess(image, own)).abs().max().item<double>(), 2.0 / 255 / 0.4);
  EXPECT_TRUE(test::contains(larger.description(), "resized to 32 x 32"));
  EXPECT_NE(larger.checksum(), same_size.checksum());
}

TEST_F(DistillationLoss, TheTeacherComputesInFloat32WhateverTheStudentDoes) {
  const auto expected = teacher_->logits(batch_.inputs);
  const Autocast student(true);
  const auto inside = teacher_->logits(batch_.inputs);
  EXPECT_EQ(inside.scalar_type(), torch::kFloat);
  EXPECT_TRUE(inside.equal(expected));
}

namespace {

class DistilledRun : public testing::Test {
 protected:
  DistilledRun() {
    write_file_atomically(folder_ / "small.yaml", test::small_recipe());
    auto settings = kSmallResNet;
    settings.insert(settings.end(), {"data.preprocess.mean=[0.1, 0.2, 0.3]",
                                     "data.preprocess.image=24", "model.image=24"});
    test::save_small_checkpoint(teacher_, "resnet18", settings);
  }

  Recipe recipe(std::vector<std::string> overrides) const {
    overrides.insert(overrides.begin(),
                     {"train.teacher=" + teacher_.string(), "model.distilled=true",
                      "train.epochs=2", "train.log_steps=1", "data.dataset.train=80"});
    return read_recipe((folder_ / "small.yaml").string(), overrides);
  }

  /// Interrupts itself after `steps` steps, if that is not 0.
  RunOptions options(const std::string& name, int64_t steps = 0) {
    messages_.clear();
    return {.threads = 1,
            .folder = folder_ / name,
            .cache = folder_ / "cache",
            .show_progress = false,
            .write_reports = false,
            .on_message = [this](const std::string& text) { messages_ += text + "\n"; },
            .on_metrics =
                [steps](const MetricsLine& line) {
                  if (line.kind == "step" && line.step == steps) std::raise(SIGINT);
                }};
  }

  RunOutcome run(const std::string& name, const std::vector<std::string>& overrides) {
    return run_recipe(recipe(overrides), options(name));
  }

  fs::path last(const std::string& run) const {
    return folder_ / run / "checkpoints/last.safetensors";
  }

  void expect_same_after_resume(const std::string& name, const std::vector<std::string>& overrides);

  test::TemporaryFolder folder_;
  fs::path teacher_ = folder_ / "teacher.safetensors";
  std::string messages_;
};

// No image is ever flipped with this probability, but the run cannot know that.
constexpr const char* kNothingRandom = "data.augment={flip: 0}";
constexpr const char* kAlmostNothingRandom = "data.augment={flip: 1e-30}";

void DistilledRun::expect_same_after_resume(const std::string& name,
                                            const std::vector<std::string>& overrides) {
  run(name, overrides);
  const auto stopped = run_recipe(recipe(overrides), options(name + "-stopped", /*steps=*/3));
  EXPECT_EQ(stopped.stop_reason, StopReason::Interrupted);
  EXPECT_EQ(resume_run(folder_ / (name + "-stopped"), options(name + "-stopped")).stop_reason,
            StopReason::Finished);
  EXPECT_TRUE(test::same_tensors(last(name), last(name + "-stopped"))) << name;
}

}  // namespace

TEST(DistilledRecipe, IsThatOfAStudentWithTwoHeadsAndItsControl) {
  const std::string path = VITRINE_SOURCE_DIR "/recipes/distill-cifar10.yaml";
  const auto student = read_recipe(path, {});
  EXPECT_TRUE(student.train.teacher.ends_with("runs/teacher")) << student.train.teacher;
  EXPECT_TRUE(test::contains(to_yaml(student.model), "distilled: true"));
  EXPECT_NO_THROW(read_recipe(path, {"train.distillation.kind=soft"}));
  EXPECT_EQ(read_recipe(path, {"train.teacher=", "model.distilled=false"}).train.teacher, "");
}

TEST_F(DistilledRun, LogitsComputedOnceGiveTheSameStudentAsThoseOfEveryBatch) {
  run("asked", {kAlmostNothingRandom});
  EXPECT_TRUE(test::contains(messages_, "teacher " + teacher_.string() +
                                            ": resnet18, 4 classes; it sees the images resized"));
  EXPECT_EQ(messages_.find("teacher's logits"), std::string::npos);
  run("cached", {kNothingRandom});
  EXPECT_TRUE(test::contains(messages_, "teacher's logits of 72 images: computed in"));
  EXPECT_TRUE(test::same_tensors(last("asked"), last("cached")));
  run("again", {kNothingRandom});
  EXPECT_TRUE(test::contains(messages_, "teacher's logits of 72 images: from the cache"));
  EXPECT_TRUE(test::same_tensors(last("asked"), last("again")));
  const auto asked = run("soft-asked", {kAlmostNothingRandom, "train.distillation.kind=soft"});
  const auto cached = run("soft-cached", {kNothingRandom, "train.distillation.kind=soft"});
  EXPECT_NEAR(asked.test_loss(), cached.test_loss(), 1e-4);
  EXPECT_FALSE(test::same_tensors(last("cached"), last("soft-cached")));
}

TEST_F(DistilledRun, TheTeacherMayBeARunFolderOrPublishedWeights) {
  run("teacher", {"train.teacher=", "model.distilled=false", "train.epochs=1"});
  run("of-run", {"train.teacher=" + (folder_ / "teacher").string(), "train.epochs=1"});
  EXPECT_TRUE(test::contains(
      messages_, "teacher " + (folder_ / "teacher").string() + ": vit_c10_small, 4 classes\n"));
  const test::SmallSource published(
      "timm_vit", "vit_ti16",
      {"image=32", "patch=8", "dim=64", "depth=1", "heads=1", "hidden=128", "classes=4"});
  published.imported();  // writes the file
  const auto file = (published.folder / "a.safetensors").string();
  run("of-published", {"train.teacher=" + file, "train.epochs=1", "train.precision=bf16"});
  EXPECT_TRUE(test::contains(messages_, "teacher " + file + ": vit_"));
  EXPECT_TRUE(test::contains(messages_, "resized to 32 x 32; it sees them normalised as it was"));
}

TEST_F(DistilledRun, EndsWithTheSameBitsAfterAResume) {
  expect_same_after_resume("mixed", {"train.distillation.kind=soft"});
  expect_same_after_resume("cached", {kNothingRandom});
  expect_same_after_resume("one-head", {"model.distilled=false"});
}

TEST_F(DistilledRun, IsResumedOnlyWithTheTeacherThatItBeganWith) {
  run_recipe(recipe({}), options("run", /*steps=*/2));
  const auto refusal = [&] {
    return test::error_of([&] { resume_run(folder_ / "run", options("run")); });
  };
  auto file = load_safetensors(teacher_);
  const auto before = file;
  file.tensors.front().second = file.tensors.front().second + 1;
  save_safetensors(teacher_, file);
  EXPECT_TRUE(test::contains(refusal(), "began with other weights of its teacher than " +
                                            teacher_.string() + " holds now"));
  fs::remove(teacher_);
  EXPECT_TRUE(test::contains(refusal(), "teacher " + teacher_.string() + " does not exist"));
  save_safetensors(teacher_, before);
  EXPECT_EQ(resume_run(folder_ / "run", options("run")).stop_reason, StopReason::Finished);
}

TEST_F(DistilledRun, RefusesATeacherThatDoesNotFitBeforeItMakesAFolder) {
  const auto refusal = [&](const std::vector<std::string>& overrides) {
    const auto text = test::error_of([&] { run("refused", overrides); });
    EXPECT_FALSE(fs::exists(folder_ / "refused"));
    return text;
  };
  EXPECT_TRUE(
      test::contains(refusal({"train.teacher=/nowhere/best.safetensors"}),
                     "teacher /nowhere/best.safetensors does not exist; set train.teacher"));
  make_folder(folder_ / "empty");
  EXPECT_TRUE(test::contains(refusal({"train.teacher=" + (folder_ / "empty").string()}),
                             "holds no checkpoints/best.safetensors"));
  EXPECT_TRUE(test::contains(refusal({"data.dataset.classes=3", "model.classes=3"}),
                             "has 4 classes and the data have 3; train it on these data first"));
  EXPECT_TRUE(test::contains(refusal({"train.distillation.temperature=0"}),
                             "distillation.temperature 0 is not positive"));
  EXPECT_TRUE(
      test::contains(refusal({"train.distillation.kind=soft", "train.distillation.temperature=-1"}),
                     "distillation.temperature -1 is not positive"));
  EXPECT_TRUE(test::contains(refusal({"train.distillation.alpha=1.5"}),
                             "distillation.alpha 1.5 is not between 0 and 1"));
  EXPECT_TRUE(test::contains(refusal({"train.distillation.kind=sotf"}), "soft"));
  EXPECT_TRUE(test::contains(refusal({"train.teacher=", "train.distillation.kind=soft"}),
                             "set train.teacher to a run folder"));
  EXPECT_TRUE(test::contains(
      refusal({"train.cache_backbone=fp16", "train.freeze=model.backbone", kNothingRandom}),
      "set train.cache_backbone=none"));

  auto loaded = load_checkpoint(teacher_);
  loaded.info.classes[2] = "zebra";
  save_checkpoint(folder_ / "other.safetensors", *loaded.model, loaded.info);
  EXPECT_TRUE(test::contains(refusal({"train.teacher=" + (folder_ / "other.safetensors").string()}),
                             "has other classes: class 2 is 'zebra', that of the data '"));

  const ModelChoice adds("addition_cnn");
  save_checkpoint(folder_ / "adds.safetensors", *adds.build(), {.model = adds});
  EXPECT_TRUE(test::contains(refusal({"train.teacher=" + (folder_ / "adds.safetensors").string()}),
                             "is a 'addition_cnn', which does not classify images"));

  test::save_small_checkpoint(folder_ / "grey.safetensors", "resnet18",
                              {"model.blocks=[1]", "model.stem=cifar", "model.channels=1"});
  auto grey = load_checkpoint(folder_ / "grey.safetensors");
  grey.info.preprocess->channels = 1;
  grey.info.preprocess->mean = grey.info.preprocess->std = {0.5};
  save_checkpoint(folder_ / "grey.safetensors", *grey.model, grey.info);
  EXPECT_TRUE(test::contains(refusal({"train.teacher=" + (folder_ / "grey.safetensors").string()}),
                             "takes images of 1 channel, and data set 'synthetic' has 3 channels"));

  write_file_atomically(folder_ / "adding.yaml",
                        "name: adding\nmodel: addition_cnn\ndata: {dataset: addition}\n");
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               run_recipe(read_recipe((folder_ / "adding.yaml").string(),
                                                      {"train.teacher=" + teacher_.string()}),
                                          options("refused"));
                             }),
                             "is for images with classes, and data set 'addition' has none"));
  EXPECT_FALSE(fs::exists(folder_ / "refused"));
}

}  // namespace vitrine
