#include "engine/simulator/shuffle_service.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "shuffle/store/store_memory.hpp"

namespace weft::simulator {

namespace {

using shuffle::HeldBlocks;
using shuffle::HeldPtr;

/// As good as none, and no sum of it overflows.
constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 60;
constexpr std::uint64_t budget(const ShuffleModel& model) { return model.memory > 0 ? model.memory : kUnlimited; }

std::string address_of(NodeId node) { return std::to_string(node.value()); }
NodeId node_at(const std::string& address) {
  std::uint32_t value = 0;
  std::from_chars(address.data(), address.data() + address.size(), value);
  return NodeId(value);
}

shuffle::SealedSegment segment_of(const std::vector<std::uint64_t>& blocks) {
  shuffle::SealedSegment segment;
  for (const std::uint64_t bytes : blocks) segment.partitions.push_back({bytes, 0});
  segment.size = std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0});
  return segment;
}

std::uint64_t bytes_of(const std::vector<HeldPtr>& blocks) {
  std::uint64_t bytes = 0;
  for (const HeldPtr& one : blocks) bytes += one->blocks.size;
  return bytes;
}

/// Blocks on a disk. Only their sizes exist.
class SimulatedFile final : public shuffle::EvictionFile {
 public:
  /// `held` includes its bytes until it is destroyed.
  SimulatedFile(const std::vector<HeldPtr>& blocks, std::shared_ptr<std::uint64_t> held) : held_(std::move(held)) {
    for (const HeldPtr& one : blocks) blocks_.emplace_back(one->blocks.partitions, one->maps);
    file_bytes_ = memory_bytes_ = bytes_of(blocks);
  }
  ~SimulatedFile() override { *held_ -= memory_bytes_; }
  Result<std::vector<HeldPtr>> read(std::shared_ptr<const shuffle::SegmentRoom> room) const override {
    std::vector<HeldPtr> all;
    for (const auto& [sizes, maps] : blocks_) {
      shuffle::SealedSegment segment;
      segment.partitions = sizes;
      for (const shuffle::PartitionSize& of_map : sizes) segment.size += of_map.bytes;
      all.push_back(std::make_shared<const HeldBlocks>(HeldBlocks{std::move(segment), maps, room}));
    }
    return all;
  }
  bool has(const shuffle::MapAttempt& map) const override {
    return std::any_of(blocks_.begin(), blocks_.end(), [&](const auto& blocks) {
      return std::find(blocks.second.begin(), blocks.second.end(), map) != blocks.second.end();
    });
  }

 private:
  std::vector<std::pair<std::vector<shuffle::PartitionSize>, std::vector<shuffle::MapAttempt>>> blocks_;
  std::shared_ptr<std::uint64_t> held_;
};

/// Makes callbacks that do nothing once it has ended.
class Lifetime {
 public:
  template <class Then>
  ShuffleService::World::Done guard(Then then) const {
    return [alive = std::weak_ptr(alive_), then = std::move(then)](bool whole) mutable {
      if (alive.lock()) then(whole);
    };
  }
  void end() { alive_.reset(); }

 private:
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// The network and the disk of a node's prefetcher.
class SimulatedMover final : public shuffle::BlockMover {
 public:
  SimulatedMover(ShuffleService::World& world, std::uint32_t machine, std::uint64_t disk_bytes)
      : world_(world), machine_(machine), disk_bytes_(disk_bytes) {}

  void find_out(const std::string&, std::function<void(bool)> done) override { done(false); }

  /// Replies from one node come over one connection, one after the other.
  void fetch(shuffle::FetchRequest request, shuffle::FetchDone done) override {
    const bool idle = first_of(request.address) == wanted_.end();
    wanted_.push_back({std::move(request), std::move(done)});
    if (idle) request_next(wanted_.back().request, false);
  }
  /// A fetch from a machine that has died has ended already.
  void forget(const std::string&, const Error&) override {}

  void write(std::vector<HeldPtr> blocks, Written done) override {
    const std::uint64_t bytes = bytes_of(blocks);
    const bool fits = *held_ + bytes <= disk_bytes_;
    if (fits) *held_ += bytes;
    world_.use_disk(machine_, fits ? static_cast<double>(bytes) : 0, true,
                    lifetime_.guard([fits, blocks = std::move(blocks), held = held_, done = std::move(done)](bool) mutable {
                      if (!fits) return done(weft::fail(Code::resource_exhausted, "too much lies in such files already"));
                      auto file = std::make_shared<const SimulatedFile>(blocks, held);
                      blocks.clear();  // and the memory is free
                      done(FilePtr(std::move(file)));
                    }));
  }
  void read(FilePtr file, std::shared_ptr<const shuffle::SegmentRoom> room, Read done) override {
    world_.use_disk(machine_, static_cast<double>(file->file_bytes()), false,
                    lifetime_.guard([file, room = std::move(room), done = std::move(done)](bool) { done(file->read(room)); }));
  }
  std::uint64_t file_bytes() const override { return *held_; }

 private:
  struct Wanted {
    shuffle::FetchRequest request;
    shuffle::FetchDone done;
  };

  std::vector<Wanted>::iterator first_of(const std::string& address) {
    return std::ranges::find(wanted_, address, [](const Wanted& one) -> const std::string& { return one.request.address; });
  }

  void request_next(const shuffle::FetchRequest& request, bool asked) {
    const NodeId node = node_at(request.address);
    const auto from = world_.machine_of(node);
    auto blocks = from ? world_.blocks(*from, request) : std::nullopt;
    const double bytes = blocks ? std::accumulate(blocks->begin(), blocks->end(), 0.0) : 0;
    const std::uint32_t source = blocks ? *from : machine_;
    world_.fetch(request.job, source, machine_, bytes, asked, lifetime_.guard([this, node, blocks = std::move(blocks)](bool whole) {
      const std::string address = address_of(node);
      auto first = first_of(address);
      const Wanted ended = std::move(*first);
      wanted_.erase(first);
      if (const auto next = first_of(address); next != wanted_.end()) request_next(next->request, true);
      if (whole && blocks) return ended.done({segment_of(*blocks), std::nullopt});
      const bool gone = !world_.machine_of(node);
      ended.done({weft::fail(gone ? Code::unavailable : Code::not_found, "it is not there any more"), ended.request.maps.front()});
    }));
  }

  ShuffleService::World& world_;
  const std::uint32_t machine_;
  const std::uint64_t disk_bytes_;
  std::vector<Wanted> wanted_;  // as few as a prefetcher has under way; the first of each address is
  const std::shared_ptr<std::uint64_t> held_ = std::make_shared<std::uint64_t>(0);
  const Lifetime lifetime_;
};

}  // namespace

class ShuffleService::Node final : public shuffle::RoomGiver {
 public:
  Node(World& world, const ShuffleModel& model, std::uint32_t machine, std::uint32_t slots)
      : world_(world), machine_(machine), memory_(budget(model), slots) {
    const shuffle::PrefetchOptions options{.memory_bytes = budget(model) / 2,
                                           .disk_bytes = 4 * budget(model),
                                           .round = slots,
                                           .fetch_bytes = model.fetch_bytes,
                                           .quiet = true};
    auto mover = std::make_unique<SimulatedMover>(world, machine, options.disk_bytes);
    prefetcher_ = std::make_unique<shuffle::Prefetcher>(std::move(mover), *this, options);
  }
  void close() {
    last_ = prefetched();
    prefetcher_.reset();
    lifetime_.end();
  }
  shuffle::Prefetcher* prefetcher() { return prefetcher_.get(); }
  shuffle::PrefetchStats prefetched() const { return prefetcher_ ? shuffle::PrefetchStats(prefetcher_->state()) : last_; }
  std::uint64_t evicted() const { return evicted_; }

  shuffle::SegmentRoom reserve(JobId job, ShuffleId shuffle) {
    shuffle::SegmentRoom room = room_of(job, memory_.reserve(job, shuffle));
    make_way();
    return room;
  }
  shuffle::SegmentRoom reserve_exactly(JobId job, std::uint64_t bytes) override {
    return room_of(job, memory_.reserve_exactly(job, bytes));
  }
  void put(const shuffle::SegmentKey& key, std::uint64_t bytes, bool memory) {
    if (!segments_.try_emplace(key, StoredSegment{bytes, memory}).second)
      return;  // also the replica of an output that was here before
    memory_.came(key, bytes, memory);
    make_way();
  }
  bool put_in_memory(const shuffle::SegmentKey& key, std::uint64_t bytes) {
    const shuffle::SegmentRoom room = reserve_exactly(key.job, bytes);
    if (room.bytes() < bytes) return false;
    put(key, bytes, true);
    return true;
  }
  template <class Matches>
  void release(const shuffle::SegmentKey& first, Matches matches) {
    for (auto at = segments_.lower_bound(first); at != segments_.end() && matches(at->first); at = segments_.erase(at))
      memory_.went(at->first, at->second.bytes, at->second.in_memory);
  }

 private:
  struct StoredSegment {
    std::uint64_t bytes = 0;
    bool in_memory = false;
  };

  void give_back(JobId job, std::uint64_t bytes, bool others_go) override { memory_.give_back(job, bytes, others_go); }
  shuffle::SegmentRoom room_of(JobId job, const shuffle::StoreMemory::Grant& grant) {
    return grant.bytes > 0 ? shuffle::SegmentRoom(*this, job, grant.bytes, grant.others_go) : shuffle::SegmentRoom();
  }

  /// One segment after the other goes to disk while there is too much.
  void make_way() {
    if (evicting_ || !memory_.over_budget()) return;
    evicting_ = true;
    const shuffle::SegmentKey key = memory_.next();
    world_.use_disk(machine_, static_cast<double>(segments_.at(key).bytes), true, lifetime_.guard([this, key](bool) {
      evicting_ = false;
      if (const auto found = segments_.find(key); found != segments_.end() && found->second.in_memory) {
        found->second.in_memory = false;
        memory_.moved(key, found->second.bytes);
        evicted_ += found->second.bytes;
      }
      make_way();
    }));
  }

  World& world_;
  const std::uint32_t machine_;
  shuffle::StoreMemory memory_;
  std::map<shuffle::SegmentKey, StoredSegment> segments_;
  bool evicting_ = false;
  std::uint64_t evicted_ = 0;
  shuffle::PrefetchStats last_;  // once it is closed
  Lifetime lifetime_;
  std::unique_ptr<shuffle::Prefetcher> prefetcher_;
};

ShuffleService::ShuffleService(World& world, const ShuffleModel& model, std::uint32_t machines)
    : world_(world), model_(model), nodes_(machines) {}
ShuffleService::~ShuffleService() = default;

shuffle::Prefetcher* ShuffleService::prefetcher_of(std::uint32_t machine) {
  Node* node = at(machine);
  return node != nullptr ? node->prefetcher() : nullptr;
}

void ShuffleService::join(std::uint32_t machine, std::uint32_t slots) {
  nodes_[machine] = std::make_unique<Node>(world_, model_, machine, std::max(1u, slots));
}

void ShuffleService::close(std::uint32_t machine) {
  if (Node* node = at(machine)) node->close();
}

void ShuffleService::erase(std::uint32_t machine) {
  if (const auto node = std::move(nodes_[machine])) {
    gone_ += node->prefetched();
    gone_evicted_ += node->evicted();
  }
}

void ShuffleService::prefetch(std::uint32_t machine, const master::PrefetchShuffle& command) {
  shuffle::Prefetcher* prefetcher = prefetcher_of(machine);
  if (prefetcher == nullptr) return;
  std::vector<shuffle::RemoteOutput> outputs;
  for (const shuffle::MapOutput& output : command.outputs) {
    if (output.node != command.node && world_.machine_of(output.node))
      outputs.push_back(
          {address_of(output.node), {output.map, output.attempt}, world_.far(*world_.machine_of(output.node), machine)});
  }
  if (command.far) prefetcher->limit_far(*command.far);
  if (command.deferred) prefetcher->defer(command.job, command.shuffle, *command.deferred);
  if (command.partitions) prefetcher->expect(command.job, command.shuffle, *command.partitions);
  prefetcher->offer(command.job, command.shuffle, outputs, command.block_bytes, command.complete);
}

void ShuffleService::release(std::uint32_t machine, JobId job, ShuffleId shuffle) {
  shuffle::Prefetcher* prefetcher = prefetcher_of(machine);
  if (prefetcher == nullptr) return;
  prefetcher->drop(job, shuffle);
  at(machine)->release({job, shuffle, 0, 0},
                       [=](const shuffle::SegmentKey& key) { return key.job == job && key.shuffle == shuffle; });
}

void ShuffleService::release(std::uint32_t machine, JobId job) {
  shuffle::Prefetcher* prefetcher = prefetcher_of(machine);
  if (prefetcher == nullptr) return;
  prefetcher->drop(job);
  at(machine)->release({job, ShuffleId(0), 0, 0}, [=](const shuffle::SegmentKey& key) { return key.job == job; });
}

void ShuffleService::node_lost(NodeId lost) {
  const Error gone(Code::unavailable, "the node is gone");
  for (std::uint32_t machine = 0; machine < nodes_.size(); ++machine) {
    if (shuffle::Prefetcher* prefetcher = prefetcher_of(machine)) prefetcher->forget(address_of(lost), gone);
  }
}

void ShuffleService::take(std::uint32_t machine, JobId job, ShuffleId shuffle, std::uint32_t partition,
                          shuffle::Prefetcher::Taken done) {
  if (shuffle::Prefetcher* prefetcher = prefetcher_of(machine)) prefetcher->take(job, shuffle, partition, std::move(done));
}

void ShuffleService::drop(std::uint32_t machine, JobId job, ShuffleId shuffle, std::uint32_t partition) {
  if (shuffle::Prefetcher* prefetcher = prefetcher_of(machine)) prefetcher->drop(job, shuffle, partition);
}

shuffle::SegmentRoom ShuffleService::reserve(std::uint32_t machine, JobId job, ShuffleId shuffle) {
  Node* node = at(machine);
  return node != nullptr ? node->reserve(job, shuffle) : shuffle::SegmentRoom();
}

void ShuffleService::put(std::uint32_t machine, const shuffle::SegmentKey& key, std::uint64_t bytes, bool memory) {
  if (Node* node = at(machine)) node->put(key, bytes, memory);
}

bool ShuffleService::put_in_memory(std::uint32_t machine, const shuffle::SegmentKey& key, std::uint64_t bytes) {
  Node* node = at(machine);
  return node != nullptr && node->put_in_memory(key, bytes);
}

shuffle::PrefetchStats ShuffleService::prefetched() const {
  shuffle::PrefetchStats sum = gone_;
  for (const auto& node : nodes_) {
    if (node) sum += node->prefetched();
  }
  return sum;
}

std::uint64_t ShuffleService::outputs_evicted() const {
  std::uint64_t sum = gone_evicted_;
  for (const auto& node : nodes_) sum += node ? node->evicted() : 0;
  return sum;
}

}  // namespace weft::simulator
