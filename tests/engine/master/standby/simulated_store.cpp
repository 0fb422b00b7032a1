#include "tests/engine/master/standby/simulated_store.hpp"

#include <memory>
#include <string>
#include <utility>

namespace weft::master::test {

namespace {

using namespace std::chrono_literals;
constexpr Duration kLease = 3s, kPatience = 1s, kShortTrip = 1ms, kLongTrip = 20ms, kLate = 5s;

}  // namespace

void SimulatedStore::ask(SimulatedWorld::Process process, Request request, std::function<void(std::optional<Outcome>)> answer) {
  const auto once = std::make_shared<std::function<void(std::optional<Outcome>)>>(std::move(answer));
  const auto reply = [once](std::optional<Outcome> outcome) {
    if (auto then = std::exchange(*once, nullptr)) then(std::move(outcome));
  };
  world_.after(process, kPatience, [reply] { reply(std::nullopt); });
  if (!reachable) return;
  const auto carry_out = [this, process, life = world_.life(process), request, reply](Duration after, bool answered) {
    world_.after(after, [this, process, life, request, reply, answered] {
      const Outcome outcome = request();
      if (answered) world_.after_in(process, life, world_.between(kShortTrip, kLongTrip), [reply, outcome] { reply(outcome); });
    });
  };
  if (world_.random.chance(faults)) return;  // lost
  const bool late = world_.random.chance(faults), twice = world_.random.chance(faults), answered = !world_.random.chance(faults);
  carry_out(world_.between(kShortTrip, late ? kLate : kLongTrip), answered);
  if (twice) carry_out(world_.between(kShortTrip, kLate), true);
}

SimulatedStore::Outcome SimulatedStore::look() {
  std::erase_if(leases_, [this](const auto& lease) { return lease.second <= world_.now(); });
  if (!leases_.contains(leader_)) leader_ = 0;
  return {true, record_, version_, leader_};
}

SimulatedStore::Lease SimulatedStore::grant() {
  leases_[next_lease_] = world_.now() + kLease;
  return next_lease_++;
}

SimulatedStore::Outcome SimulatedStore::keep_alive(Lease lease) {
  Outcome outcome = look();
  const auto found = leases_.find(lease);
  outcome.held = found != leases_.end();
  if (outcome.held) found->second = world_.now() + kLease;
  return outcome;
}

SimulatedStore::Outcome SimulatedStore::revoke(Lease lease) {
  leases_.erase(lease);
  return look();
}

void SimulatedStore::put(const LeaderRecord& record) {
  record_ = record;
  ++version_;
  changed();
}

SimulatedStore::Outcome SimulatedStore::take(Lease lease, std::uint64_t version, const LeaderRecord& record) {
  Outcome outcome = look();
  outcome.held = outcome.leader == 0 && outcome.version == version && leases_.contains(lease);
  if (!outcome.held) return outcome;
  leader_ = lease;
  put(record);
  return {true, record_, version_, leader_};
}

SimulatedStore::Outcome SimulatedStore::replace(Lease lease, std::uint64_t version, const LeaderRecord& record) {
  Outcome outcome = look();
  outcome.held = outcome.leader == lease && outcome.version == version;
  if (!outcome.held) return outcome;
  put(record);
  return {true, record_, version_, leader_};
}

void SimulatedElection::look(std::function<void(std::optional<Election::Seen>)> done) {
  store_.ask(
      process_, [this] { return store_.look(); },
      [done = std::move(done)](const std::optional<SimulatedStore::Outcome>& outcome) {
        if (!outcome) return done(std::nullopt);
        done(Election::Seen{outcome->record, outcome->leader != 0, std::to_string(outcome->version)});
      });
}

void SimulatedElection::take(std::uint64_t version, const LeaderRecord& record, Done done) {
  // A grant without an answer is of no harm; the lease is here before the request that uses it.
  if (lease_ == 0) lease_ = store_.grant();
  store_.ask(
      process_, [this, lease = lease_] { return store_.keep_alive(lease); },
      [this, version, record, done = std::move(done)](const std::optional<SimulatedStore::Outcome>& outcome) {
        if (!outcome) return done(std::nullopt);
        if (!outcome->held) lease_ = store_.grant();
        commit_take(version, record, done);
      });
}

void SimulatedElection::commit_take(std::uint64_t version, const LeaderRecord& record, Done done) {
  store_.ask(
      process_, [this, lease = lease_, version, record] { return store_.take(lease, version, record); },
      [this, record, done = std::move(done)](const std::optional<SimulatedStore::Outcome>& outcome) {
        if (!outcome) return done(std::nullopt);
        if (outcome->held || (outcome->leader == lease_ && outcome->record == record)) {
          version_ = outcome->version;
          return done(true);
        }
        resign();
        done(false);
      });
}

void SimulatedElection::renew(Done done) {
  store_.ask(
      process_, [this, lease = lease_] { return store_.keep_alive(lease); },
      [this, done = std::move(done)](const std::optional<SimulatedStore::Outcome>& outcome) {
        if (!outcome) return done(std::nullopt);
        if (outcome->held && outcome->leader == lease_) return done(true);
        stop_leading(done);
      });
}

void SimulatedElection::replace(const LeaderRecord& record, Done done) {
  store_.ask(
      process_, [this, lease = lease_, version = version_, record] { return store_.replace(lease, version, record); },
      [this, record, done = std::move(done)](const std::optional<SimulatedStore::Outcome>& outcome) {
        if (!outcome) return done(std::nullopt);
        if (outcome->leader != lease_) return stop_leading(done);
        version_ = outcome->version;
        if (outcome->held || outcome->record == record) return done(true);
        replace(record, done);
      });
}

void SimulatedElection::stop_leading(Done done) {
  store_.ask(
      process_, [this, lease = lease_] { return store_.revoke(lease); },
      [this, done = std::move(done)](const std::optional<SimulatedStore::Outcome>& outcome) {
        if (!outcome) return done(std::nullopt);
        lease_ = 0;
        done(false);
      });
}

void SimulatedElection::resign() {
  store_.ask(
      process_, [this, lease = lease_] { return store_.revoke(lease); }, [](const auto&) {});
  lease_ = 0;
}

}  // namespace weft::master::test
