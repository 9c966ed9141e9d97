#pragma once

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/formats/pickle.h"

namespace vitrine {

/// The machine that a pickle is a program for: a stack of values and a memo of numbered ones. Each
/// value costs a part of a budget that the file's size sets, and whatever does not fit throws an
/// `Error` with the place.
class PickleMachine {
 public:
  using Kind = PickleValue::Kind;
  using Values = std::vector<PickleValue>;

  PickleMachine(std::string_view bytes, uint64_t file_bytes, const std::string& where);

  /// What has been made, the value on top of the stack first.
  Pickle result();

  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    fail("pickle: {}: {} (byte {})", where_, fmt::format(text, std::forward<Args>(args)...), at_);
  }

  // The program's bytes.
  std::string_view take(uint64_t count);
  std::string_view line();
  int64_t whole_line();
  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  // Stack and memo.
  void push(const PickleValue& value);
  void push(Kind kind, int64_t value = 0) { push({.kind = kind, .number = value}); }
  void push_text(std::string_view text) { push({.kind = Kind::Text, .number = 0, .text = text}); }
  void push_long(std::string_view digits);
  const PickleValue& top() const;
  PickleValue pop();
  Values pop_to_mark();
  void remember(uint64_t index);
  void remember_next() { remember(memo_.size()); }
  void recall(uint64_t index);

  // Containers. What is put into an object that is not made is left out with it.
  void push_sequence(Values values);
  void push_popped(size_t count);
  void push_dictionary(const Values& keys_and_values);
  void append(const Values& values);
  void set_items(const Values& keys_and_values);

  // Names, calls of what they name, and storages.
  void push_name(std::string_view module, std::string_view name);
  void call(const PickleValue& callee, const Values& arguments);
  void call(const PickleValue& callee, const PickleValue& arguments);
  void push_storage(const PickleValue& id);

 private:
  void charge(uint64_t values);
  const Values& sequence(const PickleValue& value, const char* what) const;
  const std::string& name_of(const PickleValue& value) const;
  std::vector<int64_t> sizes(const PickleValue& value, const char* what) const;
  void push_tensor(const Values& arguments);
  void push_ordered(const Values& arguments);

  std::string_view bytes_;
  size_t at_ = 0;
  uint64_t budget_;
  const std::string& where_;
  Values stack_;
  std::map<uint64_t, PickleValue> memo_;  // a hash map could be filled so that it is slow
  Pickle pickle_;
};

}  // namespace vitrine
