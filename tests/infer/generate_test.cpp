#include "vitrine/infer/generate.h"

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/small_generators.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/image_files.h"
#include "vitrine/data/sentences.h"
#include "vitrine/infer/generator.h"
#include "vitrine/infer/sampling.h"
#include "vitrine/models/decoder.h"
#include "vitrine/models/model.h"

namespace vitrine {
namespace {

Generator generator_of(const std::string& settings, const std::string& more = "{}") {
  return {test::shaken(test::choice_of(settings, more)), "test"};
}

torch::Tensor byte_rows(const std::vector<int64_t>& bytes) {
  return torch::tensor(bytes).view({2, -1});
}

}  // namespace

TEST(Generator, SamplesTheSameTokensForTheSameSeed) {
  const auto generator = generator_of(test::kImageBytes);
  const SampleOptions options{.count = 3, .seed = 7};
  const auto bytes = generator.sample(options);
  EXPECT_EQ(bytes.sizes(), (std::vector<int64_t>{3, 60}));
  EXPECT_TRUE(bytes.equal(generator.sample(options)));
  EXPECT_FALSE(bytes.equal(generator.sample({.count = 3, .seed = 8})));
  // A sequence does not depend on how many are sampled at once.
  EXPECT_TRUE(bytes.slice(0, 0, 1).equal(generator.sample({.count = 1, .seed = 7})));
}

// Recorded once; a seed gives the same bytes in every version.
TEST(Generator, SamplesTheRecordedBytes) {
  const SampleOptions options{.count = 2, .temperature = 0.9, .top_k = 200, .seed = 7};
  const auto sampled = [&](const std::string& more) {
    return generator_of(test::kImageBytes, more).sample(options);
  };
  EXPECT_TRUE(sampled("{assignment: per_head}")
                  .equal(byte_rows(
                      {21,  94, 200, 220, 205, 201, 93,  60,  150, 182, 236, 212, 28,  28,  8,
                       84,  89, 130, 79,  22,  182, 89,  28,  193, 78,  236, 233, 78,  233, 248,
                       78,  10, 30,  255, 236, 30,  179, 205, 66,  78,  154, 141, 233, 165, 73,
                       120, 78, 20,  177, 10,  177, 233, 205, 197, 236, 78,  39,  44,  236, 165,
                       33,  18, 21,  10,  8,   241, 29,  205, 137, 13,  10,  157, 8,   227, 8,
                       35,  78, 10,  236, 76,  200, 83,  163, 223, 236, 78,  33,  236, 78,  196,
                       177, 20, 130, 10,  236, 125, 238, 78,  78,  78,  255, 254, 13,  101, 151,
                       30,  30, 179, 2,   205, 110, 205, 179, 84,  223, 78,  138, 179, 183, 33})));
  EXPECT_TRUE(sampled("{assignment: per_head, order: planar}")
                  .equal(byte_rows(
                      {21,  223, 164, 94,  92,  155, 197, 30,  217, 205, 179, 169, 236, 83,  78,
                       179, 221, 122, 99,  220, 78,  70,  103, 13,  154, 220, 163, 205, 254, 10,
                       218, 78,  178, 205, 10,  223, 28,  20,  195, 20,  255, 181, 10,  236, 233,
                       84,  20,  39,  106, 179, 20,  130, 203, 28,  78,  73,  210, 10,  94,  154,
                       33,  220, 255, 18,  94,  251, 20,  169, 8,   10,  223, 94,  9,   213, 154,
                       223, 78,  22,  10,  20,  39,  205, 220, 177, 130, 78,  2,   10,  177, 199,
                       8,   177, 84,  137, 24,  207, 10,  127, 199, 204, 10,  78,  10,  236, 236,
                       39,  126, 78,  99,  246, 130, 10,  78,  178, 220, 80,  176, 78,  78,  28})));
}

TEST(Sampling, GivesItsTokensStepByStepAndCanStop) {
  for (const auto* more : {"{}", "{order: planar}"}) {
    const auto generator = generator_of(test::kImageBytes, more);
    const SampleOptions options{.count = 3, .seed = 7};
    const auto whole = generator.sample(options);
    Sampling sampling(generator, options);
    for (int64_t t = 0; t < 10; ++t) {
      ASSERT_TRUE(sampling.step());
      EXPECT_EQ(sampling.position(), t + 1);
      EXPECT_TRUE(sampling.tokens_at(t).equal(whole.select(1, sampling.place_of(t)))) << more;
    }
    EXPECT_EQ(sampling.sampled(), 30);
    while (sampling.step()) {
    }
    EXPECT_TRUE(sampling.sequences().equal(whole));
  }
}

TEST(Generator, WithTopOneTakesTheMostProbableByte) {
  const auto model = test::shaken(test::choice_of(test::kImageBytes));
  const auto bytes = Generator(model, "test").sample({.count = 2, .top_k = 1});
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(bytes.equal(model->forward(bytes).argmax(-1)));
}

TEST(Generator, ContinuesOnlyWhatTheModelReadsFirst) {
  const auto planar = generator_of(test::kImageBytes, "{order: planar}");
  EXPECT_TRUE(
      test::contains(test::error_of([&] {
                       planar.sample({.count = 1, .prefix = torch::zeros({1, 15}, torch::kLong)});
                     }),
                     "order: planar"));
  const auto interleaved = generator_of(test::kImageBytes);
  EXPECT_TRUE(test::contains(
      test::error_of([&] {
        interleaved.sample({.count = 1, .prefix = torch::zeros({1, 61}, torch::kLong)});
      }),
      "61 bytes are given, a sequence has at most 60"));
}

TEST(Generator, EndsSentencesAndLeavesOutWhatIsNoWord) {
  const auto& vocabulary = sentence_vocabulary();
  const Generator generator(test::shaken(test::choice_of(test::kSentences)), "test",
                            vocabulary.words());
  // High temperature: every word, the end and the other special tokens are about equally likely.
  const auto tokens = generator.sample({.count = 200, .temperature = 50});
  EXPECT_EQ(tokens.size(1), 16);
  EXPECT_FALSE((tokens == Vocabulary::kUnknown).any().item<bool>());
  EXPECT_FALSE((tokens == Vocabulary::kStart).any().item<bool>());
  const auto ends = (tokens == Vocabulary::kEnd).to(torch::kLong);
  EXPECT_GT(ends.sum().item<int64_t>(), 0);
  EXPECT_TRUE(ends.equal(std::get<0>(ends.cummax(1))));  // nothing but ends after an end
  EXPECT_EQ(generator.count_tokens(tokens), 200 * 16 - ends.sum().item<int64_t>());
  EXPECT_EQ(
      generator.texts_of(torch::tensor({{vocabulary.id("the"), vocabulary.id("cat"),
                                         vocabulary.id("."), Vocabulary::kEnd, Vocabulary::kEnd}})),
      (std::vector<std::string>{"the cat."}));
}

TEST(Generator, RefusesModelsThatDoNotGenerate) {
  const auto message_of = [](const std::string& settings, const std::vector<std::string>& words) {
    const auto model = test::choice_of(settings).build();
    return test::error_of([&] { Generator(model, "this model", words); });
  };
  EXPECT_TRUE(test::contains(message_of("name: cct_2_3x2", {}),
                             "this model does not predict the next token"));
  EXPECT_TRUE(test::contains(message_of(test::kSentences, {}), "knows 419 tokens"));
  EXPECT_TRUE(test::contains(message_of(test::kSentences, {"<unknown>", "<start>", "<end>", "cat"}),
                             "4 words are given"));
}

TEST(Sampler, DrawsAsOftenAsTheSoftmaxSays) {
  const auto logits = torch::tensor({{0.0, 1.0, 2.0}}).expand({20000, 3});
  const auto shares = [&](const SampleOptions& options) {
    const auto bytes = sample_next_token(logits, options, /*position=*/0);
    return torch::bincount(bytes, {}, 3).to(torch::kDouble) / 20000;
  };
  EXPECT_TRUE(torch::allclose(
      shares({}), torch::tensor({0.0, 1.0, 2.0}).softmax(0).to(torch::kDouble), 0, 0.015));
  EXPECT_TRUE(torch::allclose(shares({.temperature = 0.5}),
                              torch::tensor({0.0, 2.0, 4.0}).softmax(0).to(torch::kDouble), 0,
                              0.015));
  EXPECT_EQ(shares({.top_k = 2})[0].item<double>(), 0);
}

TEST(Generate, KeepsTheUpperPartOfAnImage) {
  const test::TemporaryFolder folder;
  test::save_shaken(folder / "m.safetensors", test::kImageBytes);
  Image image(5, 4);
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i);
  const auto made = generate(folder / "m.safetensors", {.count = 3, .image = image});
  ASSERT_EQ(made.images.size(), 3u);
  EXPECT_EQ(made.tokens, 3 * 30);
  for (const auto& one : made.images) {
    EXPECT_TRUE(std::equal(one.pixels.begin(), one.pixels.begin() + 30, image.pixels.begin()));
    EXPECT_NE(one.pixels, image.pixels);
  }
  EXPECT_NE(made.images[0].pixels, made.images[1].pixels);
}

TEST(Sample, WritesAGridOfImages) {
  const test::TemporaryFolder folder;
  const auto model = (folder / "m.safetensors").string(), out = (folder / "s.png").string();
  test::save_shaken(model, test::kImageBytes);
  const auto outcome = test::run_command({"sample", model, "-n", "4", "-o", out});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(test::contains(outcome.out, "s.png"));
  EXPECT_TRUE(test::contains(outcome.err, "bytes/s"));
  EXPECT_GT(read_image(out).width, 0);
}

TEST(Sample, ContinuesATextOfATextModel) {
  const test::TemporaryFolder folder;
  const auto model = (folder / "m.safetensors").string();
  test::save_shaken(model, test::kTextBytes);
  const auto outcome = test::run_command({"sample", model, "-n", "2", "--text", "Once upon"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("Once upon"));
}

TEST(Sample, ContinuesASentenceOfAWordModel) {
  const test::TemporaryFolder folder;
  const auto model = (folder / "m.safetensors").string();
  test::save_shaken(model, test::kSentences, sentence_vocabulary().words());
  const auto outcome = test::run_command({"sample", model, "-n", "3", "--text", "The cat"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("the cat "));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3);
  EXPECT_TRUE(test::contains(outcome.err, "words/s"));
  const auto unknown = test::run_command({"sample", model, "--text", "The catt sat"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_TRUE(test::contains(unknown.err, "the word 'catt' is not in the model's vocabulary"));
  EXPECT_TRUE(test::contains(unknown.err, "did you mean 'cat'?"));
  const auto several = test::run_command({"sample", model, "--text", "The catt zzat"});
  EXPECT_TRUE(test::contains(several.err, "the words 'catt', 'zzat' are not in"));
  EXPECT_TRUE(test::contains(several.err, "of 416 words, such as "));
}

TEST(Sample, NamesAModelThatCannotGenerate) {
  const test::TemporaryFolder folder;
  const auto path = (folder / "m.safetensors").string();
  test::save_shaken(path, "{name: wave_rnn}");
  const auto outcome = test::run_command({"sample", path});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(test::contains(outcome.err, "wave_rnn of '" + path + "' does not predict"));
  EXPECT_TRUE(test::contains(outcome.err, "choose word_transformer or a model whose name begins"));
}

TEST(Sample, RefusesWhatTheModelCannotDo) {
  const test::TemporaryFolder folder;
  const auto images = (folder / "p.safetensors").string(),
             texts = (folder / "t.safetensors").string(), image = (folder / "i.png").string();
  test::save_shaken(images, test::kImageBytes);
  test::save_shaken(texts, test::kTextBytes);
  write_png(image, Image(6, 4));
  const auto refusal = [](const std::vector<std::string>& arguments) {
    const auto outcome = test::run_command(arguments);
    EXPECT_EQ(outcome.code, 1);
    return outcome.err;
  };
  EXPECT_TRUE(test::contains(refusal({"sample", images, "--complete", image}), "6 x 4"));
  EXPECT_TRUE(test::contains(refusal({"sample", texts, "--complete", image}), "text, not images"));
  EXPECT_TRUE(test::contains(refusal({"sample", images, "--text", "a"}), "has learned images"));
  const auto misuse = [](const std::vector<std::string>& arguments) {
    const auto outcome = test::run_command(arguments);
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  EXPECT_TRUE(test::contains(misuse({"sample", images, "--temperature", "0"}),
                             "--temperature: 0 is out of range (above 0)"));
  EXPECT_TRUE(
      test::contains(misuse({"sample", images, "-n", "0"}), "0 is out of range (1 or more)"));
}

TEST(SampleCommand, NamesEveryTileOfTheSheet) {
  const test::TemporaryFolder folder;
  test::save_shaken(folder / "m.safetensors", test::kImageBytes);
  Image image(5, 4);
  std::fill(image.pixels.begin(), image.pixels.end(), uint8_t{90});
  write_png(folder / "half.png", image);
  const auto model = (folder / "m.safetensors").string(), out = (folder / "sheet.svg").string();
  const auto completed = test::run_command(
      {"sample", model, "-n", "2", "--complete", (folder / "half.png").string(), "-o", out});
  ASSERT_EQ(completed.code, 0) << completed.err;
  for (const auto* title : {">original<", ">given<", ">completed 1<", ">completed 2<"})
    EXPECT_TRUE(test::contains(read_file(out), title)) << title;
  ASSERT_EQ(test::run_command({"sample", model, "-n", "3", "-o", out}).code, 0);
  for (const auto* title : {">sample 1<", ">sample 2<", ">sample 3<"})
    EXPECT_TRUE(test::contains(read_file(out), title)) << title;
}

}  // namespace vitrine
