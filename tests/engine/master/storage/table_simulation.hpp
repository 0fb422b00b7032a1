// A cluster that keeps a table, in one thread and without a network: the master's catalogue and coordinator, workers' replicas on
// real databases, clients. Messages between any two take any time, and answers with them; links are cut in one or both
// directions; workers and the master stop for a while, or die between any two steps and come back with what is on their disks.
// Everything follows from a seed.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "engine/master/storage/table_coordinator.hpp"
#include "storage/tables/catalogue.hpp"
#include "storage/tables/replica.hpp"
#include "tests/storage/tables/fake_reactor.hpp"
#include "tests/support/process.hpp"

namespace weft::master {

/// What runs in a process: everything of it stops with it, and nothing happens any more when it has died.
class SimulatedProcess final : public rpc::Reactor {
 public:
  explicit SimulatedProcess(test::FakeReactor& world) : world_(world), state_(std::make_shared<State>()) {}
  ~SimulatedProcess() override { die(); }
  /// Nothing of it happens any more, and what its tasks held is let go.
  void die() {
    state_->dead = true;
    state_->tasks.clear();
  }

  void post(std::function<void()> task) override { world_.post(gated(std::move(task))); }
  bool in_thread() const override { return true; }
  void stop() override {}
  std::unique_ptr<rpc::Timer> after(Duration delay, std::function<void()> task) override {
    const auto wanted = std::make_shared<bool>(true);
    return std::make_unique<Handle>(wanted, world_.after(delay, gated([wanted, task = std::move(task)] {
                                                           if (*wanted) task();
                                                         })));
  }
  void connect(const rpc::Endpoint&, Duration, rpc::Handler, rpc::Limits,
               std::function<void(Result<rpc::ConnectionPtr>)>) override {}
  void adopt(Fd, Duration, rpc::Handler, rpc::Limits, std::function<void(Result<rpc::ConnectionPtr>)>) override {}
  Result<std::unique_ptr<rpc::Listener>> listen(const rpc::Endpoint&, rpc::Limits,
                                                std::function<rpc::Handler(const rpc::ConnectionPtr&)>) override {
    return fail(Code::unavailable, "there is no network");
  }

  /// `task`, once, as it happens in this process: later while it is stopped, never when it has died.
  std::function<void()> gated(std::function<void()> task) const {
    const std::uint64_t id = ++state_->next;
    if (!state_->dead) state_->tasks.emplace(id, std::move(task));
    return [state = std::weak_ptr(state_), id] {
      if (const auto alive = state.lock()) alive->run(id);
    };
  }
  bool stopped() const { return state_->stopped; }
  void pause() { state_->stopped = true; }
  void resume() {
    state_->stopped = false;
    for (const std::uint64_t id : std::exchange(state_->waiting, {}))
      world_.post([state = std::weak_ptr(state_), id] {
        if (const auto alive = state.lock()) alive->run(id);
      });
  }

 private:
  struct State {
    void run(std::uint64_t id) {
      if (stopped) return waiting.push_back(id);
      if (auto task = tasks.extract(id)) task.mapped()();
    }
    bool stopped = false, dead = false;
    std::map<std::uint64_t, std::function<void()>> tasks;
    std::deque<std::uint64_t> waiting;
    std::uint64_t next = 0;
  };
  struct Handle final : rpc::Timer {
    Handle(std::shared_ptr<bool> given, std::unique_ptr<rpc::Timer> of_world)
        : wanted(std::move(given)), timer(std::move(of_world)) {}
    ~Handle() override { *wanted = false; }
    std::shared_ptr<bool> wanted;
    std::unique_ptr<rpc::Timer> timer;
  };

  test::FakeReactor& world_;
  std::shared_ptr<State> state_;
};

class TableSimulation {
 public:
  struct Options {
    std::uint32_t workers = 3, partitions = 3, replication = 2;
    Duration commit_takes{};  // of a follower's disk
  };
  TableSimulation(std::uint64_t seed, Options options);
  ~TableSimulation();

  /// False: it still isn't so when that time has passed.
  bool until(const std::function<bool()>& done, Duration most) { return world_.until(done, most); }
  void pass(Duration time) { world_.pass(time); }
  void later(Duration delay, std::function<void()> task);
  TimePoint now() const { return clock_.now(); }
  Random& random() { return random_; }
  const Options& options() const { return options_; }

  // ---- faults
  void kill(const std::string& worker);
  void start(const std::string& worker);
  void pause(const std::string& worker) { workers_.at(worker).process->pause(); }
  void resume(const std::string& worker) { workers_.at(worker).process->resume(); }
  void restart_master();
  /// What the master writes from now on waits until there is room. Meanwhile it answers as one whose disk is full.
  void fill_master_disk() { full_ = true; }
  void make_room();
  /// Messages from one to the other do not arrive: "master" or a worker. Each waits for its deadline.
  void cut(const std::string& from, const std::string& to) { cuts_.insert({from, to}); }
  /// All links are whole, all processes run, no disk is full.
  void heal();
  bool runs(const std::string& worker) const { return workers_.contains(worker) && !workers_.at(worker).process->stopped(); }
  bool lives(const std::string& worker) const { return workers_.contains(worker); }
  std::string name_of(std::uint64_t worker) const { return std::string(1, static_cast<char>('a' + worker)); }

  /// What the master has on its disk under that key; empty: nothing.
  std::string durable(const std::string& key) const { return durable_.contains(key) ? durable_.at(key) : ""; }
  /// Called with each request to a partition when it is sent.
  void watch(std::function<void(const storage::tables::PartitionRequest&)> seen) { seen_ = std::move(seen); }

  // ---- what a client does; each calls back once
  using OnRows = std::function<void(Result<storage::tables::PartitionReply>)>;
  /// To the primary of the partition (of a snapshot, to any replica in sync), again and again for `patience`.
  void ask(std::uint32_t partition, storage::tables::PartitionOperation operation, Duration patience, OnRows done);
  void begin(std::function<void(Result<storage::tables::TransactionId>)> done);
  void commit(const storage::tables::TableCommit& commit, Duration patience, std::function<void(Result<void>)> done);
  void snapshot(Duration patience, std::function<void(Result<storage::tables::SnapshotId>)> done);

  /// A commit is decided, durably or not, and not known to be carried out.
  bool decided() const { return !master_->catalogue.decided().empty(); }
  /// All partitions have all their replicas, in sync.
  bool whole() const;
  storage::tables::TableStatus status() const { return *master_->catalogue.describe("t"); }
  /// What each replica of a partition has on its disk. Everything must be quiet.
  std::vector<std::vector<storage::tables::TableRow>> contents(std::uint32_t partition);

 private:
  struct Worker {
    std::unique_ptr<SimulatedProcess> process;
    std::unique_ptr<storage::IoThreads> disk;
    std::unique_ptr<storage::tables::ReplicaContext> context;
    std::map<storage::tables::PlaceId, std::shared_ptr<storage::tables::Replica>> replicas;
    std::uint64_t session = 0;  // of the master; 0: none
    bool first = true;
    std::unique_ptr<rpc::Timer> timer;
  };
  struct Session {
    std::string worker;
    TimePoint heard;
  };
  struct Master {
    std::unique_ptr<SimulatedProcess> process;
    storage::tables::TableCatalogue catalogue;
    std::unique_ptr<TableCoordinator> coordinator;
    std::map<std::uint64_t, Session> sessions;
    std::unique_ptr<rpc::Timer> timer;
  };

  void start_master();
  void tick();
  void publish(Published then);
  void lose(const std::string& worker);
  storage::Time time() const { return std::chrono::duration_cast<storage::Time>(clock_.now().time_since_epoch()); }
  Duration moment(std::int64_t most_ms) { return std::chrono::microseconds(random_.between(50, most_ms * 1000)); }
  /// `arrived` at the other end, in the order of sending, unless the link is cut.
  void send(const std::string& from, const std::string& to, std::function<void()> arrived);
  void request(const std::string& from, const SimulatedProcess* asker, const std::string& to,
               const storage::tables::PartitionRequest& request, Duration deadline, storage::tables::PartitionPeers::Answer answer);
  /// What a worker asks of the master; `at_master` makes the answer.
  void ask_master(const std::string& worker, std::function<storage::tables::TableOrders()> at_master,
                  std::function<void(Result<storage::tables::TableOrders>)> then);
  void register_worker(const std::string& name);
  void heartbeat(const std::string& name);
  std::string path(const std::string& worker, const storage::tables::PlaceId& place) const;
  storage::tables::Replica& replica(Worker& worker, const std::string& name, const storage::tables::PlaceId& place);
  template <class Value>
  void again_and_again(TimePoint end, std::function<void(std::function<void(Result<Value>)>)> once,
                       std::function<void(Result<Value>)> done);

  const Options options_;
  Random random_;
  test::ScratchDirectory scratch_;
  ManualClock clock_{TimePoint(std::chrono::hours(1))};
  test::FakeReactor world_{clock_, [] { return false; }};
  std::map<std::string, std::string> durable_;  // the master's
  TimePoint written_{};                         // the last of it, in the order in which it was given
  bool full_ = false;                           // its disk
  std::vector<std::function<void()>> waiting_for_room_;
  std::unique_ptr<Master> master_;
  std::vector<std::unique_ptr<SimulatedProcess>> dead_;  // what others still name
  std::map<std::string, Worker> workers_;
  std::function<void(const storage::tables::PartitionRequest&)> seen_ = [](const auto&) {};
  std::uint64_t next_session_ = 1;
  std::set<std::pair<std::string, std::string>> cuts_;
  std::map<std::pair<std::string, std::string>, TimePoint> last_arrival_;
  std::map<std::uint64_t, std::unique_ptr<rpc::Timer>> timers_;
  std::uint64_t next_timer_ = 0;
};

}  // namespace weft::master
