// ViT by others' names: small files with those names must give what our own model gives.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/formula_weights.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/formats/npz.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/importers.h"

namespace vitrine {
namespace {

const std::vector<std::string> kSmall = {"image=16", "patch=4", "classes=5", "dim=64",
                                         "depth=3",  "heads=1", "hidden=96"};

struct Case {
  std::string source, matrix;  // `matrix`: a tensor of theirs with two dimensions
  double eps = 1e-6;
  std::string activation = "gelu", resize = "bicubic";
  double mean = 0.5;  // of red
};

/// A small ViT of a source's own settings, and a file with its weights and names.
struct SmallVit {
  explicit SmallVit(const std::string& source, const std::vector<std::string>& more = {},
                    const std::string& name = "vit_ti16") {
    auto settings = kSmall;
    settings.insert(settings.end(), more.begin(), more.end());
    choice = read_model("name: " + name, settings, "test");
    torch::manual_seed(3);
    model = choice.build();
    const torch::NoGradGuard no_grad;
    for (auto& weight : model->parameters()) weight.add_(0.1 * torch::randn(weight.sizes()));
    model->eval();
    file.tensors = exported(importers().get(source).map, named_weights(*model),
                            weight_shapes(*model), whole_numbers(choice).at("heads"));
  }
  torch::Tensor& tensor(const std::string& name) {
    for (auto& [known, value] : file.tensors)
      if (known == name) return value;
    return file.tensors.emplace_back(name, torch::Tensor()).second;
  }
  /// Writes `by` for `what` in every name.
  void rename(const std::string& what, const std::string& by) {
    for (auto& [name, value] : file.tensors)
      for (auto at = name.find(what); at != name.npos; at = name.find(what, at + by.size()))
        name.replace(at, what.size(), by);
  }
  void add_prefix(const std::string& prefix) {
    for (auto& [name, value] : file.tensors) name = prefix + name;
  }
  void erase(const std::string& part) {
    std::erase_if(file.tensors, [&](const auto& t) { return t.first.find(part) != t.first.npos; });
  }
  ImportedModel imported(const ImportOptions& options = {}) const {
    save_npz(folder / "a.npz", file.tensors);
    return import_weights(folder / "a.npz", options);
  }
  std::string message(const ImportOptions& options = {}) const {
    return test::error_of([&] { imported(options); });
  }
  /// Whether the file gives this model.
  bool comes_back(const ImportOptions& options = {}) const {
    const torch::NoGradGuard no_grad;
    const auto x = model->example_input(2);
    return imported(options).checkpoint.model->forward(x).equal(model->forward(x));
  }

  test::TemporaryFolder folder;
  ModelChoice choice;
  std::shared_ptr<Model> model;
  TensorFile file;
};

class VitNames : public testing::TestWithParam<Case>, protected SmallVit {
 protected:
  VitNames()
      : SmallVit(GetParam().source, {fmt::format("norm_eps={}", GetParam().eps),
                                     "activation=" + GetParam().activation}) {}
};

TEST_P(VitNames, RoundTripIsExact) {
  const torch::NoGradGuard no_grad;
  const auto back = imported();
  EXPECT_EQ(back.source, GetParam().source);
  EXPECT_FALSE(back.checkpoint.model->is_training());
  const auto x = model->example_input(2);
  EXPECT_TRUE(back.checkpoint.model->forward(x).equal(model->forward(x)));
  auto expected = whole_numbers(choice), found = whole_numbers(back.checkpoint.info.model);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(whole_numbers(stored_model(folder / "a.npz")), expected);
  const auto weights = named_weights(*model), others = named_weights(*back.checkpoint.model);
  for (size_t i = 0; i < weights.size(); ++i)
    EXPECT_TRUE(weights[i].second.equal(others[i].second));
}

TEST_P(VitNames, AccountsForEveryTensor) {
  const auto account = imported().account;
  EXPECT_EQ(std::ssize(account.notes), std::ssize(file.tensors));
  EXPECT_EQ(account.count(LoadStatus::Loaded) + account.count(LoadStatus::Converted),
            std::ssize(file.tensors));
  for (const auto& [name, value] : file.tensors)
    EXPECT_TRUE(test::contains(account.lines(), "  " + name));
  EXPECT_TRUE(test::contains(account.summary(), fmt::format("{} tensors: ", file.tensors.size())));
}

TEST_P(VitNames, PreprocessAndClassesComeAlong) {
  const auto info = imported().checkpoint.info;
  ASSERT_TRUE(info.preprocess.has_value());
  EXPECT_EQ(info.preprocess->image, 16);
  EXPECT_TRUE(info.preprocess->resize > 16 || info.preprocess->stretch);
  EXPECT_EQ(info.preprocess->mean.at(0), GetParam().mean);
  EXPECT_EQ(info.classes.size(), 5);
  EXPECT_EQ(info.classes[4], "class 4");
}

TEST_P(VitNames, AnotherImageInterpolatesThePositions) {
  const auto larger = imported({.settings = {"image=32"}});
  EXPECT_EQ(larger.account.count(LoadStatus::Resized), 1);
  EXPECT_TRUE(test::contains(larger.account.lines(), "1x17x64 -> 1x65x64, " + GetParam().resize));
  EXPECT_EQ(larger.checkpoint.info.preprocess->image, 32);
  EXPECT_EQ(larger.checkpoint.model->position_table().size(1), 65);
  EXPECT_TRUE(larger.checkpoint.model->position_table().select(1, 0).equal(
      model->position_table().select(1, 0)));
}

TEST_P(VitNames, RefusesShapesThatDoNotFitWithBothShapes) {
  const auto name = GetParam().matrix;
  tensor(name) = torch::zeros({7, 64});
  EXPECT_TRUE(
      test::contains(message(), fmt::format("'{}' is 7x64, the other weights ask for ", name)));
}

TEST_P(VitNames, NamesWhatIsMissingAndWhatIsUnknown) {
  tensor("something.else") = torch::zeros({1});
  EXPECT_TRUE(
      test::contains(message(), "holds 'something.else', which the model has no place for"));
  std::erase_if(file.tensors, [](const auto& t) { return t.first == "something.else"; });
  const auto name = GetParam().matrix;
  std::erase_if(file.tensors, [&](const auto& t) { return t.first == name; });
  EXPECT_TRUE(test::contains(message(), fmt::format("lacks '{}'; is the file complete?", name)));
}

TEST_P(VitNames, RefusesSettingsThatTheShapesContradict) {
  EXPECT_TRUE(test::contains(message({.settings = {"depth=4"}}), "depth=4, but the weights of"));
  EXPECT_TRUE(test::contains(message({.settings = {"positions=none"}}), "the model has no weight"));
}

INSTANTIATE_TEST_SUITE_P(
    Sources, VitNames,
    testing::Values(Case{"timm_vit", "blocks.1.mlp.fc2.weight"},
                    Case{"hugging_face_vit", "vit.encoder.layer.1.attention.attention.key.weight",
                         1e-12},
                    Case{.source = "torchvision_vit",
                         .matrix = "encoder.layers.encoder_layer_1.mlp.3.weight",
                         .mean = 0.485},
                    Case{.source = "google_vit",
                         .matrix = "Transformer/encoderblock_1/MlpBlock_3/Dense_1/kernel",
                         .activation = "gelu_tanh",
                         .resize = "bilinear"}),
    [](const auto& test) { return test.param.source; });

/// What fixtures/make_vit_sources.py has computed.
bool tells_as_expected(const std::string& name, const std::vector<std::string>& settings = {}) {
  const torch::NoGradGuard no_grad;
  const fs::path fixtures = VITRINE_SOURCE_DIR "/tests/fixtures";
  const auto expected = load_npz(fixtures / (name + "_expected.npz"));
  const auto imported = import_weights(fixtures / (name + ".npz"), {.settings = settings});
  EXPECT_EQ(imported.source, name);
  const auto logits = imported.checkpoint.model->forward(*expected.find("image"));
  return torch::allclose(logits, *expected.find("logits"), 1e-4, 1e-4);
}

}  // namespace

TEST(VitSources, GiveTheLogitsOfTorchvision) {
  EXPECT_TRUE(tells_as_expected("torchvision_vit", {"heads=2"}));
  EXPECT_FALSE(tells_as_expected("torchvision_vit", {"heads=4"}));
}

TEST(VitSources, GiveTheLogitsOfGooglesFormulas) {
  EXPECT_TRUE(tells_as_expected("google_vit"));  // the file tells the heads
  EXPECT_FALSE(tells_as_expected("google_vit", {"activation=relu"}));
}

TEST(VitSources, GoogleFilesOfTrainingAndOfBigVision) {
  SmallVit vit("google_vit", {"heads=4", "activation=gelu_tanh"});
  EXPECT_TRUE(vit.comes_back());
  vit.add_prefix("opt/target/");
  vit.tensor("opt/state/step") = torch::zeros({1});
  EXPECT_TRUE(vit.comes_back());
  EXPECT_TRUE(test::contains(vit.imported().account.lines(), "(state of the optimizer)"));
  vit.erase("opt/state");
  vit.rename("opt/target/", "params/");
  vit.rename("MultiHeadDotProductAttention_1", "MultiHeadDotProductAttention_0");
  vit.rename("MlpBlock_3", "MlpBlock_0");
  vit.rename("LayerNorm_2", "LayerNorm_1");
  vit.rename("Transformer/posembed_input/pos_embedding", "pos_embedding");
  EXPECT_TRUE(vit.comes_back());
  vit.rename("params/", "params/img/");
  EXPECT_TRUE(vit.comes_back());
  vit.tensor("params/img/MAPHead_0/probe") = torch::zeros({1, 1, 64});
  EXPECT_TRUE(test::contains(vit.message(), "its head attends to the tokens (MAP)"));
}

TEST(VitSources, GoogleBlocksMayBeStacked) {
  SmallVit vit("google_vit", {"heads=4", "activation=gelu_tanh"});
  std::map<std::string, std::vector<torch::Tensor>> stacks;
  const std::string block = "Transformer/encoderblock_";
  for (const auto& [name, value] : vit.file.tensors)
    if (name.starts_with(block)) stacks[name.substr(block.size() + 1)].push_back(value);
  vit.erase(block);
  for (const auto& [rest, values] : stacks)
    vit.tensor("Transformer/encoderblock" + rest) = torch::stack(values);
  EXPECT_TRUE(vit.comes_back());
}

TEST(VitSources, AHeadThatReadsPreLogitsIsLeftOut) {
  SmallVit vit("google_vit", {"activation=gelu_tanh"});
  vit.tensor("pre_logits/kernel") = torch::zeros({64, 64});
  vit.tensor("pre_logits/bias") = torch::zeros({64});
  const auto imported = vit.imported();
  EXPECT_EQ(imported.account.count(LoadStatus::Skipped), 4);
  EXPECT_EQ(imported.account.count(LoadStatus::Missing), 2);
  EXPECT_TRUE(test::contains(imported.account.lines(), "which reads pre_logits"));
  EXPECT_EQ(imported.checkpoint.info.classes[0], "(no classifier in the file)");
  const torch::NoGradGuard no_grad;
  const auto x = vit.model->example_input(2);
  EXPECT_TRUE(imported.checkpoint.model->features(x).equal(vit.model->features(x)));
  EXPECT_EQ(vit.imported({.settings = {"classes=7"}})
                .checkpoint.model->forward(x)
                .abs()
                .sum()
                .item<double>(),
            0);
}

TEST(VitSources, BothGenerationsOfHuggingFace) {
  SmallVit vit("hugging_face_vit", {"norm_eps=1e-12"});
  vit.rename("attention.output.dense", "attention.o_proj");
  vit.rename("output.dense", "mlp.fc2");
  vit.rename("intermediate.dense", "mlp.fc1");
  vit.rename("attention.attention.query", "attention.q_proj");
  vit.rename("attention.attention.key", "attention.k_proj");
  vit.rename("attention.attention.value", "attention.v_proj");
  vit.rename("encoder.layer.", "layers.");
  EXPECT_TRUE(vit.comes_back());
  vit.erase("layers.1.attention.k_proj.bias");
  EXPECT_TRUE(test::contains(vit.message(), "lacks 'vit.layers.1.attention.k_proj.bias'"));
}

TEST(VitSources, HuggingFaceWithoutItsClassifier) {
  SmallVit vit("hugging_face_vit", {"norm_eps=1e-12"});
  vit.erase("classifier");
  vit.rename("vit.", "");
  vit.tensor("pooler.dense.weight") = torch::zeros({64, 64});
  const auto imported = vit.imported();
  EXPECT_EQ(imported.account.count(LoadStatus::Missing), 2);
  const torch::NoGradGuard no_grad;
  const auto x = vit.model->example_input(2);
  EXPECT_TRUE(imported.checkpoint.model->features(x).equal(vit.model->features(x)));
}

TEST(VitSources, OldNamesOfTorchvision) {
  SmallVit vit("torchvision_vit");
  vit.rename("mlp.0", "mlp.linear_1");
  vit.rename("mlp.3", "mlp.linear_2");
  EXPECT_TRUE(vit.comes_back());
}

TEST(VitSources, DeitIIIHasLayerScaleAndNoPositionOfTheClassToken) {
  SmallVit vit("timm_vit", {"layer_scale=1e-6", "class_position=false"});
  EXPECT_EQ(vit.tensor("pos_embed").size(1), 16);
  EXPECT_TRUE(vit.comes_back());
  EXPECT_EQ(vit.imported().checkpoint.info.preprocess->mean.at(0), 0.485);
  vit.rename("ls1.gamma", "gamma_1");
  vit.rename("ls2.gamma", "gamma_2");
  EXPECT_TRUE(vit.comes_back());
  vit.tensor("blocks.1.gamma_2") = torch::zeros({63});
  EXPECT_TRUE(
      test::contains(vit.message(), "'blocks.1.gamma_2' is 63, the other weights ask for 64"));
}

TEST(VitSources, ADistilledDeitHasASecondTokenAndHead) {
  const torch::NoGradGuard no_grad;
  for (const auto* source : {"timm_vit", "hugging_face_deit"}) {
    const bool timm = std::string(source) == "timm_vit";
    SmallVit vit(source, {timm ? "norm_eps=1e-06" : "norm_eps=1e-12"}, "deit_ti16_distilled");
    const auto back = vit.imported();
    EXPECT_EQ(back.source, source);
    EXPECT_EQ(to_yaml(back.checkpoint.info.model), to_yaml(vit.choice));
    EXPECT_EQ(back.checkpoint.info.preprocess->mean.at(0), 0.485);
    EXPECT_TRUE(vit.comes_back()) << source;
    EXPECT_TRUE(test::contains(vit.imported({.settings = {"image=32"}}).account.lines(),
                               "1x18x64 -> 1x66x64, bicubic"));
    vit.erase(timm ? "head_dist." : "distillation_classifier.");
    EXPECT_TRUE(test::contains(vit.message(), "only one of its two heads"));
    vit.erase(timm ? "head." : "cls_classifier.");
    const auto headless = vit.imported();
    EXPECT_EQ(headless.account.count(LoadStatus::Missing), 4);
    const auto x = vit.model->example_input(2);
    EXPECT_TRUE(headless.checkpoint.model->features(x).equal(vit.model->features(x)));
    EXPECT_EQ(headless.checkpoint.model->forward(x).abs().sum().item<double>(), 0);
  }
}

TEST(VitSources, ADistilledDeitThatReadsOneTokenIsRefused) {
  SmallVit vit("hugging_face_deit", {}, "deit_ti16_distilled");
  vit.erase("distillation_classifier.");
  vit.rename("cls_classifier.", "classifier.");
  EXPECT_TRUE(test::contains(vit.message(), "leaves out the distillation token"));
}

TEST(VitSources, AFileOfDeitGivesTheLogitsOfItsFormulas) {
  const torch::NoGradGuard no_grad;
  const fs::path fixtures = VITRINE_SOURCE_DIR "/tests/fixtures";
  const auto expected = nlohmann::json::parse(read_file(fixtures / "deit.json"))["file"];
  const auto path = fixtures / "deit_distilled.pth";
  const int64_t image = expected["image"], batch = expected["batch"];
  const auto x = test::numbers("input", {batch, 3, image, image}, 2);
  const auto wanted = torch::tensor(expected["output"].get<std::vector<double>>(), torch::kFloat);
  const auto error = [&](const std::string& heads) {
    const auto model = import_weights(path, {.settings = {heads}}).checkpoint.model;
    return (model->forward(x).flatten() - wanted).abs().max().item<double>();
  };
  EXPECT_LT(error("heads=2"), 1e-4);
  EXPECT_GT(error("heads=1"), 1e-3);
}

TEST(VitSources, DeitIsToldByTheNameOfItsFile) {
  const SmallVit vit("timm_vit");
  const auto mean_of = [&](const std::string& name) {
    save_npz(vit.folder / name, vit.file.tensors);
    return import_weights(vit.folder / name).checkpoint.info.preprocess->mean.at(0);
  };
  EXPECT_EQ(mean_of("deit_tiny_patch16_224-a1311bcf.npz"), 0.485);
  EXPECT_EQ(mean_of("vit_tiny_patch16_224.npz"), 0.5);
}

TEST(VitSources, TimmModelsWithoutAClassTokenAverage) {
  SmallVit vit("timm_vit", {"pool=mean"});
  EXPECT_TRUE(vit.comes_back());
  vit.rename("norm.weight", "fc_norm.weight");
  EXPECT_TRUE(test::contains(vit.message(), "averages its tokens and normalises then"));
}

TEST(VitSources, OfAThousandClassesKnowImageNet) {
  const SmallVit vit("timm_vit", {"classes=1000"});
  const auto classes = vit.imported().checkpoint.info.classes;
  ASSERT_EQ(classes.size(), 1000);
  EXPECT_EQ(classes[0], "tench");
  EXPECT_EQ(classes[281], "tabby");
  EXPECT_EQ(classes[517], "crane (machine)");
  EXPECT_EQ(classes[999], "toilet tissue");
  EXPECT_EQ(std::set(classes.begin(), classes.end()).size(), 1000);
}

TEST(VitSources, TheUserMaySayWhichModelItIs) {
  const SmallVit vit("timm_vit",
                     {"dim=192", "depth=12", "hidden=768", "heads=3", "patch=16", "image=32"});
  EXPECT_TRUE(vit.comes_back({.model = "vit_ti16"}));
  EXPECT_TRUE(test::contains(vit.message({.model = "vit_s16"}),
                             "are for dim=192, but vit_s16 has 384; choose another --model"));
}

TEST(VitSources, TheUserMayPrepareImagesOtherwise) {
  const SmallVit vit("timm_vit");
  const auto how =
      vit.imported({.settings = {"preprocess.resize=20", "preprocess.mean=[0.1, 0.2, 0.3]"}})
          .checkpoint.info.preprocess.value();
  EXPECT_EQ(how.resize, 20);
  EXPECT_EQ(how.mean, std::vector<double>({0.1, 0.2, 0.3}));
  EXPECT_TRUE(test::contains(vit.message({.settings = {"preprocess.rezise=20"}}), "resize"));
}

TEST(Checkpoint, OfOthersIsEvaluatedOnDataOfAsManyClasses) {
  const SmallVit vit("timm_vit", {"classes=4"});
  const auto path = (vit.folder / "a.safetensors").string();
  save_safetensors(path, vit.file);
  EXPECT_TRUE(test::contains(test::run_command({"eval", path}).err, "data.dataset=NAME"));
  const std::vector<std::string> synthetic = {"eval", path, "data.dataset=synthetic",
                                              "data.dataset.image=16", "data.dataset.test=8"};
  auto right = synthetic, wrong = synthetic;
  right.push_back("data.dataset.classes=4");
  wrong.push_back("data.dataset.classes=3");
  EXPECT_TRUE(test::contains(test::run_command(right).out, "on 8 test examples of synthetic"));
  EXPECT_TRUE(test::contains(test::run_command(wrong).err, "are not those that the model"));
}

TEST(Checkpoint, OfOthersIsTakenAsItIs) {
  const torch::NoGradGuard no_grad;
  const SmallVit vit("timm_vit");
  const auto path = vit.folder / "a.safetensors";
  save_safetensors(path, vit.file);
  const auto x = vit.model->example_input(2);
  EXPECT_TRUE(load_checkpoint(path).model->forward(x).equal(vit.model->forward(x)));
  save_npz(vit.folder / "b.npz", vit.file.tensors);
  EXPECT_TRUE(load_checkpoint(vit.folder / "b.npz").model->forward(x).equal(vit.model->forward(x)));
  EXPECT_EQ(whole_numbers(stored_model(path)), whole_numbers(vit.choice));
  for (const auto& file : {path, vit.folder / "b.npz"}) {
    const auto described = stored_info(file), loaded = load_checkpoint(file).info;
    EXPECT_EQ(to_yaml(described.model), to_yaml(loaded.model));
    EXPECT_EQ(to_yaml(*described.preprocess), to_yaml(*loaded.preprocess));
    EXPECT_EQ(described.classes, loaded.classes);
  }
  EXPECT_EQ(test::run_command({"summary", path}).code, 0);
  EXPECT_TRUE(is_published(path));
  save_checkpoint(vit.folder / "own.safetensors", *vit.model, {.model = vit.choice});
  EXPECT_FALSE(is_published(vit.folder / "own.safetensors"));
}

TEST(ImportCommand, SaysWhatBecameOfTheTensors) {
  test::TemporaryFolder folder;
  SmallVit vit("hugging_face_vit");
  const auto in = (folder / "in.safetensors").string(), out = (folder / "out.safetensors").string();
  vit.tensor("vit.pooler.dense.weight") = torch::zeros({64, 64});
  save_safetensors(in, vit.file);
  const auto brief = test::run_command({"import", in, "-o", out});
  EXPECT_EQ(brief.code, 0) << brief.err;
  EXPECT_TRUE(
      test::contains(brief.err, "Hugging Face: 57 tensors: 38 loaded, 18 converted, 1 skip"));
  EXPECT_TRUE(test::contains(brief.out, "heads: 1\n"));
  const auto full = test::run_command({"import", in, "-o", out, "--tensors"});
  EXPECT_TRUE(test::contains(full.err, "key.weight"));
  EXPECT_TRUE(test::contains(full.err, "(one of 3 stacked)"));
  EXPECT_TRUE(test::contains(full.err, "(the classifier does not use the pooler)"));
  EXPECT_EQ(load_checkpoint(out).info.classes.size(), 5);
}

}  // namespace vitrine
