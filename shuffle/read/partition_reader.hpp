// One way to read a partition: a task requests what some maps wrote for some partitions, and gets it part by part, whether it is in
// this worker's store, in that of another worker of this host, prefetched, moved, or still to be fetched. Nobody but the reader
// knows which.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "shuffle/prefetch/prefetch.hpp"
#include "shuffle/read/read_part.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/store/task_shuffle.hpp"
#include "shuffle/transfer/block_fetcher.hpp"
#include "shuffle/transfer/same_host.hpp"

namespace weft::shuffle {

/// What a task reads: all that `maps` wrote for `partitions`.
struct PartitionRead {
  JobId job;
  ShuffleId shuffle;
  PartitionRange partitions;
  MapRange maps{};
  std::uint64_t fetch_bytes = 32u << 20;          // wanted size of one fetch at most, and so of what the task holds per node
  std::uint64_t bytes = UINT64_MAX;               // it reads about so many; without: not known
  std::size_t descriptors = kDescriptorsPerPart;  // that a part brings at most; at least 2
};

/// The nodes that have map outputs, as the master said.
struct OutputNodes {
  struct Node {
    std::string name;
    std::string address;  // of the data port
  };
  NodeId self{};
  std::map<NodeId, Node> nodes;
  std::map<NodeId, std::string> lost;  // that had some, and why they have them no more
};
/// The tables of a job's shuffles.
using OutputTables = std::map<ShuffleId, KnownOutputs>;

/// Where a reader finds what it reads; all of it outlives the reader.
struct ReadSources {
  rpc::Reactor& reactor;
  const Store& store;
  SameHost& same_host;
  Prefetcher& prefetcher;
  BlockFetcher& fetcher;
  const OutputNodes& nodes;
  const OutputTables& tables;
};

/// One read. Requesting a part is what lets the reader bring more: it fetches at most once for each, so a task never has more
/// fetched blocks than one fetch per node. Reactor thread only; held by shared pointers; after destruction no callback comes.
class PartitionReader : public std::enable_shared_from_this<PartitionReader> {
 public:
  PartitionReader(const ReadSources& sources, const PartitionRead& wanted)
      : sources_(sources), wanted_(wanted), maps_per_fetch_(first_maps_per_fetch()) {}

  using Done = std::function<void(Result<ReadPart>)>;
  /// The next part; it may be empty. `known`: segments of this host that the task has mapped. One call at a time; `done` is called
  /// once, at once or later; it may destroy the reader. unavailable: no table of the shuffle is here. What is lost is no error.
  void next(const std::vector<MapAttempt>& known, Done done);
  /// Where outputs are has changed, or there are more, or a node was lost; where a lost node's outputs are now is said before it is
  /// said to be lost.
  void locations_changed();
  /// Ends a wait for outputs of maps that have not ended: what there is of the part goes to the task, which wants to stop.
  void interrupt();
  /// How long the part that is being made has waited for such outputs. Earlier parts have said so.
  Duration waited() const;

 private:
  static constexpr std::size_t kWindow = 256;              // maps that are looked at together
  static constexpr std::size_t kSmallBlocksWindow = 2048;  // where their blocks are small

  struct Row {
    MapOutput output;
    bool elsewhere = false;  // not on this host
    bool sent = false;       // in an earlier source
    bool missing = false;    // its map has not ended, or runs again
    std::uint32_t moves = 0;
  };

  std::size_t first_maps_per_fetch() const;
  Result<void> begin_partition();
  /// Where there are many rows that have little, handing over a descriptor of each would cost more than copying the bytes.
  void look_for_small_blocks();
  /// The end of the rows that are looked at together.
  std::size_t window_end() const;
  /// Goes on with the part until it is full, or must wait for something.
  void advance();
  /// Adds the first row's blocks from this host. False: they must be waited for, or are lost.
  bool add_local(const Row& row);
  bool add_segment(const Row& row, const std::shared_ptr<const Segment>& segment);
  /// The first row's blocks come with those of others, copied behind one descriptor.
  void gather(const Row& row, std::shared_ptr<const Segment> segment);
  /// What was gathered becomes a source. An error is the read's; what is damaged is lost.
  Result<void> add_gathered();
  /// Opens the outputs of the next rows that other workers of this host have.
  void open_next();
  void open_on(NodeId node, const std::string& address, const std::vector<std::size_t>& rows);
  void opened();
  void take_prefetched();
  void add_prefetched(const HeldPtr& blocks);
  void fetch();
  /// From which row on: that of the next node behind this one, by number, so that not all readers of a shuffle ask the same one
  /// first. Of the nodes of which the task holds nothing that it has not come to, and of that of the first row.
  std::size_t next_to_fetch() const;
  /// The first row is missing: waits for it, or fetches what comes after it meanwhile.
  void wait_for_map();
  /// Of a shuffle that grows: what the table says now of rows that were not handed out.
  void look_again();
  /// From the node of that row, what it has of it and of the rows after it.
  void fetch_from(std::size_t first);
  void fetched(const std::vector<MapOutput>& maps, const std::string& from, FetchOutcome outcome);
  /// The first row's node cannot be reached: reads on where its output is now, or waits until that is known, or it is lost.
  void follow(std::string why);
  bool has_moved();
  void lost(const MapOutput& output, std::string why);
  void reply();
  /// A callback that does nothing once the reader is gone.
  template <class Then>
  auto later(Then then) {
    return [weak = weak_from_this(), then = std::move(then)](auto&&... arguments) {
      if (const auto self = weak.lock()) then(*self, std::forward<decltype(arguments)>(arguments)...);
    };
  }
  static MapAttempt attempt_of(const MapOutput& output) { return {output.map, output.attempt}; }
  bool part_is_full() const;

  const ReadSources sources_;
  const PartitionRead wanted_;
  std::optional<std::uint32_t> partition_;  // that is being read
  std::vector<Row> rows_;                   // of outputs that may have something of it
  bool small_blocks_ = false;
  std::size_t at_ = 0;                // rows before it are handed out
  std::map<std::size_t, Fd> opened_;  // by row: of other workers of this host; invalid: they have it no more
  std::size_t opening_ = 0;           // requests under way
  bool took_prefetched_ = false;
  std::map<MapAttempt, HeldPtr> prefetched_;  // not yet sent
  std::size_t maps_per_fetch_;                // adapted to the size of the blocks
  std::set<NodeId> unreachable_;              // asked again when the first row is theirs

  // Of the part that is being made.
  ReadPart part_;
  Done done_;
  std::set<MapAttempt> known_;
  std::size_t rows_in_part_ = 0;
  struct Gathered {
    MapOutput output;
    std::shared_ptr<const Segment> segment;
  };
  std::vector<Gathered> gathered_;
  std::uint64_t gathered_bytes_ = 0;
  bool fetched_ = false;
  struct Waiting {
    std::string why;
    std::unique_ptr<rpc::Timer> timer;
  };
  std::optional<Waiting> waiting_;  // for the first row's output to move
  /// For the first row's map to end.
  struct Stalled {
    TimePoint since;
    std::unique_ptr<rpc::Timer> timer;  // then the task is answered, and asks again
  };
  std::optional<Stalled> stalled_;
  std::size_t ahead_end_ = 0;      // rows up to there came before their turn
  std::uint64_t ahead_bytes_ = 0;  // so many bytes
  bool ahead_ = false;             // what is being fetched does
};

}  // namespace weft::shuffle
