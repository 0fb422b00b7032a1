// Profiles of all programs: the histories of stages by the names of their jobs. The profile store keeps them. No I/O, no clock. One
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "engine/master/plan/plan.hpp"
#include "engine/master/profiles/stage_history.hpp"
#include "schedulers/view/view.hpp"

namespace weft::profiles {

/// A record of the store. Programs are jobs by name; stages are numbered in order of their definition.
struct StageKey {
  std::string program;
  StageId stage;
  friend auto operator<=>(const StageKey&, const StageKey&) = default;
};

class History {
 public:
  using Stages = std::map<StageId, StageHistory>;

  explicit History(std::size_t most_stages = 10'000) : most_stages_(most_stages) {}

  const std::map<std::string, Stages>& programs() const { return programs_; }
  std::size_t stages() const { return stages_; }

  /// Profiles of the stages of a part, in its order; nothing for stages without a history. `job` has the stages before it. A stage
  /// of another version of the program counts as unknown, and sets `other_version`.
  std::vector<std::optional<schedulers::StageProfile>> predict(const schedulers::JobInfo& job, const plan::PlanPart& part,
                                                               bool& other_version) const;
  /// A task of a run of that stage has finished. `predicted`: the duration that its profile gave. The history of another version of
  /// the stage is dropped. `now`: seconds since 1970.
  void learn(const StageKey& key, const StageIdentity& is, JobId job, const TaskSample& task, std::optional<Duration> predicted,
             std::int64_t now);
  /// Returns the number of stages that were dropped. An empty name: all programs.
  std::size_t forget(const std::string& program);

  /// Replaces the history of the stage by a stored or exported one (record.hpp).
  void restore(const StageKey& key, StageHistory stage);
  /// Takes the stages of an export, all or none. already_exists: one of them is of another version than the one learned here; the
  /// message names it and the remedy.
  Result<void> import(const std::vector<std::pair<StageKey, StageHistory>>& stages);

  bool changed() const { return !changed_.empty(); }
  /// The records that changed or were dropped since the last call.
  std::set<StageKey> take_changes();
  const StageHistory* find(const StageKey& key) const;

 private:
  const StageHistory* like(const Stages& stages, const plan::Stage& stage, bool& other_version) const;
  void make_room();

  std::size_t most_stages_;
  std::map<std::string, Stages> programs_;
  std::size_t stages_ = 0;
  std::set<StageKey> changed_;
};

}  // namespace weft::profiles
