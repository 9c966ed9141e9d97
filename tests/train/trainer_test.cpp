#include "vitrine/train/trainer.h"

#include <torch/torch.h>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/training.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/data/tensor_batches.h"
#include "vitrine/models/model.h"
#include "vitrine/train/objective.h"
#include "vitrine/train/run_result.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

class Training : public testing::Test {
 protected:
  RunOutcome run(const std::vector<std::string>& overrides, const std::string& out = "runs") {
    auto settings = Settings::from_text(test::small_recipe(), "small.yaml");
    for (const auto& o : overrides) settings.override_with(o);
    Recipe recipe;
    settings.read_into(recipe);
    recipe.validate();
    recipe.data = resolved_data_config(recipe.data);
    const auto data = open_data(recipe.data, static_cast<uint64_t>(recipe.seed));
    const auto folder = RunFolder::create(folder_ / out, recipe.name);
    path_ = folder.path();
    const auto objective = make_objective(data, recipe.train.label_smoothing);
    return train({.recipe = recipe, .folder = folder, .objective = *objective},
                 build_for_training(recipe, data), data);
  }
  /// The training loss of the last epoch over that of the first.
  double loss_ratio(std::vector<std::string> overrides) {
    overrides.emplace_back("train.epochs=6");
    overrides.emplace_back("data.augment.mixup=0");
    run(overrides);
    std::vector<double> losses;
    for (const auto& line : read_metrics(path_ / "metrics.jsonl"))
      if (line.kind == "epoch") losses.push_back(line.value("train_loss"));
    return losses.back() / losses.front();
  }
  fs::path last() const { return path_ / "checkpoints" / "last.safetensors"; }

  test::TemporaryFolder folder_;
  fs::path path_;
};

/// Overrides under which two ways of computing the same thing can be compared.
std::vector<std::string> plain(std::vector<std::string> more) {
  for (const auto* o :
       {"model.dropout=0", "model.attention_dropout=0", "model.drop_path=0", "data.augment.mixup=0",
        "train.ema=0", "train.epochs=1", "train.optimizer.kind=sgd",
        "data.dataset.train=142"})  // leaves 128 to train with
    more.emplace_back(o);
  return more;
}

}  // namespace

TEST_F(Training, LearnsTheSyntheticClasses) {
  const auto result = run({"train.epochs=10"});
  EXPECT_EQ(result.stop_reason, StopReason::Finished);
  EXPECT_GT(result.validation_value(), 0.8);
  const auto lines = read_metrics(path_ / "metrics.jsonl");
  EXPECT_EQ(
      std::count_if(lines.begin(), lines.end(), [](const auto& l) { return l.kind == "epoch"; }),
      10);
  EXPECT_LT(lines.back().value("train_loss"), lines[1].value("loss"));
}

TEST_F(Training, SameSeedGivesTheSameBitsAndAnotherSeedOthers) {
  run({"train.epochs=1"}, "a");
  const auto a = last();
  run({"train.epochs=1"}, "b");
  EXPECT_TRUE(test::same_tensors(a, last()));
  run({"train.epochs=1", "seed=4"}, "c");
  EXPECT_FALSE(test::same_tensors(a, last()));
}

TEST_F(Training, TheNumberOfWorkersChangesNoBit) {
  run({"train.epochs=1", "data.workers=1"}, "a");
  const auto a = last();
  run({"train.epochs=1", "data.workers=3"}, "b");
  EXPECT_TRUE(test::same_tensors(a, last()));
}

TEST_F(Training, TheNumberOfThreadsChangesRoundingAtMost) {
  const auto before = torch::get_num_threads();
  torch::set_num_threads(1);
  run(plain({}), "a");
  const auto a = load_safetensors(last());
  torch::set_num_threads(2);
  run(plain({}), "b");
  const auto b = load_safetensors(last());
  torch::set_num_threads(before);
  for (const auto& [name, tensor] : a.tensors)
    EXPECT_LT((tensor - *b.find(name)).abs().max().item<double>(), 1e-5) << name;
}

TEST_F(Training, EvaluationsInsideAnEpochAreNotedAndChangeNothingElse) {
  const auto whole = run({"train.epochs=2"}, "a");
  const auto a = last(), best = path_ / "checkpoints" / "best.safetensors";
  const auto noted = run({"train.epochs=2", "train.evaluate_steps=6"}, "b");
  EXPECT_TRUE(test::same_tensors(a, last()));
  EXPECT_TRUE(test::same_tensors(best, path_ / "checkpoints" / "best.safetensors"));
  EXPECT_EQ(noted.validation, whole.validation);
  std::vector<int64_t> steps, epochs;
  for (const auto& line : read_metrics(path_ / "metrics.jsonl")) {
    if (line.kind != "evaluation") continue;
    steps.push_back(line.step);
    epochs.push_back(line.epoch);
    EXPECT_GT(line.value("validation_loss"), 0);
    EXPECT_GT(line.value("seconds"), 0);
  }
  // 18 steps in an epoch: its end has the evaluation of the epoch.
  EXPECT_EQ(steps, (std::vector<int64_t>{6, 12, 24, 30}));
  EXPECT_EQ(epochs, (std::vector<int64_t>{1, 1, 2, 2}));
}

TEST_F(Training, EvaluationsInsideAnEpochLeaveBatchNormInTraining) {
  const std::vector<std::string> cnn = {
      "model={name: resnet18, image: 16, classes: 4, stem: cifar, blocks: [1]}", "train.ema=0",
      "train.epochs=1"};
  auto noted = cnn;
  noted.emplace_back("train.evaluate_steps=5");
  run(cnn, "a");
  const auto a = last();
  run(noted, "b");
  EXPECT_TRUE(test::same_tensors(a, last()));
}

TEST_F(Training, AccumulationEqualsTheLargerBatch) {
  run(plain({"data.batch=32"}), "a");
  const auto a = load_safetensors(last());
  run(plain({"data.batch=16", "train.accumulate=2"}), "b");
  const auto b = load_safetensors(last());
  for (const auto& [name, tensor] : a.tensors)
    EXPECT_LT((tensor - *b.find(name)).abs().max().item<double>(), 1e-5) << name;
}

TEST_F(Training, RecomputationGivesTheSameBits) {
  run({"train.epochs=1"}, "a");
  const auto a = last();
  run({"train.epochs=1", "train.recompute=true"}, "b");
  EXPECT_TRUE(test::same_tensors(a, last()));
}

TEST_F(Training, RecomputationGivesTheSameBitsInBFloat16) {
  run({"train.epochs=1", "train.precision=bf16"}, "a");
  const auto a = last();
  run({"train.epochs=1", "train.precision=bf16", "train.recompute=true"}, "b");
  EXPECT_TRUE(test::same_tensors(a, last()));
}

TEST_F(Training, AverageWeightsAreThoseThatAreSaved) {
  run({"train.epochs=2"});
  const auto state = load_safetensors(path_ / "checkpoints" / "resume.safetensors");
  const auto saved = load_safetensors(last());
  for (const auto& [name, tensor] : saved.tensors) {
    EXPECT_TRUE(tensor.equal(*state.find("average." + name))) << name;
    EXPECT_FALSE(tensor.equal(*state.find("model." + name))) << name;
  }
}

TEST_F(Training, EveryOptimizerAndScheduleLearns) {
  for (const auto* kind : {"sgd", "adam", "adamw", "muon"}) {
    const auto lr =
        std::string(kind) == "sgd" ? "train.optimizer.lr=0.05" : "train.optimizer.lr=3e-3";
    EXPECT_LT(loss_ratio({std::string("train.optimizer.kind=") + kind, lr}), 0.9) << kind;
  }
  for (const auto* kind : {"constant", "step", "cosine", "one_cycle"})
    EXPECT_LT(loss_ratio({std::string("train.schedule.kind=") + kind}), 0.9) << kind;
}

TEST_F(Training, BFloat16Learns) { EXPECT_LT(loss_ratio({"train.precision=bf16"}), 0.9); }

TEST_F(Training, BFloat16GivesTheSameBitsForTheSameSeed) {
  run({"train.epochs=1", "train.precision=bf16"}, "a");
  const auto a = last();
  run({"train.epochs=1", "train.precision=bf16"}, "b");
  EXPECT_TRUE(test::same_tensors(a, last()));
}

TEST_F(Training, StopsEarlyWithoutProgress) {
  const auto result = run({"train.optimizer.lr=1e-12", "train.patience=2", "train.epochs=50"});
  EXPECT_EQ(result.stop_reason, StopReason::StoppedEarly);
  EXPECT_LE(result.epochs, 6);
}

TEST_F(Training, StopsAtItsGoal) {
  const auto result = run({"train.goal=0.3", "train.epochs=50"});
  EXPECT_EQ(result.stop_reason, StopReason::ReachedGoal);
  EXPECT_GE(result.validation_value(), 0.3);
  EXPECT_LT(result.epochs, 50);
}

TEST_F(Training, IsNotFinishedIfItsTimeEndsInTheLastEpoch) {
  EXPECT_EQ(run({"train.budget_seconds=0.01", "train.epochs=1"}).stop_reason,
            StopReason::OverBudget);
}

TEST_F(Training, StopsAtItsTimeBudgetWithAScoredCheckpoint) {
  const auto result = run({"train.budget_seconds=0.01", "train.epochs=50"});
  EXPECT_EQ(result.stop_reason, StopReason::OverBudget);
  EXPECT_EQ(result.epochs, 1);
  EXPECT_TRUE(fs::exists(path_ / "checkpoints" / "best.safetensors"));
}

TEST_F(Training, AScheduleOverTheBudgetComesToItsEndWithIt) {
  const std::vector<std::string> schedule = {
      "train.schedule.kind=one_cycle", "train.schedule.over=budget", "train.epochs=100000",
      "train.log_steps=1"};
  auto settings = schedule;
  settings.push_back("train.budget_seconds=1");
  EXPECT_EQ(run(settings).stop_reason, StopReason::OverBudget);
  std::vector<double> rates;
  for (const auto& line : read_metrics(path_ / "metrics.jsonl"))
    if (line.kind == "step") rates.push_back(line.value("learning_rate"));
  ASSERT_GT(rates.size(), 10U);
  const auto peak = std::max_element(rates.begin(), rates.end());
  EXPECT_LT(rates.front(), *peak);
  EXPECT_LT(rates.back(), *peak / 100);
  EXPECT_TRUE(test::contains(test::error_of([&] { run(schedule); }), "set train.budget_seconds"));
}

TEST_F(Training, ALossThatIsNotFiniteStopsWithStepCausesAndAGoodCheckpoint) {
  const auto message = test::error_of([&] {
    run({"train.optimizer.lr=1e30", "train.clip=0", "train.schedule.kind=constant",
         "train.checkpoint_steps=1"});
  });
  const auto state = path_ / "checkpoints" / "resume.safetensors";
  for (const auto& part :
       std::vector<std::string>{"at step ", "Last good checkpoint: " + state.string(),
                                "learning rate is too high", "train.clip=1", "train.optimizer.lr="})
    EXPECT_TRUE(test::contains(message, part));
  for (const auto& [name, tensor] : load_safetensors(state).tensors)
    EXPECT_TRUE(torch::isfinite(tensor).all().item<bool>()) << name;
}

TEST_F(Training, RefusesAModelThatDoesNotFitTheData) {
  EXPECT_TRUE(
      test::contains(test::error_of([&] { run({"model.classes=7"}); }), "set model.classes=4"));
  EXPECT_TRUE(
      test::contains(test::error_of([&] { run({"model.image=32"}); }), "data.preprocess.image=32"));
  EXPECT_TRUE(
      test::contains(test::error_of([&] { run({"model.channels=1"}); }), "model.channels=3"));
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               run({"data.dataset=addition", "data.augment={}"});
                             }),
                             "does not fit the task of data set 'addition'"));
}

TEST_F(Training, RefusesToRecomputeWhatHasNoBlocks) {
  const auto message = test::error_of([] {
    Recipe recipe;
    Settings::from_text(
        "{model: {name: resnet18}, data: {dataset: synthetic, batch: 8}, train: {recompute: true}}",
        "test")
        .read_into(recipe);
    build_for_training(recipe, open_data(resolved_data_config(recipe.data), /*seed=*/1));
  });
  EXPECT_TRUE(test::contains(message, "resnet18 has no blocks"));
}

TEST_F(Training, TheCommandLeavesACompleteRunFolder) {
  write_file_atomically(folder_ / "small.yaml", test::small_recipe());
  const auto outcome = test::run_command({"train", folder_ / "small.yaml", "train.epochs=2",
                                          "--out", folder_ / "out", "--threads", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto run = test::only_run(folder_ / "out");
  EXPECT_EQ(outcome.out, run.string() + "\n");
  for (const auto* name : {"recipe.yaml", "model_summary.txt", "metrics.jsonl", "curves.png",
                           "curves.svg", "classification_report.txt", "confusion_matrix.png",
                           "predictions.json", "checkpoints/last.safetensors",
                           "checkpoints/best.safetensors", "checkpoints/resume.safetensors"})
    EXPECT_GT(fs::file_size(run / name), 0u) << name;
  for (const auto* folder : {"", "train", "validation", "test"}) {
    int64_t events = 0;
    for (const auto& entry : fs::directory_iterator(run / "tensorboard" / folder))
      events += entry.path().filename().string().starts_with("events.out.tfevents");
    EXPECT_EQ(events, 1) << folder;
  }
  EXPECT_EQ(read_metrics(run / "metrics.jsonl").back().kind, "test");
  EXPECT_EQ(test::run_command({"eval", run.string()}).code, 0);
  const auto result = read_run_outcome(run / "result.json");
  EXPECT_EQ(result.stop_reason, StopReason::Finished);
  EXPECT_EQ(result.epochs, 2);
  EXPECT_EQ(result.checkpoint_bytes,
            static_cast<int64_t>(fs::file_size(run / "checkpoints/best.safetensors")));
  EXPECT_GT(result.peak_bytes, result.checkpoint_bytes);
}

TEST_F(Training, TheCommandTrainsANetworkThatAdds) {
  write_file_atomically(folder_ / "add.yaml",
                        "{name: add, model: {name: addition_cnn, embed: 8, channels: 16}, data: "
                        "{dataset: addition, batch: 500, validation: 0.2}, train: {epochs: 30, "
                        "optimizer: {kind: adam, lr: 0.01, weight_decay: 0}}}");
  const auto run = folder_ / "here";
  const auto outcome = test::run_command({"train", folder_ / "add.yaml", "--run", run.string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_GT(read_run_outcome(run / "result.json").test_value(), 0.5);
  const auto scored = test::run_command({"eval", run.string(), "--split", "validation", "--json"});
  EXPECT_TRUE(test::contains(scored.out, "\"examples\":2000"));
  const auto again = test::run_command({"train", folder_ / "add.yaml", "--run", run.string()});
  EXPECT_EQ(again.code, 1);
  EXPECT_TRUE(test::contains(again.err, "holds a run already"));
  EXPECT_TRUE(test::contains(test::run_command({"predict", "-m", run.string(), "x.png"}).err,
                             "does not take images"));
  const auto sum = test::run_command({"predict", "-m", run.string(), "1+2", "57+68", "--json"});
  EXPECT_EQ(sum.code, 0) << sum.err;
  EXPECT_TRUE(test::contains(sum.out, "{\"input\":\"57+68\",\"sum\":"));
}

TEST_F(Training, TheCommandTrainsANetworkThatContinuesWaves) {
  write_file_atomically(
      folder_ / "wave.yaml",
      "{name: wave, model: {name: wave_rnn, hidden: 16, cell: gru}, data: "
      "{dataset: {name: waves, length: 10}, limit: 512, batch: 64}, train: {epochs: 5, "
      "optimizer: {kind: adam, lr: 0.01, weight_decay: 0}}}");
  const auto run = folder_ / "here";
  const auto outcome = test::run_command({"train", folder_ / "wave.yaml", "--run", run.string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(test::contains(outcome.err, "test mse "));
  const auto result = read_run_outcome(run / "result.json");
  EXPECT_LT(result.test_value(), 0.2);
  EXPECT_EQ(result.selection_metric.name, "mse");
  EXPECT_EQ(result.test_value(), result.test_loss());
  EXPECT_TRUE(std::isnan(metric_value(result.test, "accuracy")));
  const auto lines = read_metrics(run / "metrics.jsonl");
  EXPECT_EQ(lines.back().value("mse"), result.test_value());
  EXPECT_TRUE(test::contains(read_file(run / "model_summary.txt"), "GRU"));
  EXPECT_GT(fs::file_size(run / "curves.svg"), 0u);
  const auto metadata = read_safetensors_metadata(run / "checkpoints/best.safetensors");
  EXPECT_FALSE(metadata.contains("preprocess"));  // there are no images
  const auto scored = test::run_command({"eval", run.string(), "--json"});
  EXPECT_TRUE(test::contains(scored.out, "\"examples\":1024"));
  EXPECT_TRUE(test::contains(scored.out, "\"mse\":"));
  EXPECT_TRUE(test::contains(test::run_command({"predict", "-m", run.string(), "x.png"}).err,
                             "does not take images; choose an image classifier"));
  EXPECT_TRUE(test::contains(test::run_command({"predict", "-m", run.string(), "1+2"}).err,
                             "does not add; choose a network that does"));
}

TEST_F(Training, TheCommandTrainsANetworkThatTellsTheNextWord) {
  write_file_atomically(folder_ / "words.yaml",
                        "{name: words, model: {name: word_transformer, dim: 16, hidden: 32, "
                        "layers: 1}, data: {dataset: sentences, batch: 32}, train: {epochs: 2, "
                        "recompute: true, label_smoothing: 0.1, optimizer: {lr: 0.01}}}");
  const auto run = folder_ / "here";
  const auto outcome = test::run_command({"train", folder_ / "words.yaml", "--run", run.string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(test::contains(outcome.err, "(perplexity "));
  const auto lines = read_metrics(run / "metrics.jsonl");
  EXPECT_LT(lines.back().value("perplexity"), 300);
  const auto scored = test::run_command({"eval", run.string(), "--split", "validation"});
  EXPECT_EQ(scored.code, 0) << scored.err;
  EXPECT_TRUE(test::contains(scored.out, "perplexity  "));
  EXPECT_TRUE(
      test::contains(test::run_command({"data", "info", "sentences"}).err, "does not consist of"));
}

TEST_F(Training, RefusesSequencesThatDoNotFitTheModel) {
  const auto message_of = [&](const std::string& recipe) {
    write_file_atomically(folder_ / "r.yaml", recipe);
    const auto outcome = test::run_command({"train", folder_ / "r.yaml", "--out", folder_ / "out"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_FALSE(fs::exists(folder_ / "out"));
    return outcome.err;
  };
  EXPECT_TRUE(test::contains(
      message_of("{model: {name: wave_transformer}, data: {dataset: {name: waves, length: 30}}}"),
      "a sequence of 30 values is longer than length 20; set model.length"));
  EXPECT_TRUE(test::contains(message_of("{model: {name: wave_rnn}, data: {dataset: waves}, train: "
                                        "{label_smoothing: 0.1}}"),
                             "set train.label_smoothing=0"));
  EXPECT_TRUE(test::contains(
      message_of("{model: {name: word_transformer, vocabulary: 50}, data: {dataset: sentences}}"),
      "the model knows 50 tokens, the data has 419; set model.vocabulary=419"));
  EXPECT_TRUE(test::contains(
      message_of("{model: {name: wave_rnn}, data: {dataset: sentences}}"),
      "wave_rnn does not fit the task of data set 'sentences'; choose word_transformer"));
}

TEST_F(Training, RefusesTokensThatAreNotThoseOfTheModel) {
  Splits bytes{.task = Task::NextToken, .vocabulary = kByteValues};
  const auto tokens = torch::randint(kByteValues, {4, 12}, torch::kLong);
  bytes.train = std::make_unique<TensorBatches>(tokens, tokens);
  Recipe recipe;
  recipe.data.batch = 2;
  const auto message_of = [&](const std::string& model) {
    recipe.model = read_model(model, {}, "test");
    return test::error_of([&] { build_for_training(recipe, bytes); });
  };
  EXPECT_TRUE(test::contains(message_of("name: word_transformer"),
                             "the model knows 419 tokens, the data has 256"));
  EXPECT_TRUE(test::contains(message_of("{name: word_transformer, vocabulary: 256}"),
                             "the data asks for the token itself"));
  recipe.model =
      read_model("{name: sparse_c10_tiny, rows: 2, columns: 2, pattern: {stride: 6}}", {}, "test");
  EXPECT_NO_THROW(build_for_training(recipe, bytes));
}

TEST_F(Training, ABadRecipeLeavesNothingBehind) {
  write_file_atomically(folder_ / "bad.yaml", test::small_recipe() + "  epohcs: 4\n");
  const auto outcome = test::run_command({"train", folder_ / "bad.yaml", "--out", folder_ / "out"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(test::contains(outcome.err, "unknown key 'train.epohcs'; did you mean 'epochs'?"));
  const auto good = test::small_recipe();
  const auto line = std::count(good.begin(), good.end(), '\n') + 1;
  EXPECT_TRUE(test::contains(outcome.err, fmt::format("bad.yaml:{}", line)));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

}  // namespace vitrine
