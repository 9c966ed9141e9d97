#include "tests/serve/fuzz_requests.h"

#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/small_server.h"
#include "vitrine/core/random.h"

namespace vitrine::test {
namespace {

using nlohmann::json;

template <typename T>
const T& one_of(Random& random, const std::vector<T>& list) {
  return list[static_cast<size_t>(random.below(std::ssize(list)))];
}

std::string noise(Random& random, int64_t most) {
  std::string bytes;
  for (auto left = random.below(most + 1); left > 0; --left)
    bytes += static_cast<char>(random.below(256));
  return bytes;
}

std::string path_of(Random& random) {
  return one_of<std::string>(random, {"/",
                                      "/v1/models",
                                      "/v1/classify",
                                      "/v1/classify?top=2&model=small",
                                      "/v1/explain?method=rollout",
                                      "/v1/attention",
                                      "/v1/lens",
                                      "/v1/ablate",
                                      "/v1/head?layer=1&query=2",
                                      "/v1/sample",
                                      "/v1/complete?keep=0.3",
                                      "/v1/add",
                                      "/v1/sentence",
                                      "/v1/runs",
                                      "/v1/runs/x/metrics",
                                      "/v2",
                                      "/v2/health/live",
                                      "/v2/models/small",
                                      "/v2/models/small/infer",
                                      "/v2/models/words/infer",
                                      "/v2/repository/index",
                                      "/metrics",
                                      "/openapi.json",
                                      "/%00",
                                      "/%zz?%=&&=",
                                      "//..//"});
}

/// A request with this body and these further header lines.
std::string post(const std::string& path, const std::string& body, const std::string& lines = "") {
  return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{}\r\n{}", path,
                     body.size(), lines, body);
}

std::string valid(Random& random) {
  const auto path = path_of(random);
  if (random.chance(0.3)) return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
  return post(path, random.chance(0.5) ? noise_png(random.next()) : R"({"a": 1, "b": 2})");
}

std::string mutated(Random& random) {
  auto bytes = valid(random);
  for (auto left = 1 + random.below(6); left > 0 && !bytes.empty(); --left) {
    const auto at = static_cast<size_t>(random.below(std::ssize(bytes)));
    switch (random.below(4)) {
      case 0:
        bytes[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        bytes.erase(at, static_cast<size_t>(random.below(20)));
        break;
      case 2:
        bytes.insert(at, noise(random, 20));
        break;
      default:
        bytes.insert(at, bytes.substr(at, 30));
    }
  }
  return bytes;
}

std::string half(Random& random) {
  const auto bytes = valid(random);
  const auto header = bytes.find("\r\n\r\n");
  return bytes.substr(0, static_cast<size_t>(random.below(static_cast<int64_t>(header) + 4)));
}

std::string bad_length(Random& random) {
  const auto length = one_of<std::string>(
      random, {"0", "1", "5000", "-1", "+3", "3x", "0x10", "", " ", "99999999999999999999999",
               "18446744073709551615", "4294967296", "3, 3", "3\r\nContent-Length: 4"});
  return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
                     path_of(random), length, noise(random, 200));
}

std::string chunked(Random& random) {
  auto bytes = fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: {}\r\n{}\r\n", path_of(random),
      one_of<std::string>(random, {"chunked", "Chunked", "gzip, chunked", "identity", "chunkedd"}),
      random.chance(0.2) ? "Content-Length: 5\r\n" : "");
  for (auto left = random.below(5); left > 0; --left) {
    const auto data = noise(random, 40);
    bytes += random.chance(0.6)
                 ? fmt::format("{:x}\r\n{}\r\n", data.size(), data)
                 : one_of<std::string>(random, {"-1\r\nabc\r\n", "zz\r\n", "5\r\nab\r\n", "\r\n",
                                                "ffffffffffffffff\r\nabc\r\n", "3;x=y\r\nabc\r\n",
                                                "3\r\nabcd\r\n", "3\nabc\n", "0x3\r\nabc\r\n"});
  }
  return bytes + one_of<std::string>(random, {"0\r\n\r\n", "0\r\n", "", "0\r\nTrailer: x\r\n\r\n"});
}

std::string pipelined(Random& random) {
  std::string bytes;
  for (auto left = 1 + random.below(4); left > 0; --left)
    bytes += random.chance(0.5) ? valid(random) : noise(random, 60);
  return bytes;
}

std::string multipart(Random& random) {
  const std::string type = "Content-Type: multipart/form-data";
  std::string body;
  for (auto left = random.below(20); left > 0; --left)
    body += one_of<std::string>(
        random, {"--b\r\nContent-Disposition: form-data; name=\"image\"\r\n\r\nabc\r\n",
                 "--b\r\nContent-Disposition: form-data; name=\"switch\"\r\n\r\n{\"heads\":1}\r\n",
                 "--b\r\nContent-Disposition: form-data\r\n\r\nabc\r\n", "--b\r\n\r\n", "--b--\r\n",
                 "--bb\r\n", "\r\n", "--b\r\nContent-Disposition: ;;;name=\r\n\r\n",
                 "--b\r\nA: " + std::string(300, 'a') + "\r\n\r\n"});
  if (random.chance(0.6)) body += "--b--\r\n";
  const auto boundary = one_of<std::string>(
      random, {"; boundary=b", "; boundary=", "", "; boundary=\"b\"", "; boundary=c",
               "; boundary=" + std::string(200, 'b'), ";boundary=b;charset=x"});
  return post(
      one_of<std::string>(random, {"/v1/ablate", "/v1/classify", "/v1/complete", "/v1/add"}), body,
      type + boundary + "\r\n");
}

/// Any JSON, not too deep.
json any_json(Random& random, int depth = 0) {
  switch (random.below(depth < 4 ? 9 : 6)) {
    case 0:
      return nullptr;
    case 1:
      return random.chance(0.5);
    case 2:
      return one_of<json>(
          random, {0, 1, 3, 16, -1, 100000, 9007199254740993, -4.5, 1e300, 18446744073709551615U});
    case 3:
      return one_of<std::string>(random, {"", "small", "words", "the cat", "FP32", "image", "a"});
    case 4:
      return std::string(static_cast<size_t>(random.below(3000)), 'a');
    case 5:
      return std::vector<float>(static_cast<size_t>(random.below(900)), 0.5F);
    case 6: {
      auto list = json::array();
      for (auto left = random.below(6); left > 0; --left)
        list.push_back(any_json(random, depth + 1));
      return list;
    }
    default: {
      auto object = json::object();
      for (auto left = random.below(6); left > 0; --left)
        object[one_of<std::string>(
            random, {"name", "shape", "data", "inputs", "datatype", "id", "parameters", "outputs",
                     "model", "text", "count", "temperature", "top_k", "seed", "a", "b"})] =
            any_json(random, depth + 1);
      return object;
    }
  }
}

std::string json_request(Random& random) {
  auto body = any_json(random);
  if (!body.is_object()) body = json::object({{"text", body}});
  const auto path = one_of<std::string>(random, {"/v1/sample", "/v1/add", "/v1/sentence"});
  if (path != "/v1/sample" && random.chance(0.5)) body["model"] = "words";
  auto text = body.dump();
  if (random.chance(0.1)) text = std::string(20000, '[');
  return post(path, text);
}

std::string tensor_request(Random& random) {
  json shape = json::array({1, 3, 16, 16});
  if (random.chance(0.6)) shape[static_cast<size_t>(random.below(4))] = any_json(random);
  json input = {
      {"name", "image"},
      {"datatype", "FP32"},
      {"shape", random.chance(0.8) ? shape : any_json(random)},
      {"data", random.chance(0.5) ? json(std::vector<float>(3 * 16 * 16)) : any_json(random)}};
  if (random.chance(0.3)) input["parameters"] = {{"binary_data_size", any_json(random)}};
  json body = {{"inputs", json::array({input})}};
  if (random.chance(0.3)) body["outputs"] = any_json(random);
  if (random.chance(0.2)) body["parameters"] = any_json(random);
  const auto lines =
      random.chance(0.4)
          ? fmt::format("Inference-Header-Content-Length: {}\r\n",
                        one_of<std::string>(random, {"0", "10", "999999999", "-1", "x", ""}))
          : "";
  return post("/v2/models/small/infer", body.dump(), lines);
}

std::string odd_header(Random& random) {
  const auto line = one_of<std::string>(random, {"Range: bytes=0-,0-,0-,0-,0-",
                                                 "Range: bytes=5-3",
                                                 "Range: bytes=999999-",
                                                 "Range: x",
                                                 "Expect: 100-continue",
                                                 "Expect: magic",
                                                 "Content-Encoding: gzip",
                                                 "Content-Encoding: br",
                                                 "Accept-Encoding: gzip, br",
                                                 "X-Timeout-Ms: 1",
                                                 "X-Timeout-Ms: 99999999999",
                                                 "Host: evil",
                                                 "Origin: http://evil",
                                                 "Authorization: Bearer x",
                                                 "Connection: close",
                                                 "Connection: upgrade",
                                                 "Upgrade: h2c",
                                                 std::string(9000, 'a') + ": b",
                                                 "A: " + std::string(70000, 'a'),
                                                 ": b",
                                                 "a",
                                                 "a b: c",
                                                 "Cookie: " + std::string(3000, 'a')});
  return post(path_of(random), random.chance(0.5) ? noise_png(1) : "{}", line + "\r\n");
}

std::string bare_lines(Random& random) {
  auto bytes = valid(random);
  std::erase(bytes, '\r');
  return bytes;
}

struct Kind {
  const char* name;
  std::function<std::string(Random&)> make;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> list = {
      {"valid", valid},           {"noise", [](Random& random) { return noise(random, 400); }},
      {"mutated", mutated},       {"half a header", half},
      {"bad length", bad_length}, {"chunked", chunked},
      {"pipelined", pipelined},   {"multipart", multipart},
      {"json", json_request},     {"tensor", tensor_request},
      {"odd header", odd_header}, {"bare line ends", bare_lines}};
  return list;
}

}  // namespace

FuzzRequest fuzz_request(uint64_t seed, uint64_t number) {
  Random random{seed, number};
  const auto& kind = kinds()[number % kinds().size()];
  auto bytes = kind.make(random);
  return {.kind = kind.name, .bytes = std::move(bytes), .half_close = random.chance(0.3)};
}

}  // namespace vitrine::test
