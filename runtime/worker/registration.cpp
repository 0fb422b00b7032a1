#include "runtime/worker/registration.hpp"

#include <algorithm>

#include "base/guarded.hpp"
#include "base/text.hpp"
#include "runtime/worker/last_words.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
constexpr auto kConnectDeadline = 5s;
constexpr auto kRegisterDeadline = 10s;
constexpr Duration kFirstBackoff = 100ms;
constexpr Duration kLongestBackoff = 5s;

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
    if (message.type != protocol::kReadLog) return responder.fail(Error(Code::invalid_argument, "unknown request"));
    auto request = protocol::decode<protocol::LogRequest>(message);
    if (!request) return responder.fail(request.error());
    callbacks_.on_read_log(*request, std::move(responder));
  });
  handler.on_notify = guarded(alive_, [this](const rpc::ConnectionPtr& connection, const rpc::Message& message) {
    if (message.type != protocol::kCommands && callbacks_.on_other && callbacks_.on_other(message)) return;
    auto commands = message.type == protocol::kCommands ? protocol::decode<protocol::Commands>(message)
                                                        : fail(Code::corrupt, "the master sent an unknown message");
    if (commands) return callbacks_.on_commands(std::move(commands->commands));
    log_.warn("{}; disconnecting", commands.error().to_string());
    connection->close();
  });
  handler.on_close = guarded(alive_, [this](const rpc::ConnectionPtr& connection, const Error& error) {
    if (connection == connection_) lost(error);
  });
  return handler;
}

void Registration::connect() {
  if (closed_) return;
  reactor_.connect(master_, kConnectDeadline, handler(), protocol::one_release_limits(),
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

void Registration::register_worker(rpc::ConnectionPtr connection) {
  connection_ = std::move(connection);
  connection_->request(protocol::kRegister, protocol::encode(registration_), kRegisterDeadline,
                       guarded(alive_, [this, to = connection_](Result<rpc::Message> answer) {
                         if (to != connection_) return;
                         auto decoded = answer ? protocol::decode<protocol::Registered>(*answer) : fail(std::move(answer).error());
                         if (decoded) return on_registered(*decoded);
                         if (decoded.error().code() == Code::already_exists) {  // its name: trying again would change nothing
                           to->close();
                           return lost(decoded.error());
                         }
                         log_.warn("the master refused the registration: {}", decoded.error().to_string());
                         to->close();
                       }));
}

void Registration::on_registered(const protocol::Registered& answer) {
  registered_ = true;
  failures_ = 0;
  heartbeat_ = std::clamp<Duration>(answer.heartbeat, 10ms, 60s);
  events_.clear();
  if (answer.name == registration_.name) {
    log_.info("registered with {} as node {}", master_.text, answer.node.value());
  } else {
    log_.warn(
        "registered with {} as node {} under the name {}, for there is a worker {} already: give it a --name that is its own also "
        "when it is started again, above all when it keeps chunks or tables",
        master_.text, answer.node.value(), answer.name, registration_.name);
    registration_.name = answer.name;
  }
  if (auto set = set_last_words(connection_->peer(), answer.node); !set)
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
  events_.clear();
  const bool final = !persistent_ || error.code() == Code::version_mismatch || error.code() == Code::already_exists;
  if (final) closed_ = true;
  callbacks_.on_lost(error, final);
  if (final || closed_) return;
  const Duration wait = std::min(kLongestBackoff, kFirstBackoff * (std::int64_t{1} << std::min(failures_, 10u)));
  ++failures_;
  log_.warn("no connection to the master at {} ({}); trying again in {}", master_.text, error.to_string(), format_duration(wait));
  timer_ = reactor_.after(wait, [this] { connect(); });
}

void Registration::send_heartbeat() {
  const protocol::Heartbeat heartbeat = callbacks_.heartbeat();
  if (!registered_) return;
  connection_->notify(protocol::kHeartbeat, protocol::encode(heartbeat));
  timer_ = reactor_.after(heartbeat_, [this] { send_heartbeat(); });
}

void Registration::report(std::vector<protocol::Event> events) {
  if (!registered_) return;
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
  if (registered_) protocol::notify_events(*connection_, protocol::kTaskEvents, std::exchange(events_, {}));
}

void Registration::close() {
  drop_last_words();
  closed_ = true;
  registered_ = false;
  timer_.reset();
  if (connection_) connection_->close();
}

}  // namespace weft::runtime
