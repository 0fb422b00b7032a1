// A cluster of pretended workers around a Namespace, and what its promises are.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/namespace/namespace.hpp"

namespace weft::storage {

std::string describe(const Namespace& ns);  // describe.cpp

using namespace std::chrono_literals;

/// Fails with the error's text.
#define OK(expression)                                                   \
  do {                                                                   \
    const auto ok_result = (expression);                                 \
    ASSERT_TRUE(ok_result.has_value()) << ok_result.error().to_string(); \
  } while (false)

struct PretendedWorker {
  std::string name, host, rack;
  std::uint64_t capacity = std::uint64_t{1} << 40;
  std::map<ChunkId, ChunkInfo> disk;
  std::map<ChunkId, ChunkInfo> aside{};                    // damaged, kept
  std::set<ChunkId> rotten{};                              // of disk: damaged, and nobody knows
  NodeId node{};                                           // 0: away
  std::vector<ChunkId> to_erase{};                         // as commanded, not done
  std::vector<std::pair<ChunkEvent, ChunkInfo>> untold{};  // what happened, in order

  std::uint64_t used() const {
    std::uint64_t bytes = 0;
    for (const auto& [id, info] : disk) bytes += info.length;
    return bytes;
  }
  Space space() const { return {used(), capacity - std::min(capacity, used())}; }
};

/// Holds the durable records like a database, and carries commands out like workers.
class World {
 public:
  explicit World(NamespaceOptions options = {}) : options_(options), ns(std::make_unique<Namespace>(options)) {}

  PretendedWorker& add(const std::string& name, const std::string& rack, std::uint64_t capacity = std::uint64_t{1} << 40) {
    PretendedWorker& worker = workers[name];
    worker.name = name;
    worker.host = "host-" + name;
    worker.rack = rack;
    worker.capacity = capacity;
    join(worker);
    return worker;
  }
  void join(PretendedWorker& worker) {
    forget_registration(worker);
    worker.node = NodeId(next_node_++);
    EXPECT_TRUE(ns->node_joined(worker.node, {worker.name, worker.host, worker.rack, worker.host + ":1"}, worker.space(), now));
    std::vector<ChunkInfo> all;
    for (const auto& [id, info] : worker.disk) all.push_back(info);
    EXPECT_TRUE(ns->block_report(worker.node, all, true, true));
    for (const auto& [id, info] : worker.aside) EXPECT_TRUE(ns->chunks_changed(worker.node, ChunkEvent::corrupt, {{id, 0, 0}}));
  }
  void kill(PretendedWorker& worker) {
    ns->node_lost(worker.node, now);
    forget_registration(worker);
  }
  PretendedWorker* by_node(NodeId id) {
    for (auto& [name, worker] : workers)
      if (worker.node == id && id != NodeId{}) return &worker;
    return nullptr;
  }

  /// Heartbeats, a tick, and its commands carried out at once.
  void step(Time by = 200ms) {
    now += by;
    for (auto& [name, worker] : workers)
      if (worker.node != NodeId{}) {
        EXPECT_TRUE(ns->heartbeat(worker.node, worker.space(), now));
      }
    ns->tick(now);
    obey();
    keep();
  }
  void obey() {
    for (const StorageCommand& command : ns->take_commands()) {
      commands.push_back(text(command));
      if (const auto* erase = std::get_if<EraseChunks>(&command)) {
        if (PretendedWorker* worker = by_node(erase->node)) order_erasure(*worker, erase->chunks);
        continue;
      }
      if (const auto* verify = std::get_if<VerifyChunk>(&command)) {
        if (PretendedWorker* worker = by_node(verify->node)) look(*worker, verify->chunk);
        continue;
      }
      const auto& copy = std::get<CopyChunk>(command);
      PretendedWorker* from = by_node(copy.from);
      PretendedWorker* to = by_node(copy.to);
      if (from == nullptr) continue;
      look(*from, copy.chunk.id);
      const bool whole = from->disk.contains(copy.chunk.id) || (mendable && from->aside.contains(copy.chunk.id));
      if (to == nullptr || !whole) {
        (void)ns->copy_failed(copy.from, copy.chunk.id, copy.to, now);  // refused when the target is lost
        continue;
      }
      const auto& doomed = to->to_erase;
      EXPECT_TRUE(std::find(doomed.begin(), doomed.end(), copy.chunk.id) == doomed.end()) << "copied to where it is to be erased";
      if (to->disk.contains(copy.chunk.id)) {
        EXPECT_TRUE(slow) << "copied to where it is";
        (void)ns->copy_failed(copy.from, copy.chunk.id, copy.to, now);  // refused when it was told meanwhile
        continue;
      }
      to->disk[copy.chunk.id] = copy.chunk;
      to->aside.erase(copy.chunk.id);
      happened(*to, ChunkEvent::sealed, copy.chunk);
    }
  }
  /// Somebody reads the replica in full.
  void look(PretendedWorker& worker, ChunkId id) {
    const auto found = worker.disk.find(id);
    if (found == worker.disk.end()) return;
    const ChunkInfo info = found->second;
    worker.rotten.contains(id) ? damage(worker, info) : happened(worker, ChunkEvent::verified, info);
  }
  /// It is found damaged and set aside.
  void damage(PretendedWorker& worker, const ChunkInfo& info) {
    worker.disk.erase(info.id);
    worker.rotten.erase(info.id);
    worker.aside[info.id] = info;
    happened(worker, ChunkEvent::corrupt, info);
  }
  void order_erasure(PretendedWorker& worker, const std::vector<ChunkId>& ids) {
    worker.to_erase.insert(worker.to_erase.end(), ids.begin(), ids.end());
    if (!slow) erase(worker);
  }
  void erase(PretendedWorker& worker) {
    for (const ChunkId id : std::exchange(worker.to_erase, {})) {
      worker.disk.erase(id);
      worker.aside.erase(id);
      worker.rotten.erase(id);
      happened(worker, ChunkEvent::erased, {id, 0, 0});
    }
  }
  void happened(PretendedWorker& worker, ChunkEvent event, const ChunkInfo& info) {
    worker.untold.emplace_back(event, info);
    if (!slow) tell(worker);
  }
  void tell(PretendedWorker& worker) {
    for (const auto& [event, info] : std::exchange(worker.untold, {})) {
      const auto told = ns->chunks_changed(worker.node, event, {info});
      EXPECT_TRUE(told);
    }
  }
  /// Steps until `done`, or fails.
  template <class Done>
  bool until(Done&& done, int steps = 500) {
    for (int i = 0; i < steps; ++i) {
      if (done()) return true;
      step();
    }
    return done();
  }

  /// Writes a file of `chunks` chunks the way clients do.
  Result<void> write(const std::string& path, int count, CreateOptions create = {}, const std::string& writer = "",
                     const std::string& user = "ann", std::uint64_t bytes = 1000) {
    WEFT_ASSIGN(const LeaseId lease, ns->create(path, user, create, now));
    for (int i = 0; i < count; ++i) WEFT_TRY(write_chunk(lease, writer, bytes));
    WEFT_TRY(ns->complete(lease, 7, now));
    keep();
    return {};
  }
  Result<void> write_chunk(LeaseId lease, const std::string& writer, std::uint64_t bytes) {
    WEFT_ASSIGN(const Allocation allocation, ns->allocate(lease, writer, {}, now));
    const ChunkInfo info{allocation.chunk, bytes, static_cast<std::uint32_t>(allocation.chunk.value() * 7919)};
    for (const NodeId target : allocation.targets) by_node(target)->disk[info.id] = info;
    return ns->seal(lease, info, allocation.targets, now);
  }

  /// What a database would hold.
  void keep() {
    for (const Change& change : ns->take_changes()) {
      if (change.value)
        records[change.key] = *change.value;
      else
        records.erase(change.key);
    }
  }
  /// A new master on the same records; workers come back one by one (join()).
  void restart() {
    keep();
    const std::string before = describe(*ns);
    ns = load();
    EXPECT_EQ(describe(*ns), before);
    next_node_ = ns->next_node().value();
    for (auto& [name, worker] : workers) forget_registration(worker);
  }
  /// The calendar goes with the clock.
  std::int64_t calendar_ms() const { return std::chrono::duration_cast<std::chrono::milliseconds>(now).count(); }
  std::unique_ptr<Namespace> load() {
    auto loaded = std::make_unique<Namespace>(options_);
    for (const auto& [key, value] : records) {
      const auto restored = loaded->restore(key, value);
      EXPECT_TRUE(restored) << restored.error().to_string();
    }
    const auto restored = loaded->restored(now, calendar_ms());
    EXPECT_TRUE(restored) << restored.error().to_string();
    return loaded;
  }

  std::vector<std::string> names_at(const std::string& path, std::size_t chunk = 0) {
    std::vector<std::string> names;
    const auto places = ns->locate(path, 0, UINT64_MAX);
    if (!places || places->chunks.size() <= chunk) return names;
    for (const NodeId id : places->chunks.at(chunk).nodes) names.push_back(by_node(id)->name);
    return names;
  }

  static std::string text(const StorageCommand& command) {
    if (const auto* copy = std::get_if<CopyChunk>(&command))
      return "copy " + std::to_string(copy->chunk.id.value()) + " " + std::to_string(copy->from.value()) + ">" +
             std::to_string(copy->to.value());
    if (const auto* verify = std::get_if<VerifyChunk>(&command))
      return "verify " + std::to_string(verify->node.value()) + " " + std::to_string(verify->chunk.value());
    const auto& erase = std::get<EraseChunks>(command);
    std::string line = "erase " + std::to_string(erase.node.value());
    for (const ChunkId id : erase.chunks) line += " " + std::to_string(id.value());
    return line;
  }

  Time now{0};
  std::map<std::string, PretendedWorker> workers;
  std::map<std::string, std::string> records;
  std::vector<std::string> commands;
  bool mendable = false;  // of damaged replicas a whole one can be made
  bool slow = false;      // workers erase when erase() says so, and tell what happened when tell() does

 private:
  /// What a registration ordered and left to be told ends with it.
  static void forget_registration(PretendedWorker& worker) {
    worker.node = NodeId{};
    worker.to_erase.clear();
    worker.untold.clear();
  }

  NamespaceOptions options_;
  std::uint32_t next_node_ = 1;

 public:
  std::unique_ptr<Namespace> ns;
};

}  // namespace weft::storage
