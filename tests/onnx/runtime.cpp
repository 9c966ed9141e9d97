#include "tests/onnx/runtime.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace vitrine::test {
namespace {

const fs::path kPeer = VITRINE_ONNX_PEER_DIR;

nlohmann::json feed_of(const RuntimeJob& job, const fs::path& file) {
  const auto x = job.x.contiguous();
  write_file_atomically(file, std::string_view(static_cast<const char*>(x.data_ptr()), x.nbytes()));
  return {{"type", x.scalar_type() == torch::kLong ? "int64" : "float32"},
          {"dims", x.sizes().vec()},
          {"file", file.string()}};
}

void expect_close(const RuntimeJob& job, const std::string& name, const std::string& prefix,
                  const nlohmann::json& shapes, double tolerance) {
  const auto expected = job.expected.at(name).to(torch::kFloat);
  ASSERT_TRUE(shapes.contains(name)) << job.label << " has no output " << name;
  EXPECT_EQ(shapes[name].get<std::vector<int64_t>>(), expected.sizes().vec())
      << job.label << " " << name;
  auto bytes = read_file(prefix + "." + name);
  ASSERT_EQ(bytes.size(), static_cast<size_t>(expected.nbytes())) << job.label << " " << name;
  const auto found = torch::from_blob(bytes.data(), expected.sizes(), torch::kFloat);
  EXPECT_TRUE(found.allclose(expected, /*rtol=*/tolerance, /*atol=*/tolerance))
      << job.label << " " << name << ": differs by "
      << (found - expected).abs().max().item<double>();
}

}  // namespace

void OnnxRuntime::SetUp() {
  if (std::system("node --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "node is not installed";
  fs::create_directories(kPeer);
  for (const auto& file : fs::directory_iterator(VITRINE_SOURCE_DIR "/tests/onnx/peer"))
    fs::copy_file(file.path(), kPeer / file.path().filename(),
                  fs::copy_options::overwrite_existing);
  if (fs::exists(kPeer / "node_modules" / ".package-lock.json")) return;
  // Without scripts: the one of onnxruntime-node fetches what only GPUs need.
  const auto fetch = "cd '" + kPeer.string() +
                     "' && timeout 300 npm ci --ignore-scripts --no-audit --no-fund "
                     "--fetch-retries=0 >npm.log 2>&1";
  if (std::system(fetch.c_str()) != 0)
    GTEST_SKIP() << "npm could not fetch onnxruntime-node (offline?); see " << kPeer / "npm.log";
}

void OnnxRuntime::expect_same(const std::vector<RuntimeJob>& jobs, double tolerance) {
  nlohmann::json list = nlohmann::json::array();
  const auto prefix = [&](size_t i) { return (folder / std::to_string(i)).string(); };
  for (size_t i = 0; i < jobs.size(); ++i)
    list.push_back({{"model", jobs[i].model.string()},
                    {"feeds", {{jobs[i].input, feed_of(jobs[i], prefix(i) + ".feed")}}},
                    {"out", prefix(i)}});
  write_file_atomically(folder / "jobs.json", list.dump());
  const auto command =
      "cd '" + kPeer.string() + "' && node run_onnx.js '" + (folder / "jobs.json").string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto shapes = nlohmann::json::parse(read_file(prefix(i) + ".json"));
    EXPECT_EQ(shapes.size(), jobs[i].expected.size()) << jobs[i].label;
    for (const auto& [name, expected] : jobs[i].expected)
      expect_close(jobs[i], name, prefix(i), shapes, tolerance);
  }
}

}  // namespace vitrine::test
