// A catalogue and some workers' replicas in one process: real databases, a clock that is turned, and messages that can be lost.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/tables/catalogue.hpp"
#include "storage/tables/replica.hpp"
#include "tests/storage/tables/fake_reactor.hpp"
#include "tests/support/process.hpp"

namespace weft::storage::tables {

class ReplicaFixture : public testing::Test {
 protected:
  struct Worker {
    std::string name;
    std::unique_ptr<IoThreads> threads;
    std::unique_ptr<ReplicaContext> context;
    std::map<PlaceId, std::shared_ptr<Replica>> replicas;
    bool first = true;
    bool hears_master = true;
    std::unique_ptr<rpc::Timer> timer;
  };

  ~ReplicaFixture() override {
    while (!workers_.empty()) kill(workers_.begin()->first);
  }

  std::string path(const std::string& worker, const PlaceId& place) const { return scratch_ / (worker + "-" + to_string(place)); }
  Time now() const { return std::chrono::duration_cast<Time>(clock_.now().time_since_epoch()); }

  /// Also one that was killed, with what it has on its disk.
  using OpenPartition = std::function<Result<std::unique_ptr<TablePartition>>(const std::string& path, OpenMode mode)>;
  void start(const std::string& name, OpenPartition open_partition = {}) {
    Worker& worker = workers_[name];
    worker.name = name;
    worker.threads = std::make_unique<IoThreads>(2);
    worker.context.reset(new ReplicaContext{reactor_, *worker.threads, clock_, {}, name, 0, name});
    if (open_partition) worker.context->open_partition = std::move(open_partition);
    worker.context->ask = [this, name](const std::string& to, const PartitionRequest& request, Duration,
                                       PartitionPeers::Answer answer) { deliver(name, to, request, std::move(answer)); };
    worker.context->ask_master = [this, name](const InSyncChange& change, std::function<void(Result<TableOrders>)> then) {
      reactor_.post([this, name, change, then = std::move(then)] {
        if (!workers_.contains(name)) return;
        if (!workers_.at(name).hears_master) return then(fail(Code::unavailable, "the master is away"));
        TableOrders orders;
        Assignment assignment;
        (void)catalogue_.change_in_sync(name, change, assignment);
        if (assignment.revision > 0) orders.assignments.push_back(assignment);
        then(orders);
        spread_changes();
      });
    };
    worker.context->heartbeat_soon = [this, name] { heartbeat_soon(name); };
    for (const PlaceId& place : places_)
      if (std::filesystem::exists(path(name, place))) replica(worker, place).open();
    ASSERT_TRUE(reactor_.until([&] {
      for (const auto& [place, replica] : worker.replicas)
        if (replica->opening()) return false;
      return true;
    }));
    heartbeat(name);
  }
  void kill(const std::string name) {  // a copy: what it names goes
    Worker& worker = workers_.at(name);
    worker.timer.reset();
    for (const auto& [place, replica] : worker.replicas) replica->master_lost();
    worker.threads.reset();
    worker.replicas.clear();
    workers_.erase(name);
    catalogue_.node_lost(name, now());
  }

  /// A table's only partition is made and used.
  void make(std::uint32_t replication, std::uint32_t partitions = 1) {
    ASSERT_TRUE(catalogue_.create("t", partitions, replication));
    for (std::uint32_t p = 0; p < partitions; ++p) places_.push_back({catalogue_.describe("t")->id, p});
    spread_changes();
    ASSERT_TRUE(whole()) << fault();
  }
  PartitionStatus status(std::uint32_t partition = 0) const { return catalogue_.describe("t")->partitions.at(partition); }
  std::string fault() const { return status().fault; }
  bool in_sync(const std::string& worker) const {
    for (const MemberStatus& member : status().members)
      if (member.name == worker) return member.in_sync;
    return false;
  }
  bool whole() {
    return turn([&] {
      const TableStatus table = *catalogue_.describe("t");
      return table.short_partitions == 0 && table.down_partitions == 0;
    });
  }
  bool turn(const std::function<bool()>& done, Duration most = std::chrono::minutes(2)) { return reactor_.until(done, most); }

  /// Asks a worker's replica itself; nothing when no answer comes.
  std::optional<Result<PartitionReply>> ask(const std::string& worker, PartitionRequest request,
                                            Duration most = std::chrono::seconds(20)) {
    request.place = places_.at(request.place.partition);
    const auto answer = std::make_shared<std::optional<Result<PartitionReply>>>();
    deliver("client", worker, request, [answer](Result<PartitionReply> reply) { answer->emplace(std::move(reply)); });
    (void)turn([&] { return answer->has_value(); }, most);
    return *answer;
  }
  /// For the primary, in its epoch.
  PartitionRequest order(PartitionOperation operation) const { return {{}, status().epoch, std::move(operation)}; }
  /// Whether the primary carries it out.
  bool done(const PartitionRequest& request) {
    const auto reply = ask(status().primary, request);
    return reply && reply->has_value();
  }
  static PartitionRequest request_of(PartitionOperation operation) { return {{}, 0, std::move(operation)}; }
  /// Of the primary, whoever that is, as a client does: again and again.
  Result<PartitionReply> ask_primary(const PartitionRequest& request, Duration patience = std::chrono::seconds(20)) {
    Result<PartitionReply> last = fail(Code::unavailable, "there is no primary");
    const TimePoint end = clock_.now() + patience;
    while (clock_.now() < end) {
      const std::string primary = status().primary;
      if (!primary.empty() && workers_.contains(primary))
        if (auto reply = ask(primary, request)) {
          if (*reply || (*reply).error().code() != Code::unavailable) return *reply;
          last = *reply;
        }
      reactor_.pass(std::chrono::milliseconds(100));
    }
    return last;
  }
  Result<PartitionReply> put(const std::string& key, const std::string& value) {
    return ask_primary(request_of(PutRows{{{key, value}}}));
  }
  Result<std::optional<std::string>> get(const std::string& key) {
    WEFT_ASSIGN(const PartitionReply reply, ask_primary(request_of(GetRows{{}, {key}})));
    return value_of(reply);
  }
  /// Of the only key that was asked for.
  static std::optional<std::string> value_of(const PartitionReply& reply) { return std::get<Values>(reply).values.at(0).value; }

  void deliver(const std::string& from, const std::string& to, const PartitionRequest& request, PartitionPeers::Answer answer) {
    reactor_.post([this, from, to, request, answer = std::move(answer)] {
      if (holds_(request)) return held_.push_back([this, from, to, request, answer] { deliver(from, to, request, answer); });
      const auto worker = workers_.find(to);
      const bool gone = worker == workers_.end() || !worker->second.replicas.contains(request.place);
      if (gone || !passes_(from, to, request))
        return reactor_.post([answer] { answer(fail(Code::unavailable, "nobody answers")); });
      worker->second.replicas.at(request.place)->serve(request, [this, answer](Result<PartitionReply> reply) {
        reactor_.post([answer, reply = std::move(reply)] { answer(reply); });
      });
    });
  }
  void let_go() {
    holds_ = [](const auto&) { return false; };
    for (const auto& message : std::exchange(held_, {})) message();
  }

  void heartbeat_soon(const std::string& name) {
    const auto worker = workers_.find(name);
    if (worker != workers_.end()) worker->second.timer = reactor_.after({}, [this, name] { heartbeat(name); });
  }
  void spread_changes() {
    for (const std::string& name : catalogue_.changed_workers()) heartbeat_soon(name);
  }

  ManualClock clock_{TimePoint(std::chrono::hours(1))};
  test::FakeReactor reactor_{clock_, [this] {
                               return std::any_of(workers_.begin(), workers_.end(), [](const auto& one) {
                                 return one.second.threads && !one.second.threads->idle();
                               });
                             }};
  TableCatalogue catalogue_;
  std::map<std::string, Worker> workers_;
  std::vector<PlaceId> places_;
  test::ScratchDirectory scratch_;
  /// False: the message is lost, and its sender told so.
  std::function<bool(const std::string& from, const std::string& to, const PartitionRequest&)> passes_ =
      [](const auto&, const auto&, const auto&) { return true; };
  /// True: the message waits until they are let go.
  std::function<bool(const PartitionRequest&)> holds_ = [](const auto&) { return false; };
  std::vector<std::function<void()>> held_;

 private:
  Replica& replica(Worker& worker, const PlaceId& place) {
    auto& there = worker.replicas[place];
    if (!there) there = std::make_shared<Replica>(*worker.context, place, path(worker.name, place));
    return *there;
  }
  void heartbeat(const std::string& name) {
    Worker& worker = workers_.at(name);
    worker.timer = reactor_.after(std::chrono::milliseconds(200), [this, name] { heartbeat(name); });
    catalogue_.tick(now());
    if (!worker.hears_master) return;
    TableHeartbeat message;
    message.first = std::exchange(worker.first, false);
    message.address = name;
    for (const auto& [place, replica] : worker.replicas) {
      replica->look_at_disk();
      message.replicas.push_back(replica->report());
    }
    const TableOrders orders = catalogue_.heartbeat({name, "host-" + name, "rack", name}, message, now());
    worker.context->leased_until = clock_.now() + std::chrono::milliseconds(orders.lease_ms);
    for (const Assignment& assignment : orders.assignments) replica(worker, assignment.place).adopt(assignment);
    spread_changes();
  }
};

}  // namespace weft::storage::tables
