// Profiles of all programs: what a master has learned of the stages of jobs by their names. The model of the profile store; no I/O,
// no clock. One thread.
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

  /// What is known of the stages of a part, in its order, and nothing of those that nothing is known of. `job` has the stages
  /// before it. A stage of another version of the program is as one that was never seen; `other_version` is set then.
  std::vector<std::optional<schedulers::StageProfile>> predict(const schedulers::JobInfo& job, const plan::PlanPart& part,
                                                               bool& other_version) const;
  /// A task of a run of that stage has finished; `predicted`: the duration that was predicted for it before. What is known of
  /// another version of it is forgotten. `now`: seconds since 1970.
  void learn(const StageKey& key, const StageIdentity& is, JobId job, const TaskSample& task, std::optional<Duration> predicted,
             std::int64_t now);
  /// Returns how many stages that were. An empty name: all programs.
  std::size_t forget(const std::string& program);

  /// As it was stored or exported (profile_record.hpp), in place of what is there.
  void restore(const StageKey& key, StageHistory stage);
  /// Takes what was exported elsewhere, all or nothing. already_exists: a stage of it is of another version than the one learned
  /// here; the message tells which and what to do.
  Result<void> import(const std::vector<std::pair<StageKey, StageHistory>>& stages);

  bool changed() const { return !changed_.empty(); }
  /// The records that changed since the last call, or are gone.
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
