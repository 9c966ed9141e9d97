#include <set>

#include "tests/onnx/runtime.h"
#include "vitrine/onnx/file.h"
#include "vitrine/onnx/model_graph.h"
#include "vitrine/onnx/operators.h"

namespace vitrine {
namespace {

using torch::Tensor;
using torch::indexing::Slice;
constexpr double kOperatorTolerance = 1e-5;

/// A function of a batch, and the shape of one example.
struct Case {
  std::string label;
  std::function<Tensor(const Tensor&)> f;
  std::vector<int64_t> example = {3, 4};
};

Tensor numbers(const std::vector<int64_t>& shape) {
  return torch::arange(c10::multiply_integers(shape), torch::kFloat).view(shape).mul(0.37).sin();
}

Tensor sorted(const Tensor& x, int64_t dim, bool descending = false) {
  return torch::argsort(x, dim, descending);
}

std::vector<Case> elementwise_cases() {
  return {
      {"add with alpha", [](const Tensor& x) { return torch::add(x, numbers({4}), 0.5); }},
      {"sub and rsub", [](const Tensor& x) { return torch::rsub(x - 2, 1, 3); }},
      {"mul, div",
       [](const Tensor& x) {
         return x * 3 / numbers({3, 1}).add(2);
       }},
      {"floor division",
       [](const Tensor& x) { return torch::div((10 * x).to(torch::kLong), 3, "floor"); }},
      {"floor division of floats", [](const Tensor& x) { return torch::div(x, 0.3, "floor"); }},
      {"integers and floats", [](const Tensor& x) { return (3 * x).to(torch::kLong) + x; }},
      {"maximum, minimum",
       [](const Tensor& x) { return torch::minimum(torch::maximum(x, -x), numbers({4})); }},
      {"clamp",
       [](const Tensor& x) { return x.clamp(-0.5, 0.5) + x.clamp_min(0) + x.clamp_max(1); }},
      {"exp, log, sqrt, rsqrt",
       [](const Tensor& x) { return x.exp().log() + x.abs().add(1).sqrt().rsqrt(); }},
      {"sin, cos, tanh, sigmoid",
       [](const Tensor& x) { return x.sin() + x.cos() * x.tanh() - x.sigmoid().neg(); }},
      {"square, pow", [](const Tensor& x) { return x.square() + x.abs().pow(1.5); }},
      {"gelu", [](const Tensor& x) { return torch::gelu(x) + torch::gelu(x, "tanh"); }},
      {"relu, silu", [](const Tensor& x) { return torch::relu(x) + torch::silu(x); }},
      {"comparisons",
       [](const Tensor& x) {
         return x.gt(0).to(torch::kFloat) + 2 * x.le(0.3).to(torch::kFloat) +
                4 * x.ge(numbers({4})).to(torch::kFloat) + 8 * x.lt(-0.3).to(torch::kFloat);
       }},
      {"eq, ne of integers",
       [](const Tensor& x) {
         const auto whole = (2 * x).to(torch::kLong);
         return whole.eq(1).to(torch::kFloat) + 2 * whole.ne(torch::arange(4)).to(torch::kFloat);
       }},
      {"truth values",
       [](const Tensor& x) {
         const auto a = x.gt(0), b = x.lt(0.5);
         return a.logical_and(b).logical_not().to(torch::kFloat) + 2 * (a | b).to(torch::kFloat) +
                4 * (a & ~b).to(torch::kFloat) + 8 * a.logical_or(b).to(torch::kFloat);
       }},
      {"masked_fill, where",
       [](const Tensor& x) {
         return torch::where(x.gt(0), x, 2 * x) + x.masked_fill(numbers({3, 4}).gt(0), 7);
       }},
      {"isinf, isnan",
       [](const Tensor& x) {
         const auto y = x.masked_fill(x.gt(0), INFINITY);
         return y.isinf().to(torch::kFloat) + 2 * (y - y).isnan().to(torch::kFloat);
       }},
  };
}

std::vector<Case> reduction_cases() {
  return {
      {"softmax", [](const Tensor& x) { return x.softmax(1) + x.log_softmax(-1); }},
      {"softmax of hidden rows",
       [](const Tensor& x) {
         const auto hidden = torch::ones({3, 1}).cumsum(0).eq(2);
         return x.masked_fill(hidden, -INFINITY).softmax(-1).masked_fill(hidden, 0);
       }},
      {"sum, mean", [](const Tensor& x) { return x.sum(1) + x.mean({1}, true).squeeze(1); }},
      {"mean of two dimensions",
       [](const Tensor& x) {
         return x.mean({1, 2});
       }},
      {"amax, amin", [](const Tensor& x) { return x.amax(-1) + x.amin({2}); }},
      {"norm", [](const Tensor& x) { return x.norm(2, -1, true); }},
      {"argmax", [](const Tensor& x) { return x.argmax(-1); }},
      {"argsort", [](const Tensor& x) { return sorted(sorted(x, -1), -1) + sorted(x, 1, true); }},
  };
}

std::vector<Case> shape_cases() {
  return {
      {"view with the batch size",
       [](const Tensor& x) {
         return x.view({x.size(0), 12});
       }},
      {"windows",
       [](const Tensor& x) {
         const auto B = x.size(0);
         return x.view({B * 3, 2, 2}).transpose(1, 2).exp().reshape({B, 3, 4});
       }},
      {"flatten, unflatten",
       [](const Tensor& x) {
         return x.flatten(1).unflatten(1, {4, 3}).unsqueeze(2).squeeze(2);
       }},
      {"permute",
       [](const Tensor& x) {
         return x.permute({0, 2, 1}).mT() + x.contiguous();
       }},
      {"narrow, slice, select",
       [](const Tensor& x) {
         return x.narrow(1, 1, 2) + x.index({Slice(), Slice(0, 2), Slice(0, 4, 1)}) +
                x.select(1, -1).unsqueeze(1);
       }},
      {"every other",
       [](const Tensor& x) {
         return x.index({Slice(), Slice(), Slice(1, 4, 2)});
       }},
      {"unbind, split, chunk",
       [](const Tensor& x) {
         const auto rows = x.unbind(1);
         const auto halves = x.split(2, -1), chunks = x.chunk(2, 2);
         return torch::stack({rows[0], rows[2]}, 1).narrow(2, 0, 2) + halves[1].narrow(1, 0, 2) +
                chunks[0].narrow(1, 1, 2) + x.split_with_sizes({1, 2}, 1)[1].narrow(2, 1, 2);
       }},
      {"a token before each sequence",
       [](const Tensor& x) {
         return torch::cat({numbers({1, 1, 4}).expand({x.size(0), 1, 4}), x}, 1);
       }},
      {"expand",
       [](const Tensor& x) {
         return x.unsqueeze(2).expand({-1, -1, 5, -1});
       }},
      {"expand to the batch",
       [](const Tensor& x) {
         return x.mean({1, 2}, true).expand_as(x) + x.repeat({1, 1, 1});
       }},
      {"repeat",
       [](const Tensor& x) {
         return x.repeat({1, 2, 3});
       }},
      {"roll",
       [](const Tensor& x) {
         return x.roll({1, -1}, {1, 2}) + x.roll({-7}, {2});
       }},
      {"pad",
       [](const Tensor& x) {
         return torch::constant_pad_nd(x, {1, 2, 0, 1}, 0.5);
       }},
      {"index_select, index",
       [](const Tensor& x) {
         const auto rows = torch::tensor({2, 0}, torch::kLong);
         return x.index_select(1, rows) + x.index({Slice(), rows});
       }},
      {"gather", [](const Tensor& x) { return x.gather(2, sorted(x, 2)); }},
      {"embedding",
       [](const Tensor& x) {
         return torch::embedding(numbers({5, 2}), x.abs().mul(2).clamp_max(4).to(torch::kLong));
       }},
      {"triangles", [](const Tensor& x) { return x.tril() + x.triu(1); }},
      {"copies",
       [](const Tensor& x) {
         return x.transpose(1, 2).contiguous().reshape_as(x) + x.clone().view_as(x).detach() +
                x.gt(0).type_as(x);
       }},
      {"torch::pad",
       [](const Tensor& x) {
         return torch::pad(x, {2, 0}, "constant", 0.5);
       }},
      {"transposed matrix",
       [](const Tensor& x) {
         return x.t().t() + x.mm(numbers({3, 3})).reshape({-1, 3});
       },
       {3}},
      {"new",
       [](const Tensor& x) {
         return x.new_full({x.size(0), 1, 4}, 2) + x.new_zeros({3, 1}) +
                x.new_ones({x.size(0), 3, 1});
       }},
      {"like",
       [](const Tensor& x) {
         return torch::full_like(x, 3) + torch::zeros_like(x) + torch::ones_like(x) + x;
       }},
      {"a batch of constants",
       [](const Tensor& x) {
         return x + torch::full({x.size(0), 1, 1}, 2);
       }},
  };
}

std::vector<Case> layer_cases() {
  const std::vector<int64_t> image = {4, 6, 8};
  return {
      {"linear of matrices",
       [](const Tensor& x) {
         return torch::linear(x, numbers({5, 4}), numbers({5}));
       }},
      {"linear of vectors",
       [](const Tensor& x) {
         return torch::linear(x, numbers({5, 4}));
       },
       {4}},
      {"matmul", [](const Tensor& x) { return x.matmul(x.transpose(1, 2)) + x.bmm(x.mT()); }},
      {"addmm",
       [](const Tensor& x) {
         return torch::addmm(numbers({5}), x, numbers({4, 5}), 2, 0.5);
       },
       {4}},
      {"baddbmm",
       [](const Tensor& x) { return torch::baddbmm(numbers({3}), x, x.transpose(1, 2), 2, 0.5); }},
      {"computed weight",
       [](const Tensor& x) {
         return torch::linear(numbers({2, 4}), x.mean(0)) + x.mean();
       }},
      {"layer_norm",
       [](const Tensor& x) {
         return torch::layer_norm(x, {4}, numbers({4}), numbers({4}), 1e-3) +
                torch::layer_norm(x, {3, 4});
       }},
      {"batch_norm",
       [](const Tensor& x) {
         return torch::batch_norm(x, numbers({4}), numbers({4}), numbers({4}),
                                  numbers({4}).square() + 0.5, false, 0.1, 1e-5, false);
       },
       image},
      {"group_norm",
       [](const Tensor& x) { return torch::group_norm(x, 2, numbers({4}), numbers({4}), 1e-5); },
       image},
      {"conv2d",
       [](const Tensor& x) {
         return torch::conv2d(x, numbers({6, 2, 3, 3}), numbers({6}), 2, {1, 0}, 1, 2);
       },
       image},
      {"conv2d, same padding",
       [](const Tensor& x) {
         return torch::conv2d(x, numbers({2, 4, 2, 3}), {}, 1, "same");
       },
       image},
      {"convolution",
       [](const Tensor& x) {
         return torch::convolution(x, numbers({2, 4, 3, 3}), {}, {1, 1}, {1, 1}, {2, 1}, false,
                                   {0, 0}, 1);
       },
       image},
      {"conv1d",
       [](const Tensor& x) {
         return torch::conv1d(x, numbers({2, 3, 3}), {}, 1, 1);
       }},
      {"im2col",
       [](const Tensor& x) {
         return torch::im2col(x, {3, 2}, {1, 2}, {1, 0}, {2, 1});
       },
       image},
      {"max_pool2d", [](const Tensor& x) { return torch::max_pool2d(x, 3, 2, 1); }, image},
      {"max_pool2d, odd sides",
       [](const Tensor& x) {
         return torch::max_pool2d(x, {3, 2}, {2, 3}, 0, 1, true);
       },
       image},
      {"avg_pool2d",
       [](const Tensor& x) {
         return torch::avg_pool2d(x, 3, 2, 1) + torch::avg_pool2d(x, 3, 2, 1, false, false);
       },
       image},
      {"adaptive_avg_pool2d",
       [](const Tensor& x) {
         return torch::adaptive_avg_pool2d(x, {3, 2}) + torch::adaptive_avg_pool2d(x, {1, 1});
       },
       image},
      {"dropout in evaluation", [](const Tensor& x) { return torch::dropout(x, 0.5, false) + 1; }},
  };
}

Tensor example_of(const Case& c, int64_t batch) {
  auto shape = c.example;
  shape.insert(shape.begin(), batch);
  return torch::randn(shape);
}

class OnnxOperators : public test::OnnxRuntime {
 protected:
  /// Every function, exported and run for one example and for four.
  void expect_same_as_torch(const std::vector<Case>& cases) {
    const torch::nn::Module nothing;
    torch::manual_seed(1);
    std::vector<test::RuntimeJob> jobs;
    for (const auto& c : cases) {
      SCOPED_TRACE(c.label);
      auto graph =
          graph_of(nothing, [&](const Tensor& x) -> std::vector<Tensor> { return {c.f(x)}; },
                   example_of(c, 2), example_of(c, 3), "x", {"y"});
      graph.name = c.label;
      const auto path = folder / (std::to_string(jobs.size()) + ".onnx");
      write_onnx(path, graph);
      for (const int64_t batch : {1, 4}) {
        const auto x = example_of(c, batch);
        jobs.push_back({c.label, path, "x", x, {{"y", c.f(x)}}});
      }
    }
    expect_same(jobs, kOperatorTolerance);
  }
};

}  // namespace

TEST_F(OnnxOperators, OfElementsAreThoseOfTorch) { expect_same_as_torch(elementwise_cases()); }
TEST_F(OnnxOperators, ReductionsAreThoseOfTorch) { expect_same_as_torch(reduction_cases()); }
TEST_F(OnnxOperators, OfShapesAreThoseOfTorch) { expect_same_as_torch(shape_cases()); }
TEST_F(OnnxOperators, LayersAreThoseOfTorch) { expect_same_as_torch(layer_cases()); }

TEST(OnnxOperatorTable, HasATestForEveryRow) {
  const torch::nn::Module nothing;
  std::set<std::string> called;
  for (const auto& cases : {elementwise_cases(), reduction_cases(), shape_cases(), layer_cases()})
    for (const auto& c : cases) {
      ConstantPool constants(nothing);
      const auto traced = [&](const Tensor& x) -> std::vector<Tensor> { return {c.f(x)}; };
      for (const auto& call : trace_calls(traced, example_of(c, 2), constants).calls)
        called.insert(call.op);
    }
  for (const auto& [name, emit] : operator_table()) EXPECT_TRUE(called.contains(name)) << name;
}

}  // namespace vitrine
