#include "bench/serve/workload.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"
#include "vitrine/core/random.h"

namespace vitrine::bench {
namespace {

using nlohmann::json;

constexpr int64_t kInputs = 16;      // different ones
constexpr double kTolerance = 1e-4;  // another batch rounds otherwise

bool close(double a, double b) {
  return std::abs(a - b) <= kTolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

class Tensors : public Workload {
 public:
  explicit Tensors(int port) {
    const auto model = json::parse(get(port, fmt::format("/v2/models/{}", kModel)));
    shape_ = model["inputs"][0]["shape"].get<std::vector<int64_t>>();
    shape_[0] = 1;
    classes_ = model["outputs"][0]["shape"][1];
    const auto values = static_cast<size_t>(shape_[1] * shape_[2] * shape_[3]);
    Connection connection(port);
    for (int64_t i = 0; i < kInputs; ++i) {
      Random random{static_cast<uint64_t>(i)};
      std::vector<float> tensor(values);
      for (auto& value : tensor) value = static_cast<float>(random.uniform(-2, 2));
      auto& bytes = tensors_.emplace_back(values * sizeof(float), '\0');
      std::memcpy(bytes.data(), tensor.data(), bytes.size());
      expected_.push_back(logits_of(ask(connection, i)));
    }
    check(!same(expected_[0], expected_[1]), "the model answers the same whatever it is asked");
  }

  std::string name() const override { return "tensors"; }
  std::string route() const override { return "/v2/models/{model}/infer"; }

  Answer ask(Connection& connection, int64_t number) const override {
    const auto& tensor = tensors_[static_cast<size_t>(number % kInputs)];
    const json header = {{"id", id_of(number)},
                         {"inputs",
                          {{{"name", "image"},
                            {"datatype", "FP32"},
                            {"shape", shape_},
                            {"parameters", {{"binary_data_size", tensor.size()}}}}}},
                         {"parameters", {{"binary_data_output", true}}}};
    const auto text = header.dump();
    const auto head = fmt::format(
        "POST /v2/models/{}/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n"
        "Inference-Header-Content-Length: {}\r\n\r\n{}",
        kModel, text.size() + tensor.size(), text.size(), text);
    return connection.ask(head, tensor);
  }

  bool is_right(const Answer& answer, int64_t number) const override {
    return answer.body.find(fmt::format("\"id\":\"{}\"", id_of(number))) != answer.body.npos &&
           same(logits_of(answer), expected_[static_cast<size_t>(number % kInputs)]);
  }

 private:
  static std::string id_of(int64_t number) { return fmt::format("request-{}", number); }
  static bool same(const std::vector<float>& a, const std::vector<float>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), close);
  }
  /// The last bytes of the body.
  std::vector<float> logits_of(const Answer& answer) const {
    std::vector<float> logits(classes_);
    const auto bytes = logits.size() * sizeof(float);
    check(answer.status == 200 && answer.body.size() > bytes, "no logits: {}", answer.head);
    std::memcpy(logits.data(), answer.body.data() + answer.body.size() - bytes, bytes);
    return logits;
  }

  std::vector<int64_t> shape_;
  size_t classes_ = 0;
  std::vector<std::string> tensors_;
  std::vector<std::vector<float>> expected_;
};

class Photos : public Workload {
 public:
  Photos(int port, const fs::path& folder) {
    Connection connection(port);
    std::vector<fs::path> files(fs::directory_iterator(folder), fs::directory_iterator{});
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
      if (!has_image_extension(file) || std::ssize(photos_) == kInputs) continue;
      photos_.push_back(read_file(file));
      const auto answer = ask(connection, std::ssize(photos_) - 1);
      check(answer.status == 200, "{}: {}", file.string(), answer.body);
      expected_.push_back(probabilities_of(answer));
    }
    check(!photos_.empty(), "{}: no JPEG, PNG or WebP files", folder.string());
  }

  std::string name() const override { return "photographs"; }
  std::string route() const override { return "/v1/classify"; }

  Answer ask(Connection& connection, int64_t number) const override {
    const auto& photo = photos_[index(number)];
    const auto head =
        fmt::format("POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
                    photo.size());
    return connection.ask(head, photo);
  }

  bool is_right(const Answer& answer, int64_t number) const override {
    const auto got = probabilities_of(answer);
    const auto& expected = expected_[index(number)];
    return std::equal(got.begin(), got.end(), expected.begin(), expected.end(), close);
  }

 private:
  size_t index(int64_t number) const { return static_cast<size_t>(number) % photos_.size(); }
  static std::vector<double> probabilities_of(const Answer& answer) {
    std::vector<double> list;
    for (const auto& prediction : json::parse(answer.body).at("predictions"))
      list.push_back(prediction.at("probability"));
    return list;
  }

  std::vector<std::string> photos_;
  std::vector<std::vector<double>> expected_;
};

}  // namespace

std::unique_ptr<Workload> tensor_workload(int port) { return std::make_unique<Tensors>(port); }

std::unique_ptr<Workload> photo_workload(int port, const fs::path& folder) {
  return std::make_unique<Photos>(port, folder);
}

}  // namespace vitrine::bench
