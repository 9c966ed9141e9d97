#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vitrine {

/// A value of a pickle. Containers, names, storages and tensors stand in tables of `Pickle`, where
/// `number` is their index; so values nest to any depth without recursion.
struct PickleValue {
  enum class Kind {
    Plain,       // None, a float, bytes or a very large number: nothing that is asked for
    Whole,       // `number`; True is 1
    Text,        // `text`, inside the pickle
    Sequence,    // a list, tuple or set
    Dictionary,  // also an OrderedDict
    Name,        // a class or function by its name
    Object,      // what Python would make by calling it: not made, only its name is known
    Storage,
    Tensor,
    Mark
  };
  Kind kind = Kind::Plain;
  int64_t number = 0;
  std::string_view text{};
};

/// The numbers of one or several tensors, which stand outside of the pickle under `key`.
struct PickledStorage {
  std::string type;  // "FloatStorage"
  std::string key;
  int64_t count = 0;     // of all the numbers under the key
  int64_t view_at = -1;  // where a storage that is a part of another begins; -1: it is none
  int64_t view_count = 0;
};

/// A part of a storage with a shape; `strides` and `offset` count elements.
struct PickledTensor {
  int64_t storage = 0;
  int64_t offset = 0;
  std::vector<int64_t> shape, strides;
};

/// What a pickle holds.
struct Pickle {
  PickleValue top;
  std::vector<std::vector<PickleValue>> sequences;
  std::vector<std::vector<std::pair<PickleValue, PickleValue>>> dictionaries;
  std::vector<std::string> names;  // "collections.OrderedDict"
  std::vector<PickledStorage> storages;
  std::vector<PickledTensor> tensors;
  size_t length = 0;  // bytes up to its end; others may follow
};

/// Reads a pickle of torch.save. Nothing is executed: only containers, numbers, texts and tensors
/// are made; calls of anything else become `Object`s, and those that exist to run code (os.system)
/// are refused by name. A pickle that is cut short or broken throws an `Error` that names `where`,
/// and so does one that takes more memory than a file of `file_bytes` may.
Pickle read_pickle(std::string_view bytes, uint64_t file_bytes, const std::string& where);

}  // namespace vitrine
