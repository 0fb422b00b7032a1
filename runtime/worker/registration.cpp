#include "runtime/worker/registration.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/guarded.hpp"
#include "base/rpc/frame.hpp"
#include "base/text.hpp"
#include "runtime/worker/last_words.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
constexpr auto kConnectDeadline = 4s;  // the system tries at once, after one second and after three
constexpr auto kRegisterDeadline = 10s;
constexpr Duration kFirstBackoff = 100ms;
constexpr Duration kLongestBackoff = 5s;
// With what may be resumed: tasks that have ended, and slots that are free, wait for the master.
constexpr Duration kFirstBackoffWithJobs = 50ms;
constexpr Duration kLongestBackoffWithJobs = 1s;
constexpr std::uint32_t kTriesLogged = 8;  // each; later ones now and then

}  // namespace

rpc::Handler Registration::handler() {
  rpc::Handler handler;
  handler.on_request = guarded(alive_, [this](const rpc::ConnectionPtr&, rpc::Message message, rpc::Responder responder) {
    if (message.type == protocol::kPresence) return responder.reply({});
    if (message.type == protocol::kFindFiles) {
      auto query = protocol::decode<protocol::FileQuery>(message);
      if (!query) return responder.fail(query.error());
      return callbacks_.on_find_files(std::move(*query), std::move(responder));
    }
    if (message.type != protocol::kReadLog)
      return responder.fail(Error(
          Code::invalid_argument,
          fmt::format("this worker is {} and does not know request {} of the master", rpc::software_version(), message.type)));
    auto request = protocol::decode<protocol::LogRequest>(message);
    if (!request) return responder.fail(request.error());
    callbacks_.on_read_log(*request, std::move(responder));
  });
  handler.on_notify = guarded(alive_, [this](const rpc::ConnectionPtr& connection, const rpc::Message& message) {
    const Result<void> understood = on_notify(message);
    if (understood) return;
    log_.warn("{}; disconnecting", understood.error().to_string());
    connection->close();
  });
  handler.on_close = guarded(alive_, [this](const rpc::ConnectionPtr& connection, const Error& error) {
    if (connection == connection_) lost(error);
  });
  return handler;
}

Result<void> Registration::on_notify(const rpc::Message& message) {
  if (message.type == protocol::kEventsKept) return on_kept(message);
  if (message.type == protocol::kCommands) {
    unsigned skipped = 0;
    WEFT_ASSIGN(protocol::Commands commands, protocol::decode<protocol::Commands>(message, &skipped));
    if (skipped != 0) note_unknown("commands");
    callbacks_.on_commands(std::move(commands.commands));
    return {};
  }
  bool known = false;
  if (callbacks_.on_other) {
    WEFT_ASSIGN(known, callbacks_.on_other(message));
  }
  if (!known) note_unknown(fmt::format("message {}", message.type));
  return {};
}

/// A master of a later release may send what a worker can do without (docs/formats/frame.md).
void Registration::note_unknown(const std::string& what) {
  if (std::exchange(unknown_noted_, true)) return;
  log_.warn(
      "the master at {} is {} and sent {} that this worker, {}, does not know: passed over, as others will be; upgrade the worker",
      master_.text, connection_ ? connection_->peer_software() : "another release", what, rpc::software_version());
}

Result<void> Registration::on_kept(const rpc::Message& message) {
  WEFT_ASSIGN(const protocol::EventsKept kept, protocol::decode<protocol::EventsKept>(message));
  if (!keeps_jobs_) return {};
  return unkept_.kept(kept.events);
}

void Registration::connect() {
  if (closed_) return;
  reactor_.connect(master_.of(rpc::Role::master), kConnectDeadline, handler(), protocol::peer_limits(),
                   guarded(alive_, [this](Result<rpc::ConnectionPtr> connected) {
                     if (closed_) {
                       if (connected) (*connected)->close();
                     } else if (connected) {
                       register_worker(std::move(*connected));
                     } else {
                       lost(connected.error());
                     }
                   }));
}

protocol::Register Registration::to_register() {
  protocol::Register with = registration_;
  with.seen_epoch = epoch_;
  if (!keeps_jobs_) return with;
  unkept_.add(std::exchange(events_, {}));
  with.held = callbacks_.held();
  with.held->node = node_;
  for (const AttemptId& attempt : unkept_.attempts()) with.held->running.push_back(attempt);
  return with;
}

void Registration::register_worker(rpc::ConnectionPtr connection) {
  connection_ = std::move(connection);
  connection_->request(protocol::kRegister, protocol::encode(to_register()), kRegisterDeadline,
                       guarded(alive_, [this, to = connection_](Result<rpc::Message> answer) {
                         if (to != connection_) return;
                         auto decoded = answer ? protocol::decode<protocol::Registered>(*answer) : fail(std::move(answer).error());
                         if (decoded) return on_registered(*decoded);
                         to->close();
                         lost(std::move(decoded).error().wrap("the registration failed"));
                       }));
}

std::string Registration::leader() const { return master_.alternatives.empty() ? master_.text : connection_->peer(); }

bool Registration::settle(const protocol::Registered& answer) {
  if (!answer.resumed) {
    if (keeps_jobs_) end_registration(Error(Code::unavailable, "the master goes on without what this worker did before"), false);
    return true;
  }
  if (keeps_jobs_ && answer.node == node_) return true;
  log_.warn("the master at {} resumed a registration as node {} that this worker does not have; registering again", leader(),
            answer.node.value());
  if (keeps_jobs_) end_registration(Error(Code::corrupt, "the master has mistaken it for another node"), false);
  connection_->close();
  return false;
}

void Registration::on_registered(const protocol::Registered& answer) {
  if (answer.epoch != 0 && answer.epoch < epoch_) {
    const Error replaced(Code::unavailable,
                         fmt::format("the master at {} is of epoch {}, but epoch {} has begun: it does not lead any more", leader(),
                                     answer.epoch, epoch_));
    connection_->close();
    return lost(replaced);
  }
  epoch_ = answer.epoch;
  if (!settle(answer)) return;
  registered_ = true;
  unknown_noted_ = false;
  failures_ = 0;
  patience_timer_.reset();
  keeps_jobs_ = answer.keeps_jobs && persistent_ && patience_ > Duration(0);
  node_ = answer.node;
  heartbeat_ = std::clamp<Duration>(answer.heartbeat, 10ms, 60s);
  unkept_.begin();
  if (answer.resumed) {
    log_.info("the master at {} is back; this worker goes on as its node {}", leader(), answer.node.value());
    unkept_.send(*connection_);
    if (!keeps_jobs_) unkept_.clear();
  } else if (answer.name == registration_.name) {
    log_.info("registered with {} as node {}", leader(), answer.node.value());
  } else {
    log_.warn(
        "registered with {} as node {} under the name {}, for there is a worker {} already: give it a --name that is its own also "
        "when it is started again, above all when it keeps chunks or tables",
        leader(), answer.node.value(), answer.name, registration_.name);
    registration_.name = answer.name;
  }
  // A signal handler cannot encrypt: then the master learns only that the connection has ended.
  if (auto set = connection_->identity() != nullptr ? Result<void>() : set_last_words(connection_->peer(), answer.node); !set)
    log_.warn("a fatal signal of this process could not be reported to the master: {}", set.error().to_string());
  callbacks_.on_registered(answer);
  send_heartbeat();
}

void Registration::lost(const Error& error) {
  if (closed_) return;
  drop_last_words();
  connection_.reset();
  timer_.reset();
  registered_ = false;
  const bool mismatch = error.code() == Code::version_mismatch && master_.alternatives.empty();  // else another one may fit
  const bool final = !persistent_ || mismatch || error.code() == Code::already_exists;
  if (final) closed_ = true;
  if (keeps_jobs_ && !final)
    wait_for_master();
  else
    end_registration(error, final);
  if (!closed_) try_again(error);
}

void Registration::wait_for_master() {
  if (!patience_timer_)
    patience_timer_ = reactor_.after(patience_, [this] {
      const std::string why = fmt::format("the master at {} was away for {}", master_.text, format_duration(patience_));
      log_.warn("{}: the tasks that it gave this worker end", why);
      end_registration(Error(Code::unavailable, why), false);
    });
  callbacks_.on_away();
}

void Registration::end_registration(const Error& why, bool final) {
  keeps_jobs_ = false;
  patience_timer_.reset();
  events_.clear();
  unkept_.clear();
  callbacks_.on_lost(why, final);
}

void Registration::try_again(const Error& error) {
  const auto [first, longest] =
      keeps_jobs_ ? std::pair(kFirstBackoffWithJobs, kLongestBackoffWithJobs) : std::pair(kFirstBackoff, kLongestBackoff);
  const Duration wait = std::min(longest, first * (std::int64_t{1} << std::min(failures_, 10u)));
  if (failures_ < kTriesLogged || failures_ % (4 * kTriesLogged) == 0)
    log_.warn("no connection to the master at {} ({}); trying again in {}{}", master_.text, error.to_string(),
              format_duration(wait), keeps_jobs_ ? ", while its tasks go on" : "");
  ++failures_;
  timer_ = reactor_.after(wait, [this] { connect(); });
}

void Registration::send_heartbeat() {
  const protocol::Heartbeat heartbeat = callbacks_.heartbeat();
  if (!registered_) return;
  connection_->notify(protocol::kHeartbeat, protocol::encode(heartbeat));
  if (epoch_ != 0) ask_whether_it_is_there();
  timer_ = reactor_.after(heartbeat_, [this] { send_heartbeat(); });
}

/// A master that hangs, or whose machine is gone without notice, keeps the connection open for long. Where another one may lead by
/// now, the worker does not wait for that.
void Registration::ask_whether_it_is_there() {
  if (std::exchange(asking_, connection_) == connection_) return;
  connection_->request(
      rpc::kPresence, {}, rpc::kPresenceDeadline,
      guarded(alive_, [this, asked = connection_.get()](const Result<rpc::Message>& answer) {
        if (asking_.get() != asked) return;  // of a connection of before
        asking_.reset();
        if (answer || answer.error().code() != Code::deadline_exceeded || connection_.get() != asked) return;
        connection_->close();
        lost(Error(Code::deadline_exceeded, fmt::format("it says nothing for {}", format_duration(rpc::kPresenceDeadline))));
      }));
}

void Registration::report(std::vector<protocol::Event> events) {
  if (!registered_ && !keeps_jobs_) return;
  std::move(events.begin(), events.end(), std::back_inserter(events_));
  if (std::exchange(flush_posted_, true)) return;
  reactor_.post(guarded(alive_, [this] { flush(); }));
}

void Registration::report(const protocol::ReplicaEnded& ended) {
  if (registered_) connection_->notify(protocol::kReplicaEnded, protocol::encode(ended));
}

void Registration::report(const std::vector<protocol::JobPrefetch>& jobs) {
  if (registered_ && !jobs.empty())
    connection_->notify(protocol::kPrefetchReport, protocol::encode(protocol::PrefetchReport{jobs}));
}

void Registration::report(const protocol::CapacityTexts& texts) {
  if (registered_) connection_->notify(protocol::kCapacityTexts, protocol::encode(texts));
}

void Registration::report(const protocol::Leaving& leaving) {
  if (registered_) connection_->notify(protocol::kLeaving, protocol::encode(leaving));
}

bool Registration::report(const protocol::DriverEnded& ended) {
  if (registered_) connection_->notify(protocol::kDriverEnded, protocol::encode(ended));
  return registered_;
}

void Registration::flush() {
  flush_posted_ = false;
  if (!keeps_jobs_) {
    if (registered_) protocol::notify_events(*connection_, protocol::kTaskEvents, std::exchange(events_, {}));
    return;
  }
  unkept_.add(std::exchange(events_, {}));
  if (registered_) unkept_.send(*connection_);
}

void Registration::close() {
  drop_last_words();
  closed_ = true;
  registered_ = false;
  timer_.reset();
  patience_timer_.reset();
  if (connection_) connection_->close();
}

}  // namespace weft::runtime
