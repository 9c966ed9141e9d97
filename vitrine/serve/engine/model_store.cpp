#include "vitrine/serve/engine/model_store.h"

#include <utility>

#include "vitrine/core/nearest.h"
#include "vitrine/serve/http.h"

namespace vitrine::serve {
namespace {

/// The run folder's or the file's name, of letters that need no escape in an address.
std::string name_of(const fs::path& path) {
  const auto whole = fs::absolute(path).lexically_normal();
  const auto file = whole.has_filename() ? whole : whole.parent_path();
  const auto folder = file.parent_path();
  auto name = folder.filename() == "checkpoints"   ? folder.parent_path().filename().string()
              : file.extension() == ".safetensors" ? file.stem().string()
                                                   : file.filename().string();
  for (auto& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-') c = '-';
  return name;
}

}  // namespace

ActiveModel::ActiveModel(const std::string& name, const fs::path& path, Precision precision,
                         const BatchLimits& limits, Metrics& metrics)
    : model(load_served_model(name, path, precision)),
      queue(
          limits,
          [this](std::span<const float> inputs, int64_t rows) {
            return model->forward(inputs, rows);
          },
          [&metrics, name](int64_t rows) { metrics.count_batch(name, rows); }) {}

void ModelStore::add(const std::string& name_or_path) {
  const auto equals = name_or_path.find('=');
  const bool named = equals != std::string::npos && !fs::exists(name_or_path);
  const fs::path path = named ? name_or_path.substr(equals + 1) : name_or_path;
  const auto name = named ? name_or_path.substr(0, equals) : name_of(path);
  check_usage(!name.empty() && name == name_of("/" + name),
              "serve: '{}' cannot be the name of a model; use letters, digits, '.', '_' and '-'",
              name);
  check_usage(!slots_.contains(name), "serve: two models are called '{}'; write NAME={}", name,
              path.string());
  auto active = std::make_shared<ActiveModel>(name, path, precision_, limits_, metrics_);
  slots_[name] = {.path = path, .active = std::move(active)};
}

std::vector<std::string> ModelStore::names() const {
  std::vector<std::string> names;
  for (const auto& [name, slot] : slots_) names.push_back(name);
  return names;
}

ModelStore::Slot& ModelStore::slot_of(const std::string& name) {
  return const_cast<Slot&>(std::as_const(*this).slot_of(name));
}

const ModelStore::Slot& ModelStore::slot_of(const std::string& name) const {
  const auto found = slots_.find(name);
  require(found != slots_.end(), 404, "model '{}' is not known{} (known: {})", name,
          did_you_mean(name, names()), fmt::join(names(), ", "));
  return found->second;
}

std::shared_ptr<ActiveModel> ModelStore::get(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto& slot = slot_of(name);
  require(slot.active != nullptr, 404, "model '{}' is not loaded: {}", name, slot.reason);
  return slot.active;
}

std::shared_ptr<ActiveModel> ModelStore::get(const std::string& name, const ModelNeed& need) const {
  if (!name.empty()) {
    auto active = get(name);
    require(need.fits(*active->model), 400, "{} {}; {} takes {}", name, active->model->purpose(),
            need.route, need.noun);
    return active;
  }
  std::vector<std::string> names;
  std::shared_ptr<ActiveModel> only;
  for (const auto& active : loaded()) {
    if (!need.fits(*active->model)) continue;
    names.push_back(active->model->card().name);
    only = active;
  }
  require(only != nullptr, 404, "{} takes {}, and none is loaded; start `vitrine serve` with one",
          need.route, need.noun);
  require(names.size() == 1, 400, "say which model: model=NAME with one of {}",
          fmt::join(names, ", "));
  return only;
}

void ModelStore::load(const std::string& name) {
  const std::lock_guard one_at_a_time(loading_);
  fs::path path;
  {
    const std::lock_guard lock(mutex_);
    path = slot_of(name).path;
  }
  auto fresh = as_bad_request(
      [&] { return std::make_shared<ActiveModel>(name, path, precision_, limits_, metrics_); });
  const std::lock_guard lock(mutex_);
  std::swap(slot_of(name).active, fresh);  // the old one ends with its last request
}

void ModelStore::unload(const std::string& name) {
  std::shared_ptr<ActiveModel> old;
  const std::lock_guard one_at_a_time(loading_);
  const std::lock_guard lock(mutex_);
  auto& slot = slot_of(name);
  std::swap(slot.active, old);
  slot.reason = "it was unloaded";
}

std::vector<ModelState> ModelStore::states() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelState> states;
  for (const auto& [name, slot] : slots_)
    states.push_back({name, slot.active != nullptr, slot.active ? "" : slot.reason});
  return states;
}

std::vector<std::shared_ptr<ActiveModel>> ModelStore::loaded() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<ActiveModel>> models;
  for (const auto& [name, slot] : slots_)
    if (slot.active) models.push_back(slot.active);
  return models;
}

}  // namespace vitrine::serve
