// The store in which masters meet, with the conditions of etcd (engine/master/election/README.md), reached over a network that
// loses requests and answers, and carries out requests late, or twice.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "engine/master/election/election.hpp"
#include "tests/engine/master/standby/simulated_world.hpp"

namespace weft::master::test {

class SimulatedStore {
 public:
  using Lease = std::uint64_t;  // 0: none
  /// Of a transaction: whether its conditions held, and what is there after it.
  struct Outcome {
    bool held = false;
    std::optional<LeaderRecord> record;
    std::uint64_t version = 0;  // of the record
    Lease leader = 0;           // the lease under which somebody leads
  };
  using Request = std::function<Outcome()>;

  explicit SimulatedStore(SimulatedWorld& world) : world_(world) {}

  /// What is done at the store, and the answer to the process, or nothing in time.
  void ask(SimulatedWorld::Process process, Request request, std::function<void(std::optional<Outcome>)> answer);

  // At the store, at once.
  Outcome look();
  Lease grant();
  Outcome keep_alive(Lease lease);  // held: it has not ended
  Outcome revoke(Lease lease);
  /// This lease leads with this record, if none does and the record has that version.
  Outcome take(Lease lease, std::uint64_t version, const LeaderRecord& record);
  Outcome replace(Lease lease, std::uint64_t version, const LeaderRecord& record);

  double faults = 0;  // chance of each: a lost request, a lost answer, a repetition, a late one
  bool reachable = true;
  std::function<void()> changed;  // after each change of the record

 private:
  void put(const LeaderRecord& record);

  SimulatedWorld& world_;
  std::optional<LeaderRecord> record_;
  std::uint64_t version_ = 0;
  Lease leader_ = 0, next_lease_ = 1;
  std::map<Lease, Duration> leases_;  // until when
};

/// One member's part in the election, as etcd_election.cpp has it.
class SimulatedElection {
 public:
  using Done = std::function<void(std::optional<bool>)>;  // nothing: it is not known whether it was done

  SimulatedElection(SimulatedStore& store, SimulatedWorld::Process process) : store_(store), process_(process) {}
  void look(std::function<void(std::optional<Election::Seen>)> done);
  void take(std::uint64_t version, const LeaderRecord& record, Done done);
  void renew(Done done);
  void replace(const LeaderRecord& record, Done done);
  void resign();
  /// The process starts again.
  void forget() { lease_ = 0; }

 private:
  void commit_take(std::uint64_t version, const LeaderRecord& record, Done done);
  void stop_leading(Done done);

  SimulatedStore& store_;
  const SimulatedWorld::Process process_;
  SimulatedStore::Lease lease_ = 0;
  std::uint64_t version_ = 0;  // of the record, as this member wrote it last
};

}  // namespace weft::master::test
