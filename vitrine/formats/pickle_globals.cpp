#include "vitrine/formats/pickle_globals.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vitrine {
namespace {

constexpr std::pair<std::string_view, PickleGlobal> kKnown[] = {
    {"torch._utils._rebuild_tensor", PickleGlobal::Tensor},
    {"torch._utils._rebuild_tensor_v2", PickleGlobal::Tensor},
    {"torch._utils._rebuild_parameter", PickleGlobal::Parameter},
    {"torch._utils._rebuild_parameter_with_state", PickleGlobal::Parameter},
    {"torch._tensor._rebuild_from_type_v2", PickleGlobal::TypedTensor},
    {"collections.OrderedDict", PickleGlobal::Dictionary},
    {"collections.defaultdict", PickleGlobal::Dictionary},
    {"torch.Size", PickleGlobal::Sequence},
};

// Of Python's built-in names these make plain values.
constexpr std::string_view kPlainBuiltins[] = {"bool",   "bytearray", "bytes",   "complex", "dict",
                                               "float",  "frozenset", "int",     "list",    "long",
                                               "object", "range",     "set",     "slice",   "str",
                                               "tuple",  "type",      "unicode", "xrange"};

// Modules that no checkpoint needs and that can run programs, load code or reach those that do.
constexpr std::string_view kCodeModules[] = {
    "os",      "posix",    "nt",        "sys",       "subprocess", "socket",  "shutil",
    "pty",     "runpy",    "importlib", "ctypes",    "code",       "codeop",  "webbrowser",
    "pickle",  "_pickle",  "marshal",   "operator",  "_operator",  "types",   "multiprocessing",
    "asyncio", "commands", "timeit",    "pdb",       "bdb",        "profile", "cProfile",
    "trace",   "pip",      "venv",      "ensurepip", "imp",        "pkgutil", "platform",
    "popen2",  "signal",   "threading", "urllib",    "http",       "ftplib",  "smtplib"};

template <size_t N>
bool among(const std::string_view (&list)[N], std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

}  // namespace

PickleGlobal pickle_global(std::string_view name) {
  for (const auto& [known, meaning] : kKnown)
    if (known == name) return meaning;
  const auto module = name.substr(0, name.find('.'));
  const auto rest = name.substr(std::min(module.size() + 1, name.size()));
  if (module == "builtins" || module == "__builtin__")
    return among(kPlainBuiltins, rest) ? PickleGlobal::Unknown : PickleGlobal::Code;
  return among(kCodeModules, module) ? PickleGlobal::Code : PickleGlobal::Unknown;
}

}  // namespace vitrine
