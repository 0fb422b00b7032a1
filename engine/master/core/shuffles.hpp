// Which stages run and which map outputs are held: readiness, lineage, release, and the tables of where outputs are.
//
// A stage's inputs always have smaller ids (validated), so one pass from the last stage to the first settles everything: a result
// stage is active until its action is finished, any other one while an active stage lacks its output.
#pragma once

#include <cstdint>
#include <string>

#include "engine/master/core/context.hpp"
#include "engine/master/core/node_health.hpp"
#include "engine/master/core/output_replicas.hpp"
#include "engine/master/core/preplacement.hpp"
#include "engine/master/core/slow_start.hpp"

namespace weft::master {

class Shuffles {
 public:
  Shuffles(CoreContext& context, NodeHealth& health, OutputReplicas& replicas, Preplacement& preplacement, RoundEviction& rounds,
           SlowStart& slow_start)
      : context_(context),
        health_(health),
        replicas_(replicas),
        preplacement_(preplacement),
        rounds_(rounds),
        slow_start_(slow_start) {}

  /// Works out again which stages are active and ready, revives what lineage needs, drops what nobody needs.
  void refresh(JobRecord& job);
  /// What was decided of the stage, which was never ready.
  void restore_shape(StageRecord& stage, const std::vector<std::uint32_t>& bounds, const SkewSplits& splits);
  /// The last task of the stage has finished.
  void complete(JobRecord& job, StageRecord& stage);

  /// The output is gone: its map runs again when an active stage needs it. refresh() must follow.
  void lose_output(JobRecord& job, StageRecord& stage, std::uint32_t map);
  /// As all outputs of the stage on the node; those with a replica are there from now on. True when some are to be made again.
  bool lose_outputs_on(JobRecord& job, StageRecord& stage, NodeId node, const std::string& why);
  /// As one output that a reader could not have, unless it has a replica.
  void lose_or_move_output(JobRecord& job, StageRecord& stage, std::uint32_t map, const std::string& why);

  /// All outputs of the stage are given up where they are, and of no use any more. refresh() must follow.
  void discard(JobRecord& job, StageRecord& stage);

  /// The job wants no more of it, and nothing that runs does: every node that had something of it was notified.
  static bool is_released(const JobRecord& job, const StageRecord& stage);

  /// Nodes with early readers are to know of an output that is new, or elsewhere. Nothing without slow start.
  void extend_tables(const JobRecord& job, const StageRecord& stage, std::uint32_t map);
  /// Sends the node the table of the stage's outputs, unless it has it.
  void send_locations(const JobRecord& job, StageRecord& stage, NodeId node);

 private:
  void set_ready(JobRecord& job, StageRecord& stage, bool ready);
  void shape(const JobRecord& job, StageRecord& stage);
  void split_or_merge(const JobRecord& job, StageRecord& stage);
  void set_task_count(StageRecord& stage, std::uint32_t tasks);
  bool move_to_replica(JobRecord& job, StageRecord& stage, std::uint32_t map, const std::string& why);
  void send_moved(JobRecord& job, StageRecord& stage);
  void revive(JobRecord& job, StageRecord& stage);
  void drop_released(JobRecord& job);
  void drop(JobRecord& job, StageRecord& stage);
  void release(const JobRecord& job, StageRecord& stage);

  CoreContext& context_;
  NodeHealth& health_;
  OutputReplicas& replicas_;
  Preplacement& preplacement_;
  RoundEviction& rounds_;
  SlowStart& slow_start_;
};

}  // namespace weft::master
