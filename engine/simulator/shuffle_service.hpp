// The shuffle services of the simulated nodes. Each has the prefetcher of real workers and the memory account of their stores. The
// bytes that these decide to move use the links and disks of the model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/master/core/events.hpp"
#include "engine/simulator/cluster_model.hpp"
#include "shuffle/prefetch/prefetch.hpp"
#include "shuffle/store/segment_room.hpp"

namespace weft::simulator {

/// Machines are numbered as in Machines. Calls about a machine that is gone, or about an unknown job or shuffle, have no effect.
class ShuffleService {
 public:
  /// What the services need from the rest of the simulation.
  class World {
   public:
    /// Called once, later, with whether all bytes came.
    using Done = std::function<void(bool whole)>;
    virtual ~World() = default;
    /// The machine with that node, while it lives.
    virtual std::optional<std::uint32_t> machine_of(NodeId node) const = 0;
    /// Whether machines are in different racks.
    virtual bool far(std::uint32_t a, std::uint32_t b) const = 0;
    /// The bytes of each block; nothing when that machine lacks one of them.
    virtual std::optional<std::vector<std::uint64_t>> blocks(std::uint32_t machine, const shuffle::FetchRequest& request) const = 0;
    /// `asked`: the request was on its way while something else came from there, and its round trip takes no time.
    virtual void fetch(JobId job, std::uint32_t from, std::uint32_t to, double bytes, bool asked, Done done) = 0;
    virtual void use_disk(std::uint32_t machine, double bytes, bool write, Done done) = 0;
  };

  /// `world` outlives it.
  ShuffleService(World& world, const ShuffleModel& model, std::uint32_t machines);
  ~ShuffleService();

  /// `slots`: tasks that read at a time.
  void join(std::uint32_t machine, std::uint32_t slots);
  /// Ends all callbacks for that machine. Call erase() as soon as nothing holds its rooms any more.
  void close(std::uint32_t machine);
  void erase(std::uint32_t machine);
  /// Limit of the prefetched blocks that a node holds, as workers report it to the master; 0: no limit.
  std::uint64_t prefetch_bytes() const { return model_.memory / 2; }

  // What the master commands.
  void prefetch(std::uint32_t machine, const master::PrefetchShuffle& command);
  void release(std::uint32_t machine, JobId job, ShuffleId shuffle);
  void release(std::uint32_t machine, JobId job);
  void node_lost(NodeId node);

  /// See Prefetcher::take() and drop(). `done` must not call the service.
  void take(std::uint32_t machine, JobId job, ShuffleId shuffle, std::uint32_t partition, shuffle::Prefetcher::Taken done);
  void drop(std::uint32_t machine, JobId job, ShuffleId shuffle, std::uint32_t partition);

  /// Memory for the output of a map that begins. An output that needs more goes to disk.
  shuffle::SegmentRoom reserve(std::uint32_t machine, JobId job, ShuffleId shuffle);
  /// The output is complete.
  void put(std::uint32_t machine, const shuffle::SegmentKey& key, std::uint64_t bytes, bool memory);
  /// Puts the replica of another node's output into memory. False: there is no room, and it goes to disk.
  bool put_in_memory(std::uint32_t machine, const shuffle::SegmentKey& key, std::uint64_t bytes);

  /// Sums over all nodes, also those that are gone.
  shuffle::PrefetchStats prefetched() const;
  std::uint64_t outputs_evicted() const;  // bytes

 private:
  class Node;
  Node* at(std::uint32_t machine) { return nodes_[machine].get(); }
  /// Null where the machine is gone.
  shuffle::Prefetcher* prefetcher_of(std::uint32_t machine);

  World& world_;
  const ShuffleModel model_;
  shuffle::PrefetchStats gone_;  // of nodes that are
  std::uint64_t gone_evicted_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;  // by machine
};

}  // namespace weft::simulator
