// Attempts that failed or were lost, and what that counts for: against the task, its job, and the node.
#pragma once

#include <string>

#include "engine/master/core/attempts.hpp"
#include "engine/master/core/node_health.hpp"

namespace weft::master {

class Failures {
 public:
  Failures(CoreContext& context, NodeHealth& health, Attempts& attempts, Shuffles& shuffles)
      : context_(context), health_(health), attempts_(attempts), shuffles_(shuffles) {}

  // Each takes an attempt whose room was given back; its task waits again unless another attempt goes on, and its job fails at the
  // end of the event when that was once too often.

  /// What the worker said of its end. An empty message is replaced by one that names the kind.
  void failed(const TaskRef& task, FailureKind kind, std::string message, const std::optional<shuffle::FetchFailure>& fetch);
  /// It failed through a fault that counts against the task.
  void count(const TaskRef& task, FailureKind kind, std::string message);
  /// Its node is gone.
  void lose(const TaskRef& task, std::string why);

 private:
  void requeue(const TaskRef& task, std::optional<NodeId> avoid);
  void count_loss(const TaskRef& task, const std::string& where, std::string why);
  void fetch_failed(const TaskRef& task, const shuffle::FetchFailure& fetch, const std::string& message);
  bool lose_fetched(JobRecord& job, StageRecord& source, const shuffle::FetchFailure& fetch, const std::string& why);
  std::string where_it_is(const StageRecord& source, const shuffle::FetchFailure& fetch) const;

  CoreContext& context_;
  NodeHealth& health_;
  Attempts& attempts_;
  Shuffles& shuffles_;
};

}  // namespace weft::master
