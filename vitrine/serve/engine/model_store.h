#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "vitrine/serve/engine/batch_queue.h"
#include "vitrine/serve/engine/served_model.h"
#include "vitrine/serve/http.h"
#include "vitrine/serve/metrics.h"

namespace vitrine::serve {

/// A model and the thread that computes for it.
struct ActiveModel {
  ActiveModel(const std::string& name, const fs::path& path, Precision precision,
              const BatchLimits& limits, Metrics& metrics);

  const std::unique_ptr<const ServedModel> model;
  BatchQueue queue;
};

/// An active model of a known kind. It stays whole for as long as it is held, even if it is
/// unloaded or loaded again.
template <typename Kind>
struct Active {
  std::shared_ptr<ActiveModel> active;

  const Kind& model() const { return static_cast<const Kind&>(*active->model); }
  const auto& card() const { return model().card(); }
  BatchQueue& queue() const { return active->queue; }

  /// What `work` gives for the model on its thread; `Error`s of it are the client's. It must own
  /// all it uses but the model, which outlives that thread.
  template <typename Work>
  auto run(Deadline deadline, Work work) const {
    return queue().run(
        [model = &model(), work = std::move(work)] {
          return as_bad_request([&] { return work(*model); });
        },
        deadline);
  }
};

/// What a route needs of a model, in words and as a test.
struct ModelNeed {
  std::string route, noun;  // "/v1/classify", "a classifier"
  std::function<bool(const ServedModel&)> fits;
};

/// A model that the server was given, loaded or not.
struct ModelState {
  std::string name;
  bool ready = false;
  std::string reason{};  // why it is not
};

/// The models given at start, by name. No other file can be loaded.
class ModelStore {
 public:
  ModelStore(Precision precision, const BatchLimits& limits, Metrics& metrics)
      : precision_(precision), limits_(limits), metrics_(metrics) {}

  /// Adds and loads "NAME=PATH" or a path, whose name is that of the run folder or file.
  void add(const std::string& name_or_path);

  /// The loaded model of this name; throws an `HttpError`.
  std::shared_ptr<ActiveModel> get(const std::string& name) const;
  /// The same, or the only one that fits if `name` is empty; throws also if it does not fit.
  std::shared_ptr<ActiveModel> get(const std::string& name, const ModelNeed& need) const;
  /// The same for what `route` asks: a model of this kind.
  template <typename Kind>
  Active<Kind> get(const std::string& name, const std::string& route) const {
    return get<Kind>(name, route, Kind::kNoun, [](const Kind&) { return true; });
  }
  /// The same for a model of this kind that `fits`, which is a `noun`.
  template <typename Kind, typename Fits>
  Active<Kind> get(const std::string& name, const std::string& route, const std::string& noun,
                   Fits fits) const {
    const auto of_kind = [fits](const ServedModel& model) {
      return model.kind() == Kind::kKind && fits(static_cast<const Kind&>(model));
    };
    return {get(name, ModelNeed{route, noun, of_kind})};
  }
  /// Loads its files again; requests go to the old one until the new one is ready.
  void load(const std::string& name);
  void unload(const std::string& name);

  std::vector<ModelState> states() const;
  std::vector<std::shared_ptr<ActiveModel>> loaded() const;

 private:
  struct Slot {
    fs::path path{};
    std::shared_ptr<ActiveModel> active{};
    std::string reason{};
  };
  Slot& slot_of(const std::string& name);
  const Slot& slot_of(const std::string& name) const;
  std::vector<std::string> names() const;

  const Precision precision_;
  const BatchLimits limits_;
  Metrics& metrics_;
  mutable std::mutex mutex_;
  std::mutex loading_;  // one at a time
  std::map<std::string, Slot> slots_;
};

}  // namespace vitrine::serve
