#include "vitrine/formats/pickle_machine.h"

#include <charconv>

#include "vitrine/formats/byte_count.h"
#include "vitrine/formats/pickle_globals.h"

namespace vitrine {
namespace {

using Kind = PickleValue::Kind;

// What a value may cost: itself, its copies on the stack, in the memo and in a container, and the
// room that vectors keep. Any file may hold the free ones.
constexpr uint64_t kBytesPerValue = 8 * sizeof(PickleValue), kFreeValues = 1 << 16;
constexpr size_t kLongestName = 200;
constexpr size_t kStorageParts = 5;

}  // namespace

PickleMachine::PickleMachine(std::string_view bytes, uint64_t file_bytes, const std::string& where)
    : bytes_(bytes), budget_(kFreeValues + file_bytes / kBytesPerValue), where_(where) {}

Pickle PickleMachine::result() {
  pickle_.top = pop();
  pickle_.length = at_;
  return std::move(pickle_);
}

std::string_view PickleMachine::take(uint64_t count) {
  if (count > bytes_.size() - at_)
    refuse("it is cut short: {} bytes are announced, {} are left; fetch the file again", count,
           bytes_.size() - at_);
  at_ += count;
  return bytes_.substr(at_ - count, count);
}

std::string_view PickleMachine::line() {
  const auto end = bytes_.find('\n', at_);
  if (end == bytes_.npos) refuse("it is cut short in a line; fetch the file again");
  const auto text = take(end - at_);
  take(1);
  return text;
}

int64_t PickleMachine::whole_line() {
  auto text = line();
  if (text.ends_with('L')) text.remove_suffix(1);
  int64_t value = 0;
  const auto end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end)
    refuse("'{}' is not a whole number", text.substr(0, kLongestName));
  return value;
}

void PickleMachine::charge(uint64_t values) {
  if (values > budget_) refuse("it holds far more values than a file of this size can need");
  budget_ -= values;
}

void PickleMachine::push(const PickleValue& value) {
  charge(1);
  stack_.push_back(value);
}

void PickleMachine::push_long(std::string_view digits) {
  if (digits.size() > sizeof(int64_t)) return push(Kind::Plain);
  int64_t value = !digits.empty() && (digits.back() & 0x80) != 0 ? -1 : 0;
  std::memcpy(&value, digits.data(), digits.size());
  push(Kind::Whole, value);
}

const PickleValue& PickleMachine::top() const {
  if (stack_.empty() || stack_.back().kind == Kind::Mark) refuse("it takes a value too many");
  return stack_.back();
}

PickleValue PickleMachine::pop() {
  const auto value = top();
  stack_.pop_back();
  return value;
}

PickleMachine::Values PickleMachine::pop_to_mark() {
  size_t begin = stack_.size();
  while (begin > 0 && stack_[begin - 1].kind != Kind::Mark) --begin;
  if (begin == 0) refuse("it takes values without a mark");
  Values values(stack_.begin() + static_cast<std::ptrdiff_t>(begin), stack_.end());
  stack_.resize(begin - 1);
  return values;
}

void PickleMachine::remember(uint64_t index) {
  charge(1);
  memo_[index] = top();
}

void PickleMachine::recall(uint64_t index) {
  const auto found = memo_.find(index);
  if (found == memo_.end()) refuse("it recalls value {}, which it never stored", index);
  push(found->second);
}

void PickleMachine::push_sequence(Values values) {
  charge(values.size());
  pickle_.sequences.push_back(std::move(values));
  push(Kind::Sequence, std::ssize(pickle_.sequences) - 1);
}

void PickleMachine::push_popped(size_t count) {
  Values values(count);
  for (size_t i = count; i-- > 0;) values[i] = pop();
  push_sequence(std::move(values));
}

void PickleMachine::push_dictionary(const Values& keys_and_values) {
  pickle_.dictionaries.emplace_back();
  push(Kind::Dictionary, std::ssize(pickle_.dictionaries) - 1);
  set_items(keys_and_values);
}

const PickleMachine::Values& PickleMachine::sequence(const PickleValue& value,
                                                     const char* what) const {
  if (value.kind != Kind::Sequence) refuse("{} is not a list or tuple", what);
  return pickle_.sequences[static_cast<size_t>(value.number)];
}

void PickleMachine::append(const Values& values) {
  const auto& target = top();
  if (target.kind == Kind::Object) return;
  if (target.kind != Kind::Sequence) refuse("what values are appended to is not a list");
  charge(values.size());
  auto& list = pickle_.sequences[static_cast<size_t>(target.number)];
  list.insert(list.end(), values.begin(), values.end());
}

void PickleMachine::set_items(const Values& keys_and_values) {
  const auto& target = top();
  if (target.kind == Kind::Object) return;
  if (target.kind != Kind::Dictionary) refuse("what items are set in is not a dictionary");
  if (keys_and_values.size() % 2 != 0) refuse("a dictionary has a key without a value");
  charge(keys_and_values.size());
  auto& items = pickle_.dictionaries[static_cast<size_t>(target.number)];
  for (size_t i = 0; i < keys_and_values.size(); i += 2)
    items.emplace_back(keys_and_values[i], keys_and_values[i + 1]);
}

void PickleMachine::push_name(std::string_view module, std::string_view name) {
  if (module.size() + name.size() > kLongestName)
    refuse("it names something in {} letters", module.size() + name.size());
  auto whole = fmt::format("{}.{}", module, name);
  check(pickle_global(whole) != PickleGlobal::Code,
        "pickle: {} holds code: {}; nothing of it was executed. Do not open this file with Python, "
        "and tell who gave it to you",
        where_, whole);
  charge(2 + whole.size() / sizeof(PickleValue));
  pickle_.names.push_back(std::move(whole));
  push(Kind::Name, std::ssize(pickle_.names) - 1);
}

const std::string& PickleMachine::name_of(const PickleValue& value) const {
  return pickle_.names[static_cast<size_t>(value.number)];
}

void PickleMachine::call(const PickleValue& callee, const PickleValue& arguments) {
  const auto& values = sequence(arguments, "the arguments of a call");
  charge(values.size());
  call(callee, Values(values));
}

void PickleMachine::call(const PickleValue& callee, const Values& arguments) {
  if (callee.kind == Kind::Object) return push(callee);
  if (callee.kind != Kind::Name) refuse("it calls something that is not a class or function");
  const auto need = [&](size_t count) {
    if (arguments.size() < count)
      refuse("{} has {} arguments instead of {}", name_of(callee), arguments.size(), count);
  };
  switch (pickle_global(name_of(callee))) {
    case PickleGlobal::Tensor:
      need(4);
      return push_tensor(arguments);
    case PickleGlobal::Parameter:
      need(1);
      return push(arguments[0]);
    case PickleGlobal::TypedTensor: {
      need(3);
      const auto& maker = arguments[0];
      if (maker.kind != Kind::Name || pickle_global(name_of(maker)) == PickleGlobal::TypedTensor)
        refuse("a tensor is made by something that is not a function");
      return call(maker, arguments[2]);
    }
    case PickleGlobal::Dictionary:
      return push_ordered(arguments);
    case PickleGlobal::Sequence:
      return arguments.empty() ? push_sequence({}) : push(arguments[0]);
    case PickleGlobal::Unknown:
    case PickleGlobal::Code:
      return push(Kind::Object, callee.number);
  }
}

/// An OrderedDict, empty or of a list of pairs.
void PickleMachine::push_ordered(const Values& arguments) {
  Values items;
  if (!arguments.empty() && arguments.back().kind == Kind::Sequence)
    for (const auto& pair : sequence(arguments.back(), "an OrderedDict")) {
      const auto& both = sequence(pair, "an item of an OrderedDict");
      if (both.size() != 2) refuse("an item of an OrderedDict has {} parts", both.size());
      charge(both.size());
      items.insert(items.end(), both.begin(), both.end());
    }
  push_dictionary(items);
}

std::vector<int64_t> PickleMachine::sizes(const PickleValue& value, const char* what) const {
  const auto& values = sequence(value, what);
  if (values.size() > kMaxDimensions)
    refuse("a tensor has {} dimensions, more than {}", values.size(), kMaxDimensions);
  std::vector<int64_t> result;
  for (const auto& size : values) {
    if (size.kind != Kind::Whole || size.number < 0)
      refuse("the {} of a tensor hold something that is not a size", what);
    result.push_back(size.number);
  }
  return result;
}

void PickleMachine::push_tensor(const Values& arguments) {
  if (arguments[0].kind != Kind::Storage) refuse("a tensor has no storage");
  if (arguments[1].kind != Kind::Whole || arguments[1].number < 0)
    refuse("the offset of a tensor is not a size");
  PickledTensor tensor{.storage = arguments[0].number,
                       .offset = arguments[1].number,
                       .shape = sizes(arguments[2], "shape"),
                       .strides = sizes(arguments[3], "strides")};
  if (tensor.shape.size() != tensor.strides.size())
    refuse("a tensor has {} sizes and {} strides", tensor.shape.size(), tensor.strides.size());
  charge(4 + tensor.shape.size());
  pickle_.tensors.push_back(std::move(tensor));
  push(Kind::Tensor, std::ssize(pickle_.tensors) - 1);
}

/// `id` is ("storage", class, key, device, count[, None or (key, first, count)]).
void PickleMachine::push_storage(const PickleValue& id) {
  const auto& parts = sequence(id, "what stands outside of the pickle");
  const bool known = parts.size() >= kStorageParts && parts[0].text == "storage" &&
                     parts[1].kind == Kind::Name && parts[2].kind == Kind::Text &&
                     parts[2].text.size() <= kLongestName && parts[4].kind == Kind::Whole &&
                     parts[4].number >= 0;
  if (!known) refuse("what stands outside of the pickle is not a storage of numbers");
  const auto& type = name_of(parts[1]);
  PickledStorage storage{.type = type.substr(type.rfind('.') + 1),
                         .key = std::string(parts[2].text),
                         .count = parts[4].number};
  if (parts.size() > kStorageParts && parts[kStorageParts].kind == Kind::Sequence) {
    const auto& view = sequence(parts[kStorageParts], "a view of a storage");
    if (view.size() != 3 || view[1].kind != Kind::Whole || view[2].kind != Kind::Whole ||
        view[1].number < 0 || view[2].number < 0)
      refuse("a view of a storage is not a key, a beginning and a size");
    storage.view_at = view[1].number;
    storage.view_count = view[2].number;
  }
  charge(4 + (storage.type.size() + storage.key.size()) / sizeof(PickleValue));
  pickle_.storages.push_back(std::move(storage));
  push(Kind::Storage, std::ssize(pickle_.storages) - 1);
}

}  // namespace vitrine
