#include "engine/master/replication/replication_log.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::master {

namespace {

constexpr Duration kTick = std::chrono::milliseconds(100);
constexpr Duration kMostSilence = std::chrono::seconds(3);     // of a follower; promises wait for it that long
constexpr Duration kMostDelay = std::chrono::seconds(30);      // until a follower that is alive has written what it was sent
constexpr Duration kThere = std::chrono::milliseconds(1500);   // a follower that was heard of since then is there, and no remnant
constexpr std::uint64_t kMostQueued = std::uint64_t{1} << 30;  // bytes of the log for a follower that does not keep up
constexpr std::size_t kMostFollowers = 16, kMostName = 256, kMostAddress = 1024;

}  // namespace

ReplicationLog::ReplicationLog(Leadership& leadership, rpc::Reactor& reactor, std::function<void(const Error&)> deposed)
    : leadership_(leadership),
      reactor_(reactor),
      deposed_(std::move(deposed)),
      disk_(rpc::Reactor::start("weft-snapshots")),
      from_threads_(reactor) {
  tick();
}

ReplicationLog::~ReplicationLog() {
  from_threads_.close();
  disk_->stop();
  const Error ends(Code::unavailable, "the master ends");
  for (const auto& [number, then] : std::exchange(waiting_, {})) then(fail(ends));
  for (auto& [id, session] : followers_) {
    if (session.following) session.following->fail(ends);
    if (session.follower) session.follower->give_up(ends);
  }
}

void ReplicationLog::append(LogEntry entry) {
  const std::uint64_t number = members_.append();
  for (auto& [id, session] : followers_)
    if (session.follower) session.follower->append(number, entry);
}

void ReplicationLog::when_kept(std::uint64_t number, std::function<void(const Result<void>&)> then) {
  if (number <= members_.kept()) return then({});
  waiting_.emplace(number, std::move(then));
}

std::optional<Error> ReplicationLog::obstacle() const {
  if (!members_.waits_for_lost()) return std::nullopt;
  auto failure = leadership_.announcement_failure();
  if (!failure) return std::nullopt;
  return std::move(*failure).wrap(
      Code::unavailable,
      "the master acknowledges nothing: another master that was in sync is gone, and the record of masters cannot be written");
}

void ReplicationLog::release() {
  while (!waiting_.empty() && waiting_.begin()->first <= members_.kept()) waiting_.extract(waiting_.begin()).mapped()({});
}

ReplicationLog::Session* ReplicationLog::session_on(const rpc::ConnectionPtr& connection, std::uint64_t id) {
  const auto found = followers_.find(id);
  return found != followers_.end() && found->second.connection == connection ? &found->second : nullptr;
}

/// A process that follows under the same id and listens elsewhere; null: there is none. One that begins again, and whose connection
/// of before has not ended here, has its address.
const ReplicationLog::Session* ReplicationLog::twin_of(const Follow& follow, const rpc::ConnectionPtr& connection) const {
  const TimePoint now = SystemClock().now();
  for (const auto& [id, session] : followers_)
    if (session.member == follow.member && session.connection != connection && session.address != follow.address &&
        now - session.heard < kThere)
      return &session;
  return nullptr;
}

void ReplicationLog::on_follow(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) {
  const auto follow = from_message<Follow>(message);
  if (!follow) return responder.fail(follow.error());
  if (follow->member.empty() || follow->member.size() > kMostName || follow->member == leadership_.member())
    return responder.fail(Error(Code::invalid_argument, "a follower without a name of its own"));
  if (!follow->cluster.empty() && follow->cluster != leadership_.cluster())
    return responder.fail(
        Error(Code::invalid_argument,
              fmt::format("this is a master of cluster {}, not of {}; name another data directory or another group",
                          leadership_.cluster(), escaped(follow->cluster))));
  if (const Session* const other = twin_of(*follow, connection))
    return responder.fail(Error(Code::already_exists,
                                fmt::format("another process, at {}, has the member id {}: this data directory was copied; empty "
                                            "it, so that this master gets an id of its own",
                                            escaped(other->address), escaped(follow->member))));
  for (auto at = followers_.begin(); at != followers_.end();) {
    const auto session = at++;
    if (session->second.member == follow->member || session->second.connection == connection)
      drop(session, Error(Code::unavailable, "it begins again"));
  }
  if (followers_.size() >= kMostFollowers)
    return responder.fail(Error(Code::resource_exhausted, fmt::format("{} masters follow already", kMostFollowers)));
  const std::uint64_t id = next_session_++;
  members_.add(id, follow->member);
  Session& session = followers_[id];
  session.member = follow->member;
  session.address = follow->address.substr(0, kMostAddress);
  if (follow->page.size() <= kMostAddress) session.page = follow->page;  // a part of one leads nowhere
  session.keeps_mark = follow->keeps_mark;
  session.connection = connection;
  session.following.emplace(std::move(responder));
  session.heard = SystemClock().now();
  settle();
}

void ReplicationLog::begin(std::uint64_t id, Session& session) {
  log_.info("master {} at {} follows and gets a copy of everything", escaped(session.member), session.connection->peer());
  session.heard = SystemClock().now();
  ++begun_;
  session.follower = std::make_unique<Follower>(reactor_, *disk_, sources_.size(), members_.appended(),
                                                [this, id](const Error& why) { drop_soon(id, why); });
  std::exchange(session.following, std::nullopt)->reply(to_payload(Following{id, leadership_.cluster(), leadership_.epoch()}));
  for (const SnapshotSource& take : sources_)
    take([this, alive = std::weak_ptr(alive_), id](Result<std::unique_ptr<StoreSnapshot>> snapshot) {
      if (!alive.expired()) add_snapshot(id, std::move(snapshot));
    });
}

void ReplicationLog::add_snapshot(std::uint64_t id, Result<std::unique_ptr<StoreSnapshot>> snapshot) {
  const auto found = followers_.find(id);
  if (found == followers_.end()) return;
  if (!snapshot) return drop_soon(id, snapshot.error());
  found->second.follower->add(std::move(*snapshot));
}

void ReplicationLog::on_pull(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) {
  const auto pull = from_message<Pull>(message);
  if (!pull) return responder.fail(pull.error());
  Session* const session = session_on(connection, pull->session);
  if (session == nullptr || !session->follower)
    return responder.fail(Error(Code::not_found, "this follower is not known; it has to begin again"));
  session->heard = SystemClock().now();
  Follower& follower = *session->follower;
  if (auto pulled = follower.pull(pull->kept, members_.announced(session->member), std::move(responder)); !pulled)
    return drop(followers_.find(pull->session), pulled.error());
  members_.keeps(pull->session, follower.kept());
  settle();
  release();
}

void ReplicationLog::heard_of(const rpc::ConnectionPtr& connection, Sign sign) {
  for (auto& [id, session] : followers_) {
    if (session.connection != connection) continue;
    session.heard = SystemClock().now();
    if (sign == Sign::of_progress && session.follower) session.follower->progressed();
  }
}

bool ReplicationLog::on_close(const rpc::ConnectionPtr& connection, const Error& why) {
  for (auto at = followers_.begin(); at != followers_.end(); ++at)
    if (at->second.connection == connection) {
      drop(at, why);
      return true;
    }
  return false;
}

void ReplicationLog::drop(Sessions::iterator session, const Error& why) {
  const Session gone = std::move(session->second);
  members_.remove(session->first);
  followers_.erase(session);
  log_.warn("master {} does not follow any more: {}", escaped(gone.member), why.to_string());
  gone.connection->close();
  settle();
  release();
}

void ReplicationLog::drop_soon(std::uint64_t id, const Error& why) {
  reactor_.post([this, alive = std::weak_ptr(alive_), id, why] {
    if (alive.expired()) return;
    if (const auto found = followers_.find(id); found != followers_.end()) drop(found, why);
  });
}

std::vector<ReplicationLog::FollowerStatus> ReplicationLog::followers() const {
  const TimePoint now = SystemClock().now();
  std::vector<FollowerStatus> all;
  for (const auto& [id, session] : followers_) {
    const std::uint64_t kept = session.follower ? session.follower->kept() : 0;
    all.push_back({session.member, session.address, members_.announced(session.member), appended() - kept, now - session.heard,
                   session.page});
  }
  return all;
}

/// Announces the members in sync when they have changed. Then begins the sessions that were waiting for such an announcement.
void ReplicationLog::settle() {
  for (const auto& [id, session] : followers_)
    if (session.follower && session.follower->near()) members_.require(id);
  const InSyncMembers::Next next = members_.next();
  if (next.announce) announce(*next.announce);
  for (const std::uint64_t id : next.begin) begin(id, followers_.at(id));
}

void ReplicationLog::announce(const std::set<std::string>& members) {
  Leadership::MarkedMembers marked;
  for (const auto& [id, session] : followers_)  // each of these has one session, in which it came into sync
    if (members.contains(session.member))
      marked[session.member] = session.keeps_mark ? mark_of({id, leadership_.cluster(), leadership_.epoch()}) : std::string();
  leadership_.set_in_sync(std::move(marked),
                          [this, alive = std::weak_ptr(alive_), there = from_threads_](const Result<void>& result) {
                            there.post([this, alive, result] {
                              if (!alive.expired()) announced(result);
                            });
                          });
}

void ReplicationLog::announced(const Result<void>& result) {
  if (!result) return deposed_(result.error());
  const InSyncMembers::Change change = members_.announced();
  for (const std::string& member : change.added)
    log_.info("master {} is in sync: it takes over if this one is gone", escaped(member));
  for (const std::string& member : change.removed) log_.warn("master {} is not in sync any more", escaped(member));
  settle();
  release();
}

void ReplicationLog::tick() {
  const TimePoint now = SystemClock().now();
  for (auto at = followers_.begin(); at != followers_.end();) {
    const auto session = at++;
    if (!session->second.follower) continue;
    if (now - session->second.heard > kMostSilence) {
      drop(session, Error(Code::deadline_exceeded, fmt::format("it was silent for {}", format_duration(kMostSilence))));
    } else if (const auto since = session->second.follower->behind_since(); since && now - *since > kMostDelay) {
      drop(session,
           Error(Code::deadline_exceeded, fmt::format("it has not written what it was sent for {}", format_duration(kMostDelay))));
    } else if (session->second.follower->queued_bytes() > kMostQueued) {
      drop(session, Error(Code::resource_exhausted, "it does not keep up"));
    } else {
      session->second.follower->answer_if_older(now - kLongestPull);
    }
  }
  settle();  // a snapshot may have come to its end
  timer_ = reactor_.after(kTick, [this] { tick(); });
}

}  // namespace weft::master
