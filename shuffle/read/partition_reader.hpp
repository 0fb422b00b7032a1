// One way to read a partition: a task requests what some maps wrote for some partitions, and gets it part by part, whether it is in
// this worker's store, in that of another worker of this host, prefetched, moved, or still to be fetched. Only the reader knows
// which.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "shuffle/prefetch/prefetch.hpp"
#include "shuffle/read/output_rows.hpp"
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
  std::uint64_t bytes = UINT64_MAX;               // that it reads, about; UINT64_MAX: not known
  std::size_t descriptors = kDescriptorsPerPart;  // of a part at most; at least 2
  /// A task that waits for a part is answered after this time, with what has come: well before it would give the worker up.
  Duration longest_wait = std::chrono::seconds(30);
};

/// The nodes that have map outputs, as the master reported them.
struct OutputNodes {
  struct Node {
    std::string name;
    std::string address;  // of the data port
  };
  NodeId self{};
  std::map<NodeId, Node> nodes;
  std::map<NodeId, std::string> lost;  // nodes that had some, and why they are gone
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
  /// The next part; it may be empty. One that takes long is given after the longest wait, with what has come; what it waited for
  /// goes on, and comes with the part after it. `known`: segments of this host that the task has mapped. One call at a time; `done`
  /// is called once, at once or later; it may destroy the reader. unavailable: no table of the shuffle is here. resource_exhausted:
  /// this process has no descriptors or memory for it, and got none while it waited a moment. What is lost is no error.
  /// Not while a part is being made.
  void next(const std::vector<MapAttempt>& known, Done done);
  bool makes_part() const { return done_ != nullptr; }
  /// To be called when the tables or the nodes have changed. Where a lost node's outputs are now must be in the tables before the
  /// node is in OutputNodes::lost.
  void locations_changed();
  /// Ends a wait for maps that have not ended: the task gets what the part has so far.
  void interrupt();
  /// How long the part that is being made has waited for such maps. Earlier parts report their own wait.
  Duration waited() const;

 private:
  static constexpr std::size_t kWindow = 256;              // maps that are looked at together
  static constexpr std::size_t kSmallBlocksWindow = 2048;  // where their blocks are small

  // What the part that is being made waits for.
  struct Nothing {};  // or no part is being made
  /// Descriptors of outputs of other workers of this host.
  struct Opening {
    std::size_t requests = 0;  // under way
  };
  struct TakingPrefetched {};
  struct Fetching {};
  /// The first row's node cannot be reached: where the output is now, or until `timer` says that it is lost.
  struct OutputToMove {
    std::string why;
    std::unique_ptr<rpc::Timer> timer;
  };
  /// The first row's map.
  struct MapToEnd {
    TimePoint since;
  };
  /// Descriptors or memory of this process, until `timer` has the step that needed them tried again.
  struct ShortOfSomething {
    std::unique_ptr<rpc::Timer> timer;
  };
  using Wait = std::variant<Nothing, Opening, TakingPrefetched, Fetching, OutputToMove, MapToEnd, ShortOfSomething>;

  std::size_t first_maps_per_fetch() const;
  /// Null: the worker has none.
  const KnownOutputs* table() const;
  Result<void> begin_partition();
  /// Where there are many rows that have little, handing over a descriptor of each would cost more than copying the bytes.
  void look_for_small_blocks();
  std::size_t window() const { return small_blocks_ ? kSmallBlocksWindow : kWindow; }
  /// The end of the rows that are looked at together.
  std::size_t window_end() const { return std::min(rows_.size(), at_ + window()); }
  /// Begins a part with nothing in it, which is answered after the longest wait.
  void begin_part(const std::vector<MapAttempt>& known, Done done);
  void answer_after(Duration wait);
  /// The task has waited for as long as it may.
  void answer_waiting();
  /// Whether no part is requested, since the task was answered before what it waited for came: then the next part goes on with
  /// this.
  using Step = void (PartitionReader::*)();
  bool put_off(Step then);
  /// Goes on with the part until it is full, or must wait for something.
  void advance();
  /// Adds the first row's blocks from this host. False: they must be waited for, or are lost.
  bool add_local(OutputRow& row);
  void add_segment(const OutputRow& row, const std::shared_ptr<const Segment>& segment);
  /// The first row's blocks come with those of others, copied behind one descriptor.
  void gather(const OutputRow& row, std::shared_ptr<const Segment> segment);
  /// What was gathered becomes a source. An error is the read's, and leaves everything as it was; what is damaged is lost.
  Result<void> add_gathered();
  /// Opens the outputs of the next rows that other workers of this host have.
  void open_next();
  /// The rows to open, by node.
  std::map<NodeId, std::vector<std::size_t>> rows_to_open() const;
  void open_on(NodeId node, const std::string& address, const std::vector<std::size_t>& rows);
  void opened();
  void take_prefetched();
  void add_prefetched(const HeldPtr& blocks);
  /// Fetches the first row, or says why it cannot be.
  void fetch();
  /// It is known where it is, and that is another host, and nothing of it is here.
  bool can_fetch(const OutputRow& row) const;
  /// From which row on: that of the next node behind this one, by number, so that not all readers of a shuffle ask the same one
  /// first. Of the nodes of which the task holds nothing that it has not come to, and of that of the first row.
  std::size_t next_to_fetch() const;
  /// The first row is missing: waits for it, or fetches what comes after it meanwhile.
  void wait_for_map();
  /// The first row after the missing one that can be fetched before its turn; nothing where there is none, or enough came already.
  std::optional<std::size_t> next_ahead() const;
  /// Of a shuffle that grows: what the table says now of rows that were not handed out.
  void look_again();
  /// From the node of that row, what it has of it and of the rows after it. `ahead`: before their turn.
  void fetch_from(std::size_t first, bool ahead);
  void fetched(const std::vector<MapOutput>& maps, const std::string& from, bool ahead, FetchOutcome outcome);
  void fetch_failed(const std::vector<MapOutput>& maps, bool ahead, std::optional<MapAttempt> lost_map, Code code, std::string why);
  /// The first row's node cannot be reached: reads on where its output is now, or waits until that is known, or it is lost.
  void follow(std::string why);
  /// The first row's output is elsewhere than it was, or its map runs again. Takes that over.
  bool has_moved();
  void lost(const MapOutput& output, std::string why);
  void reply();
  /// The step failed because this process is short of something that may come back: tries it again after a pause. False: for
  /// another reason, or too often.
  bool again_later(const Error& why, Step step);
  /// The read fails, through no fault of an output.
  void give_up(Error why);
  void fail_part();
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
  std::vector<OutputRow> rows_;             // of outputs that may have something of it
  bool small_blocks_ = false;
  std::size_t at_ = 0;                                       // rows before it are handed out
  std::optional<std::map<MapAttempt, HeldPtr>> prefetched_;  // not yet sent; nothing: the prefetcher was not asked yet
  std::size_t maps_per_fetch_;                               // adapted to the size of the blocks
  std::set<NodeId> unreachable_;                             // asked again when the first row is theirs
  std::size_t ahead_end_ = 0;                                // rows up to there came before their turn
  std::uint64_t ahead_bytes_ = 0;                            // of these

  // Of the part that is being made.
  ReadPart part_;
  Done done_;
  Wait wait_;
  std::set<MapAttempt> known_;
  std::size_t rows_in_part_ = 0;
  struct Gathered {
    MapOutput output;
    std::shared_ptr<const Segment> segment;
  };
  std::vector<Gathered> gathered_;
  std::uint64_t gathered_bytes_ = 0;
  std::uint32_t pauses_ = 0;  // for what this process is short of, in the part
  bool fetched_ = false;      // one fetch is all that a part has
  std::unique_ptr<rpc::Timer> longest_wait_;
  bool answered_early_ = false;   // the part before was: this one goes on with it
  Step put_off_ = nullptr;        // what is to be done with this part when it is requested, since nothing is waited for any more
  std::optional<Error> failure_;  // with which the part ends
};

}  // namespace weft::shuffle
