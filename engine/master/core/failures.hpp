// Attempts that failed or were lost, and what that counts for: against the task, its job, and the node; and how long the next one
// waits, where it would meet the same again.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "engine/master/core/attempts.hpp"
#include "engine/master/core/node_health.hpp"

namespace weft::master {

/// Times a task may be lost through no fault of its own (workers gone, inputs gone) before the job is given up.
inline constexpr std::uint16_t kMaxLosses = 20;

class Failures {
 public:
  Failures(CoreContext& context, NodeHealth& health, Attempts& attempts, Shuffles& shuffles)
      : context_(context), health_(health), attempts_(attempts), shuffles_(shuffles) {}

  // Each takes an attempt whose slot is free again; its task waits again unless another attempt goes on, and its job fails at the
  // end of the event when that was once too often.

  /// What the worker said of its end. An empty message is replaced by one that names the kind.
  void failed(const TaskRef& task, FailureKind kind, std::string message, const std::optional<shuffle::FetchFailure>& fetch);
  /// It failed through a fault that counts against the task.
  void count(const TaskRef& task, FailureKind kind, std::string message);
  /// Its node is gone.
  void lose(const TaskRef& task, std::string why);

  // A failure through no fault of the user's code counts as a loss while there is another node on which nothing failed so just
  // before: it is the node's, which is excluded when that happens again and again. While it has fewer losses than it may have
  // failures; then it counts.
  //
  // A task that failed through no fault of the user's code pauses before its next attempt, while no other node could take it, or
  // within a minute of the loss of any node: for 250 ms, and each time for four times as long, 16 s at most. So its attempts are
  // not used up before what is wrong can pass. Within that minute such a failure counts as a loss, of which a task may have more
  // than failures. A task that was lost with its node does not pause: where there is no other, it waits for one to join.

  /// The timer of its pause has fired.
  void retry_paused(const TaskId& task);
  /// There is another node: all go on.
  void retry_paused();

 private:
  void count_in_trouble(const TaskRef& task, const std::string& where, std::string message);
  void pause(const TaskRef& task, std::string_view why);
  void requeue(const TaskRef& task, std::optional<NodeId> avoid);
  void count_loss(const TaskRef& task, const std::string& where, std::string why);
  void fetch_failed(const TaskRef& task, const shuffle::FetchFailure& fetch, const std::string& message);
  bool lose_fetched(JobRecord& job, StageRecord& source, const shuffle::FetchFailure& fetch, const std::string& why);
  std::string where_it_is(const StageRecord& source, const shuffle::FetchFailure& fetch) const;

  CoreContext& context_;
  NodeHealth& health_;
  Attempts& attempts_;
  Shuffles& shuffles_;
  std::set<TaskId> paused_;  // some may be over
};

}  // namespace weft::master
