// A job as one worker knows it: its program, the values its definition waits for, where its shuffles lie, and its executor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/worker/binary_cache.hpp"
#include "runtime/worker/context.hpp"
#include "runtime/worker/executor_process.hpp"

namespace weft::runtime {

/// Reactor thread only.
class WorkerJob : public std::enable_shared_from_this<WorkerJob> {
 public:
  WorkerJob(WorkerContext& worker, protocol::JobSetup setup) : worker_(worker), setup_(std::move(setup)) {}

  /// Makes the program ready; launches wait for it.
  void prepare(BinaryCache& binaries);
  void launch(std::vector<protocol::Launch> launches);
  void provide(ActionId action, SharedBytes value);
  void kill(const protocol::KillTask& kill);
  void set_locations(const protocol::ShuffleLocations& locations);
  void extend(const protocol::ShuffleExtended& more);
  /// A node is gone; the tables know already where its outputs are now.
  void node_lost(NodeId node);
  void prefetch(const protocol::PrefetchShuffle& prefetch);
  /// Another worker's output into the store; the master is notified of the outcome.
  void replicate(const protocol::ReplicateOutput& command);
  void release(ShuffleId shuffle);
  /// Ends the executor; `done` is called, later, when it is gone.
  void end(std::function<void()> done);
  /// Looks after the executor; called now and then.
  void check();
  /// -1: there is none now.
  pid_t executor_pid() const { return executor_ ? executor_->pid() : -1; }

 private:
  void refuse(std::vector<protocol::Launch> launches, const std::string& why);
  /// Outputs have moved, or there are more.
  void locations_changed();
  /// Answers the reads of an attempt that is to stop.
  void stop_waiting(const AttemptId& attempt);
  /// How long an attempt has waited for maps to end.
  Duration waited(const AttemptId& attempt) const;
  void on_request(rpc::Message message, rpc::Responder responder);
  void commit(rpc::Message message, rpc::Responder responder);
  void read(const rpc::Message& message, rpc::Responder responder);
  std::shared_ptr<shuffle::PartitionReader> reader_of(const protocol::ReadRequest& request);
  shuffle::PartitionRead wanted_of(const protocol::ReadRequest& request) const;
  void ended(const protocol::Event& event);
  ExecutorStart executor_start() const;
  /// How many tasks run at a time.
  std::uint32_t task_slots() const;

  WorkerContext& worker_;
  protocol::JobSetup setup_;
  std::string binary_path_;  // empty: not ready
  std::string binary_error_;
  std::vector<protocol::Launch> waiting_;  // for the program
  std::map<ActionId, SharedBytes> values_;
  shuffle::OutputTables tables_;
  std::map<std::pair<AttemptId, std::uint32_t>, std::shared_ptr<shuffle::PartitionReader>> readers_;  // by attempt and read
  /// Of an attempt that runs.
  struct Running {
    shuffle::SegmentRoom room;
    std::uint32_t partition = 0;
    std::vector<ShuffleId> inputs;                   // read at that partition
    std::map<ShuffleId, std::uint64_t> input_bytes;  // about
    Duration waited{0};                              // for maps to end, by the parts of reads so far
    bool stopped = false;                            // it was asked to stop
  };
  std::map<AttemptId, Running> running_;
  std::unique_ptr<ExecutorProcess> executor_;
  bool ended_ = false;
  std::function<void()> on_end_;
};

}  // namespace weft::runtime
