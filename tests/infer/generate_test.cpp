#include "vitrine/infer/generate.h"

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/shake.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/image_files.h"
#include "vitrine/infer/sampler.h"
#include "vitrine/infer/sparse_decoder.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

const std::string kPictures =
    "{name: sparse_c10_tiny, rows: 4, columns: 5, layers: 2, heads: 2, dim: 16, key_width: 8, "
    "hidden: 24, pattern: {stride: 8, summary: 3}}";
const std::string kTexts =
    "{name: sparse_c10_tiny, rows: 3, columns: 8, channels: 1, layers: 1, heads: 2, dim: 16, "
    "key_width: 8, hidden: 24, pattern: {stride: 5}}";

ModelChoice choice_of(const std::string& settings, const std::string& more = "{}") {
  ModelChoice choice;
  Settings::from_text(settings, "test").read_into(choice);
  Settings::from_text(more, "test").read_into(choice);
  return choice;
}

/// The head starts at zero; here it should tell what comes in.
std::shared_ptr<SparseTransformer> shaken(const ModelChoice& choice) {
  torch::manual_seed(1);
  const auto model = choice.build();
  test::shake(*model, 0.3);
  return std::dynamic_pointer_cast<SparseTransformer>(model);
}

void save_shaken(const fs::path& path, const std::string& settings) {
  const auto choice = choice_of(settings);
  save_checkpoint(path, *shaken(choice), {.model = choice});
}

int64_t longest_memory(const AttentionPattern& pattern, int64_t tokens) {
  return KeyCalendar(pattern, tokens).slots();
}

}  // namespace

TEST(SparseDecoder, ScoresAsTheWholeForwardPassDoes) {
  for (const auto* kind : {"dense", "local", "strided", "fixed", "longformer"})
    for (const auto* spread : {"merged", "per_head", "per_layer"})
      for (const auto* order : {"interleaved", "planar"}) {
        const auto model = shaken(choice_of(
            kPictures,
            fmt::format("{{pattern: {{kind: {}}}, spread: {}, order: {}}}", kind, spread, order)));
        const torch::NoGradGuard no_grad;
        const auto bytes = model->example_input(3);
        const auto expected = model->ordered(model->forward(bytes));
        const auto ordered = model->ordered(bytes);
        SparseDecoder decoder(model, 3);
        for (int64_t t = 0; t < 60; ++t) {
          const auto scores = decoder.next(t == 0 ? torch::Tensor() : ordered.select(1, t - 1));
          ASSERT_TRUE(torch::allclose(scores, expected.select(1, t), 1e-4, 1e-4))
              << kind << " " << spread << " " << order << " byte " << t;
        }
      }
}

TEST(SparseDecoder, KeepsOnlyTheKeysThatThePatternStillNeeds) {
  EXPECT_EQ(longest_memory({.kind = PatternKind::Dense}, 100), 100);
  EXPECT_EQ(longest_memory({.kind = PatternKind::Local, .stride = 10}, 100), 11);
  EXPECT_EQ(longest_memory({.kind = PatternKind::Fixed, .stride = 10, .summary = 2}, 100),
            2 * 9 + 10);
}

TEST(Sampler, DrawsTheSameBytesForTheSameSeed) {
  const auto model = shaken(choice_of(kPictures));
  const SampleOptions options{.count = 3, .seed = 7};
  const auto bytes = sample_bytes(model, options);
  EXPECT_EQ(bytes.sizes(), (std::vector<int64_t>{3, 60}));
  EXPECT_TRUE(bytes.equal(sample_bytes(model, options)));
  EXPECT_FALSE(bytes.equal(sample_bytes(model, {.count = 3, .seed = 8})));
  // A sequence does not depend on how many are drawn at once.
  EXPECT_TRUE(bytes.slice(0, 0, 1).equal(sample_bytes(model, {.count = 1, .seed = 7})));
}

TEST(Sampler, WithTopOneTakesTheLikeliestByte) {
  const auto model = shaken(choice_of(kPictures));
  const auto bytes = sample_bytes(model, {.count = 2, .top_k = 1});
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(bytes.equal(model->forward(bytes).argmax(-1)));
}

TEST(Sampler, DrawsAsOftenAsTheSoftmaxSays) {
  const auto scores = torch::tensor({{0.0, 1.0, 2.0}}).expand({20000, 3});
  const auto shares = [&](const SampleOptions& options) {
    const auto bytes = draw_bytes(scores, options, /*position=*/0);
    return torch::bincount(bytes, {}, 3).to(torch::kDouble) / 20000;
  };
  EXPECT_TRUE(torch::allclose(
      shares({}), torch::tensor({0.0, 1.0, 2.0}).softmax(0).to(torch::kDouble), 0, 0.015));
  EXPECT_TRUE(torch::allclose(shares({.temperature = 0.5}),
                              torch::tensor({0.0, 2.0, 4.0}).softmax(0).to(torch::kDouble), 0,
                              0.015));
  EXPECT_EQ(shares({.top_k = 2})[0].item<double>(), 0);
}

TEST(Generate, KeepsTheUpperPartOfAPicture) {
  const test::TemporaryFolder folder;
  save_shaken(folder / "m.safetensors", kPictures);
  Image picture(5, 4);
  for (size_t i = 0; i < picture.pixels.size(); ++i) picture.pixels[i] = static_cast<uint8_t>(i);
  const auto made = generate(folder / "m.safetensors", {.count = 3, .picture = picture});
  ASSERT_EQ(made.pictures.size(), 3u);
  EXPECT_EQ(made.bytes, 3 * 30);
  for (const auto& one : made.pictures) {
    EXPECT_TRUE(std::equal(one.pixels.begin(), one.pixels.begin() + 30, picture.pixels.begin()));
    EXPECT_NE(one.pixels, picture.pixels);
  }
  EXPECT_NE(made.pictures[0].pixels, made.pictures[1].pixels);
}

TEST(Sample, WritesAGridOfPictures) {
  const test::TemporaryFolder folder;
  const auto model = (folder / "m.safetensors").string(), out = (folder / "s.png").string();
  save_shaken(model, kPictures);
  const auto outcome = test::run_command({"sample", model, "-n", "4", "-o", out});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(test::contains(outcome.out, "s.png"));
  EXPECT_TRUE(test::contains(outcome.err, "bytes/s"));
  EXPECT_GT(read_image(out).width, 0);
}

TEST(Sample, ContinuesATextOfATextModel) {
  const test::TemporaryFolder folder;
  const auto model = (folder / "m.safetensors").string();
  save_shaken(model, kTexts);
  const auto outcome = test::run_command({"sample", model, "-n", "2", "--text", "Once upon"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("Once upon"));
}

TEST(Sample, RefusesWhatTheModelCannotDo) {
  const test::TemporaryFolder folder;
  const auto pictures = (folder / "p.safetensors").string(),
             texts = (folder / "t.safetensors").string(), image = (folder / "i.png").string();
  save_shaken(pictures, kPictures);
  save_shaken(texts, kTexts);
  write_png(image, Image(6, 4));
  const auto refusal = [](const std::vector<std::string>& arguments) {
    const auto outcome = test::run_command(arguments);
    EXPECT_EQ(outcome.code, 1);
    return outcome.err;
  };
  EXPECT_TRUE(test::contains(refusal({"sample", pictures, "--complete", image}), "6 x 4"));
  EXPECT_TRUE(
      test::contains(refusal({"sample", texts, "--complete", image}), "text, not pictures"));
  EXPECT_TRUE(test::contains(refusal({"sample", pictures, "--text", "a"}), "has learned pictures"));
  EXPECT_TRUE(test::contains(refusal({"sample", pictures, "--temperature", "0"}), "temperature 0"));
  EXPECT_TRUE(test::contains(refusal({"sample", pictures, "-n", "0"}), "at least one"));
}

}  // namespace vitrine
