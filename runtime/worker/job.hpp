// A job as one worker knows it: its program, the values its definition waits for, where its shuffles lie, and its executor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
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
  void kill(const protocol::Kill& kill);
  void set_locations(protocol::Locations locations);
  /// That node is gone, and where its outputs are now has been said.
  void node_lost(NodeId node);
  void prefetch(protocol::Prefetch prefetch);
  /// Of another worker's output, into the store; the master is told what came of it.
  void copy(const protocol::CopyOutput& copy);
  void release(ShuffleId shuffle);
  /// Ends the executor; `done` is called, later, when it is gone.
  void end(std::function<void()> done);
  /// Looks after the executor; called now and then.
  void check();
  std::size_t running() const { return executor_ ? executor_->running() : 0; }

 private:
  void refuse(std::vector<protocol::Launch> launches, const std::string& why);
  void on_request(rpc::Message message, rpc::Responder responder);
  void commit(rpc::Message message, rpc::Responder responder);
  Result<rpc::Payload> locate(const rpc::Message& message) const;
  void open_segments(const rpc::Message& message, rpc::Responder responder);
  void fetch(const rpc::Message& message, rpc::Responder responder);
  void take_prefetched(const rpc::Message& message, rpc::Responder responder);
  void locate_moved(const rpc::Message& message, rpc::Responder responder);
  bool has_moved(const protocol::MovedWanted& wanted) const;
  void answer_moved(const std::function<bool(const protocol::MovedWanted&)>& hopeless);
  void ended(const protocol::Event& event);
  ExecutorStart executor_start() const;

  WorkerContext& worker_;
  protocol::JobSetup setup_;
  std::string binary_path_;  // empty: not ready
  std::string binary_error_;
  std::vector<protocol::Launch> waiting_;  // for the program
  std::map<ActionId, SharedBytes> values_;
  std::map<ShuffleId, std::vector<shuffle::MapOutput>> tables_;
  /// A reader that waits to be told where an output is now.
  struct Moving {
    protocol::MovedWanted wanted;
    rpc::Responder responder;
    std::unique_ptr<rpc::Timer> timer;
  };
  std::map<std::uint64_t, Moving> moving_;
  std::uint64_t next_moving_ = 0;
  /// Of an attempt that runs.
  struct Running {
    shuffle::SegmentRoom room;
    std::uint32_t partition = 0;
    std::vector<ShuffleId> inputs;  // read at that partition
  };
  std::map<AttemptId, Running> running_;
  std::unique_ptr<ExecutorProcess> executor_;
  bool ended_ = false;
  std::function<void()> on_end_;
};

}  // namespace weft::runtime
