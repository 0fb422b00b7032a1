// The shuffles of a job as its tasks on one worker see them: where outputs are, what tasks read, and what they commit.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "runtime/protocol/executor.hpp"
#include "runtime/worker/context.hpp"

namespace weft::runtime {

/// Reactor thread only.
class JobShuffle {
 public:
  /// `task_slots`: how many tasks of the job run at a time.
  JobShuffle(WorkerContext& worker, JobId job, shuffle::Mode mode, std::uint32_t task_slots)
      : worker_(worker), job_(job), mode_(mode), task_slots_(task_slots) {}

  void set_locations(const protocol::ShuffleLocations& locations);
  void extend(const protocol::ShuffleExtended& more);
  /// The outputs of a node that is lost are to be made again, as far as it is not known where else they are. Before the node is in
  /// OutputNodes::lost, and before what is requested of it fails; then locations_changed().
  void forget(NodeId node);
  /// Outputs have moved, or there are more: those who read look again.
  void locations_changed();
  void prefetch(const protocol::PrefetchShuffle& prefetch);
  /// Another worker's output into the store; the master is notified of the outcome. One that is there already is a success: a
  /// master that came back may not know of it.
  void replicate(const protocol::ReplicateOutput& command);
  void release(ShuffleId shuffle);

  /// The attempt goes to the executor: sets aside memory for its segment.
  void begin(protocol::Launch& launch);
  void end(const AttemptId& attempt);
  /// The attempt is to stop: what it has requested, and what it requests from now on, fails with cancelled, since its executor
  /// waits for the answers. A read that waits for maps gets what has come.
  void stop_waiting(const AttemptId& attempt);
  /// How long an attempt has waited for maps to end.
  Duration waited(const AttemptId& attempt) const;
  /// What the executor requests: reads and commits.
  void on_request(rpc::Message message, rpc::Responder responder);
  /// The job is over.
  void end_job();

 private:
  /// The answer to a request of an attempt. The first one is given: the attempt may be asked to stop before its request is served.
  class Answer {
   public:
    explicit Answer(rpc::Responder responder) : responder_(std::move(responder)) {}
    bool given() const { return !responder_; }
    void give(Result<rpc::Payload> answer);

   private:
    std::optional<rpc::Responder> responder_;
  };
  using AnswerPtr = std::shared_ptr<Answer>;
  /// An attempt that runs.
  struct Running {
    shuffle::SegmentRoom room;
    std::uint32_t partition = 0;
    std::map<ShuffleId, std::uint64_t> inputs;  // read at that partition, and about how many bytes
    Duration waited{0};                         // for maps to end, by the parts of reads so far
    bool stopped = false;                       // it was asked to stop
    std::vector<std::weak_ptr<Answer>> waits_for{};
  };
  using ReadKey = std::pair<AttemptId, std::uint32_t>;  // the attempt and the number of its read
  using ReaderPtr = std::shared_ptr<shuffle::PartitionReader>;

  /// To a request of the attempt; null when that was asked to stop: then it was answered.
  AnswerPtr answer_to(const AttemptId& attempt, rpc::Responder responder);
  void commit(rpc::Message message, rpc::Responder responder);
  /// Whether a segment is in sealed memory or in a file where executors of the job write them. Other files may be of a file system
  /// that the user's own program serves, and never answer.
  bool is_at_hand(int segment);
  void read(const rpc::Message& message, rpc::Responder responder);
  void drop_readers(const AttemptId& attempt);
  void part_read(const ReadKey& key, const Result<shuffle::ReadPart>& part);
  /// Null when the read is not under way. The first request begins it.
  ReaderPtr reader_of(const protocol::ReadRequest& request);
  shuffle::PartitionRead wanted_of(const protocol::ReadRequest& request) const;

  WorkerContext& worker_;
  const JobId job_;
  const shuffle::Mode mode_;
  const std::uint32_t task_slots_;
  shuffle::OutputTables tables_;
  std::map<AttemptId, Running> running_;
  std::map<ReadKey, ReaderPtr> readers_;
  std::vector<dev_t> disks_;  // that segments of the job are on; empty: not known yet
  bool ended_ = false;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weft::runtime
