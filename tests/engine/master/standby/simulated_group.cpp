#include "tests/engine/master/standby/simulated_group.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine/master/replication/protocol.hpp"
#include "engine/master/standby/succession.hpp"

namespace weft::master::test {

namespace {

using namespace std::chrono_literals;
constexpr Duration kLook = 200ms, kSilence = 3s, kTick = 100ms, kAnswer = 2s, kRenew = 600ms;
constexpr Duration kLatest = 6s;   // then nothing of a process that ended comes to the store any more
constexpr std::size_t kPiece = 4;  // entries of an answer

}  // namespace

SimulatedGroup::SimulatedGroup(std::uint64_t seed) : world_(seed, 4), store_(world_), members_(2 + world_.random.below(3)) {
  store_.faults = world_.random.chance(0.5) ? 0.1 : 0;
  store_.changed = [this] {
    record_ = store_.look().record;
    if (record_->in_sync.size() > 1) ++times_in_sync_;
    check_those_that_may_lead("a new record");
  };
  for (Process process = 0; process < members_.size(); ++process) {
    members_[process].membership.member = name(process);
    members_[process].election = std::make_unique<SimulatedElection>(store_, process);
    start(process);
  }
}

void SimulatedGroup::check(bool good, const std::string& what) {
  if (!good) violations_.push_back(fmt::format("at {} ms: {}", world_.now() / 1ms, what));
}

bool SimulatedGroup::has_all(const Member& member) const {
  const std::set<Entry> kept(member.log.begin(), member.log.begin() + static_cast<std::ptrdiff_t>(member.synced));
  return std::includes(kept.begin(), kept.end(), acknowledged_.begin(), acknowledged_.end());
}

bool SimulatedGroup::outdated(Process process) const {
  return is_outdated(members_[process].membership, Election::Seen{record_, false, ""});
}

/// Whether another member can lead.
bool SimulatedGroup::is_spared(Process process) const {
  return record_ && std::any_of(record_->in_sync.begin(), record_->in_sync.end(), [&](const std::string& member) {
           const auto other = static_cast<Process>(member[0] - 'a');
           return other != process && !outdated(other);
         });
}

/// Of a member that does not run, and has nothing on its way to the store.
void SimulatedGroup::restore_sometimes(Process process) {
  Member& member = members_[process];
  if (member.backup && is_spared(process) && world_.random.chance(0.5)) {
    member.membership = member.backup->membership;
    member.log = member.backup->log;
    member.synced = member.log.size();
    ++times_restored_;
  }
  member.backup = Member::Backup{member.membership, member.log};
}

/// Whoever may lead has what was acknowledged, on its disk: at every moment.
void SimulatedGroup::check_those_that_may_lead(const std::string& when) {
  if (!record_) return;
  for (const std::string& member : record_->in_sync) {
    const auto process = static_cast<Process>(member[0] - 'a');
    check(outdated(process) || has_all(members_[process]), fmt::format("{} may lead and lacks entries ({})", member, when));
  }
}

// ---- GroupMember ----------------------------------------------------------------------------------------------------

void SimulatedGroup::start(Process process) {
  world_.start(process);
  Member& member = members_[process];
  member.leader.reset();
  member.link.reset();
  member.election->forget();
  look(process);
}

void SimulatedGroup::look_again(Process process) {
  world_.after(process, kLook, [this, process] { look(process); });
}

void SimulatedGroup::look(Process process) {
  members_[process].election->look([this, process](const std::optional<Election::Seen>& seen) {
    const Member& member = members_[process];
    if (seen && may_lead(member.membership, process != 0, *seen)) return take(process, *seen);
    if (seen && seen->led && seen->record && seen->record->leader != member.membership.member)
      return follow(process, *seen->record);
    look_again(process);
  });
}

void SimulatedGroup::take(Process process, const Election::Seen& seen) {
  Member& member = members_[process];
  const LeaderRecord record = next_record(member.membership, name(process), seen, fmt::format("cluster of {}", name(process)));
  const Membership before = member.membership;
  member.membership = {name(process), record.cluster, record.epoch, false, false, "", before.mark};
  member.election->take(std::stoull(seen.version), record, [this, process, record, before](std::optional<bool> taken) {
    if (taken && *taken) return lead(process, record);
    if (taken) members_[process].membership = before;
    look_again(process);
  });
}

void SimulatedGroup::lead(Process process, const LeaderRecord& record) {
  ++leaderships_;
  Member& member = members_[process];
  check(has_all(member), fmt::format("{} leads and lacks entries", name(process)));
  check(record.epoch > highest_epoch_, fmt::format("{} leads in an epoch of before", name(process)));
  highest_epoch_ = record.epoch;
  member.leader = std::make_unique<Leader>();
  member.leader->record = record;
  member.leader->before = member.log.size();
  member.leader->renewed = world_.now();
  keep_lease(process);
  tick(process);
  append(process);
  sync(process);
}

void SimulatedGroup::follow(Process process, const LeaderRecord& record) {
  const Process leader = static_cast<Process>(record.leader[0] - 'a');
  const std::uint64_t connection = next_connection_++;
  connections_[connection] = {process, leader, false, world_.now(), world_.now()};
  Member& member = members_[process];
  member.link = Link{connection, 0, record.epoch, 0};
  send(connection, true, [this, leader, process, connection] {
    if (members_[leader].leader && !connections_.at(connection).broken) on_follow(leader, name(process), connection);
  });
  world_.after(process, 5s, [this, process, connection] {  // no answer in time
    Member& here = members_[process];
    if (!here.link || here.link->connection != connection || here.link->session != 0) return;
    break_connection(connection);
    here.link.reset();
    look_again(process);
  });
}

void SimulatedGroup::begin_copy(Process process, std::uint64_t epoch, const Link& found) {
  Member& member = members_[process];
  if (!member.link || member.link->connection != found.connection) return;
  if (found.epoch != epoch) {
    break_connection(found.connection);
    member.link.reset();
    return look_again(process);
  }
  const bool counted_on = record_ && std::count(record_->in_sync.begin(), record_->in_sync.end(), name(process)) > 0;
  check(!counted_on, fmt::format("{} removes its copy and may lead", name(process)));
  member.membership = {name(process), "", found.epoch, true};
  member.membership.cluster = record_->cluster;
  member.membership.mark = mark_of({found.session, "", found.epoch});
  member.log.clear();
  member.synced = 0;
  member.link->session = found.session;
  pull(process, 0);
}

/// Of which it keeps so many more than before.
void SimulatedGroup::pull(Process process, std::size_t entries) {
  Link& link = *members_[process].link;
  const Process leader = connections_.at(link.connection).leader;
  send(link.connection, true, [this, leader, link, entries] {
    if (members_[leader].leader) on_pull(leader, link.session, link.connection, entries);
  });
  world_.after(process, kAnswer, [this, process, connection = link.connection, answered = link.answered] {
    Member& member = members_[process];
    if (!member.link || member.link->connection != connection || member.link->answered != answered) return;
    break_connection(connection);
    member.link.reset();
    look_again(process);
  });
}

void SimulatedGroup::on_pulled(Process process, const std::vector<Entry>& entries) {
  Member& member = members_[process];
  ++member.link->answered;
  world_.after(process, world_.between(1ms, 30ms), [this, process, entries, connection = member.link->connection] {
    Member& here = members_[process];
    if (!here.link || here.link->connection != connection) return;
    for (const Entry entry : entries)
      if (std::find(here.log.begin(), here.log.end(), entry) == here.log.end()) here.log.push_back(entry);
    here.synced = here.log.size();
    pull(process, entries.size());
  });
}

// ---- LeaseKeeper ----------------------------------------------------------------------------------------------------

void SimulatedGroup::keep_lease(Process process) {
  Member& member = members_[process];
  if (!member.leader) return;
  Leader& leader = *member.leader;
  const auto again = [this, process] { world_.after(process, 20ms, [this, process] { keep_lease(process); }); };
  if (world_.now() - leader.renewed >= kRenew) {
    leader.renewed = world_.now();
    member.election->renew([this, process, again](std::optional<bool> renewed) {
      if (renewed && !*renewed) return step_down(process);
      again();
    });
  } else if (!leader.announcements.empty()) {
    LeaderRecord record = leader.record;
    record.in_sync = {record.leader};
    for (const auto& [follower, mark] : leader.announcements.front()) {
      record.in_sync.push_back(follower);
      record.marks[follower] = mark;
    }
    member.election->replace(record, [this, process, again](std::optional<bool> replaced) {
      if (replaced && !*replaced) return step_down(process);
      if (replaced) {
        Leader& here = *members_[process].leader;
        here.announcements.pop_front();
        here.members.announced();
        settle(process);
        release(process);
      }
      again();
    });
  } else {
    again();
  }
}

void SimulatedGroup::step_down(Process process) {
  Member& member = members_[process];
  for (const auto& [id, session] : member.leader->sessions) break_connection(session.connection);
  member.leader.reset();
  member.election->resign();
  look_again(process);
}

// ---- ReplicationLog -------------------------------------------------------------------------------------------------

void SimulatedGroup::on_follow(Process process, const std::string& member, std::uint64_t connection) {
  Leader& leader = *members_[process].leader;
  const auto same = std::find_if(leader.sessions.begin(), leader.sessions.end(),
                                 [&](const auto& session) { return session.second.member == member; });
  if (same != leader.sessions.end()) drop(process, same->first);
  const InSyncMembers::Session id = leader.next_session++;
  leader.members.add(id, member);
  Session& session = leader.sessions[id];
  session.member = member;
  session.connection = connection;
  session.heard = world_.now();
  settle(process);
}

void SimulatedGroup::begin(Process process, InSyncMembers::Session id) {
  Leader& leader = *members_[process].leader;
  Session& session = leader.sessions.at(id);
  session.begun = true;
  session.heard = world_.now();
  session.kept = leader.members.appended();
  const Process follower = static_cast<Process>(session.member[0] - 'a');
  const Link found{session.connection, id, leader.record.epoch, 0};
  send(session.connection, false, [this, follower, found] {
    const Member& member = members_[follower];
    if (member.link) begin_copy(follower, member.link->epoch, found);
  });
  world_.after(process, world_.between(0ms, 200ms), [this, process, id, epoch = leader.record.epoch] {
    if (leads(process, epoch)) take_copy(process, id);
  });
}

void SimulatedGroup::take_copy(Process process, InSyncMembers::Session id) {
  Member& member = members_[process];
  const auto found = member.leader->sessions.find(id);
  if (found == member.leader->sessions.end()) return;
  Session& session = found->second;
  session.copied = true;
  for (auto entry = member.log.rbegin(); entry != member.log.rend(); ++entry) session.to_send.emplace_front(0, *entry);
  answer(session);
}

void SimulatedGroup::on_pull(Process process, InSyncMembers::Session id, std::uint64_t connection, std::size_t entries) {
  Leader& leader = *members_[process].leader;
  const auto found = leader.sessions.find(id);
  if (found == leader.sessions.end() || found->second.connection != connection) return break_connection(connection);
  Session& session = found->second;
  for (; entries > 0; --entries) {
    if (session.sent.front() != 0) session.kept = session.sent.front();
    session.sent.pop_front();
  }
  session.heard = world_.now();
  session.pulls = true;
  leader.members.keeps(id, session.kept);
  answer(session);
  settle(process);
  release(process);
}

void SimulatedGroup::answer(Session& session) {
  if (!session.pulls || !session.copied || session.to_send.empty()) return;
  session.pulls = false;
  std::vector<Entry> entries;
  while (!session.to_send.empty() && entries.size() < kPiece) {
    session.sent.push_back(session.to_send.front().first);
    entries.push_back(session.to_send.front().second);
    session.to_send.pop_front();
  }
  const Process follower = static_cast<Process>(session.member[0] - 'a');
  send(session.connection, false, [this, follower, entries, connection = session.connection] {
    const Member& member = members_[follower];
    if (member.link && member.link->connection == connection) on_pulled(follower, entries);
  });
}

void SimulatedGroup::drop(Process process, InSyncMembers::Session id) {
  Leader& leader = *members_[process].leader;
  break_connection(leader.sessions.at(id).connection);
  leader.members.remove(id);
  leader.sessions.erase(id);
  settle(process);
  release(process);
}

void SimulatedGroup::settle(Process process) {
  Leader& leader = *members_[process].leader;
  for (const auto& [id, session] : leader.sessions) {
    const bool keeps_copy = session.copied && std::count(session.sent.begin(), session.sent.end(), 0) == 0 &&
                            (session.to_send.empty() || session.to_send.front().first != 0);
    if (keeps_copy && session.to_send.size() <= kPiece) leader.members.require(id);
  }
  const InSyncMembers::Next next = leader.members.next();
  if (next.announce) {
    Leadership::MarkedMembers& marked = leader.announcements.emplace_back();
    for (const auto& [id, session] : leader.sessions)
      if (next.announce->contains(session.member)) marked[session.member] = mark_of({id, "", leader.record.epoch});
  }
  for (const InSyncMembers::Session id : next.begin) begin(process, id);
}

void SimulatedGroup::release(Process process) {
  Member& member = members_[process];
  Leader& leader = *member.leader;
  std::erase_if(leader.promises, [&](const auto& promise) {
    if (promise.first > leader.members.kept() || leader.before + promise.first > member.synced) return false;
    acknowledged_.insert(promise.second);
    check_those_that_may_lead("an acknowledgement");
    return true;
  });
}

void SimulatedGroup::append(Process process) {
  Member& member = members_[process];
  if (!member.leader) return;
  Leader& leader = *member.leader;
  const std::uint64_t number = leader.members.append();
  const Entry entry = next_entry_++;
  member.log.push_back(entry);
  leader.promises.emplace_back(number, entry);
  for (auto& [id, session] : leader.sessions) {
    if (!session.begun) continue;
    session.to_send.emplace_back(number, entry);
    answer(session);
  }
  release(process);
  world_.after(process, world_.between(1ms, 500ms), [this, process, epoch = leader.record.epoch] {
    if (leads(process, epoch)) append(process);
  });
}

void SimulatedGroup::sync(Process process) {
  Member& member = members_[process];
  if (!member.leader) return;
  world_.after(process, world_.between(1ms, 60ms), [this, process, size = member.log.size(), epoch = member.leader->record.epoch] {
    Member& here = members_[process];
    if (!leads(process, epoch)) return;
    here.synced = std::max(here.synced, size);
    release(process);
    sync(process);
  });
}

void SimulatedGroup::tick(Process process) {
  Member& member = members_[process];
  if (!member.leader) return;
  std::vector<InSyncMembers::Session> silent;
  for (auto& [id, session] : member.leader->sessions) {
    if (!session.begun) continue;
    if (world_.now() - session.heard > kSilence) silent.push_back(id);
    if (!session.pulls || !session.copied || !session.to_send.empty()) continue;
    session.pulls = false;  // an answer without entries
    const Process follower = static_cast<Process>(session.member[0] - 'a');
    send(session.connection, false, [this, follower, connection = session.connection] {
      const Member& there = members_[follower];
      if (there.link && there.link->connection == connection) on_pulled(follower, {});
    });
  }
  for (const InSyncMembers::Session id : silent) drop(process, id);
  settle(process);
  world_.after(process, kTick, [this, process, epoch = member.leader->record.epoch] {
    if (leads(process, epoch)) tick(process);
  });
}

// ---- connections and faults -----------------------------------------------------------------------------------------

void SimulatedGroup::send(std::uint64_t id, bool to_leader, SimulatedWorld::Action action) {
  Connection& connection = connections_.at(id);
  Duration& last = to_leader ? connection.to_leader : connection.to_follower;
  last = std::max(last, world_.now() + world_.between(1ms, 20ms));
  const Process to = to_leader ? connection.leader : connection.follower;
  if (!world_.up(to)) return;
  world_.after(to, last - world_.now(), [this, id, action = std::move(action)] {
    const auto found = connections_.find(id);
    if (found != connections_.end() && (!found->second.broken || world_.random.chance(0.5))) action();  // it was on its way
  });
}

void SimulatedGroup::break_connection(std::uint64_t id) {
  Connection& connection = connections_.at(id);
  if (std::exchange(connection.broken, true)) return;
  const auto hears = [this] { return world_.random.chance(0.7); };
  if (hears() && world_.up(connection.leader))
    world_.after(connection.leader, world_.between(1ms, 50ms), [this, id, process = connection.leader] {
      if (!members_[process].leader) return;
      for (const auto& [number, session] : members_[process].leader->sessions)
        if (session.connection == id) return drop(process, number);
    });
  if (hears() && world_.up(connection.follower))
    world_.after(connection.follower, world_.between(1ms, 50ms), [this, id, process = connection.follower] {
      Member& member = members_[process];
      if (!member.link || member.link->connection != id) return;
      member.link.reset();
      look_again(process);
    });
}

void SimulatedGroup::fault() {
  if (calm_) return;
  const Process process = static_cast<Process>(world_.random.below(members_.size()));
  Member& member = members_[process];
  const Duration length = world_.between(10ms, 8s);
  switch (world_.random.below(5)) {
    case 0:
    case 1:  // it is killed; every second time with its machine
      if (!world_.up(process)) break;
      world_.kill(process);
      if (member.leader && world_.random.chance(0.5)) {
        const std::size_t lost = world_.random.below(member.log.size() - member.synced + 1);
        member.log.resize(member.log.size() - lost);
      }
      member.synced = member.log.size();
      member.leader.reset();
      member.link.reset();
      for (auto& [id, connection] : connections_)
        if (connection.leader == process || connection.follower == process) break_connection(id);
      world_.after(length, [this, process, length] {
        if (length > kLatest) restore_sometimes(process);
        start(process);
      });
      break;
    case 2:
      if (!world_.up(process)) break;
      world_.stop(process);
      world_.after(length, [this, process] { world_.go_on(process); });
      break;
    case 3:
      store_.reachable = false;
      world_.after(length, [this] { store_.reachable = true; });
      break;
    default:
      for (auto& [id, connection] : connections_)
        if (!connection.broken && world_.random.chance(0.5)) break_connection(id);
  }
  std::set<std::uint64_t> in_use;  // a process that was stopped for long does not know yet that they are broken
  for (const Member& each : members_) {
    if (each.link) in_use.insert(each.link->connection);
    if (!each.leader) continue;
    for (const auto& [id, session] : each.leader->sessions) in_use.insert(session.connection);
  }
  std::erase_if(connections_, [&](const auto& connection) {
    return connection.second.broken && !in_use.contains(connection.first) &&
           world_.now() - std::max(connection.second.to_leader, connection.second.to_follower) > 20s;
  });
  world_.after(world_.between(10ms, 4s), [this] { fault(); });
}

void SimulatedGroup::run(Duration length) {
  fault();
  world_.run(world_.now() + length);
}

bool SimulatedGroup::recovers(Duration limit) {
  calm_ = true;
  store_.faults = 0;
  world_.run(world_.now() + 10s);  // what is down, stopped or away comes back
  world_.run(world_.now() + limit / 2);
  const Entry before = next_entry_;
  world_.run(world_.now() + limit / 2);
  check_those_that_may_lead("the end");
  if (!record_ || record_->in_sync.size() != members_.size()) return false;
  const auto& leader = members_[static_cast<Process>(record_->leader[0] - 'a')].leader;
  return leader && next_entry_ > before && (leader->promises.empty() || leader->promises.front().second >= before);
}

}  // namespace weft::master::test
