#include "storage/master_connection.hpp"

#include <atomic>
#include <utility>

#include <fmt/core.h>

#include "base/rpc/watched_call.hpp"
#include "storage/acting_user.hpp"

namespace weft::storage {
namespace {

constexpr Duration kConnectDeadline = std::chrono::seconds(3);

}  // namespace

/// Closes the connection when nobody uses it any more.
struct MasterConnection::Link {
  explicit Link(rpc::Reactor& of) : reactor(of) {}
  ~Link() {
    if (connection) reactor.post([gone = std::move(connection)] { gone->close(); });
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  rpc::Reactor& reactor;
  rpc::ConnectionPtr connection;
  const std::shared_ptr<std::atomic<bool>> closed = std::make_shared<std::atomic<bool>>(false);
};

MasterConnection::MasterConnection(rpc::Reactor& reactor, rpc::Endpoint endpoint, std::string name, std::string user)
    : reactor_(reactor), endpoint_(endpoint.of(rpc::Role::master)), name_(std::move(name)), user_(std::move(user)) {}

Result<std::shared_ptr<MasterConnection::Link>> MasterConnection::connect() {
  const std::lock_guard lock(mutex_);
  if (link_ && !link_->closed->load()) return link_;
  link_.reset();
  auto link = std::make_shared<Link>(reactor_);
  rpc::Handler handler;
  handler.on_close = [closed = link->closed](const rpc::ConnectionPtr&, const Error&) { closed->store(true); };
  auto made = rpc::connect(reactor_, endpoint_, kConnectDeadline, std::move(handler));
  if (!made)
    return fail(std::move(made).error().wrap(
        fmt::format("no weft master answers at {}; start one with `weft master` or name another with --master", name_)));
  link->connection = *std::move(made);
  if (!user_.empty()) reactor_.post([connection = link->connection, user = user_] { act_for(*connection, user); });
  link_ = std::move(link);
  return link_;
}

void MasterConnection::leave(const std::shared_ptr<Link>& link) {
  const std::lock_guard lock(mutex_);
  if (link_ == link) link_.reset();
}

Result<void> MasterConnection::await(Retry retry) {
  for (bool waited = false;; waited = true) {
    auto made = connect();
    if (made) return {};
    if (retry.again(made.error())) continue;
    if (!waited) return fail(std::move(made).error());
    return fail(std::move(made).error().wrap(fmt::format("gave up after {:.1f} s", in_seconds(retry.spent()))));
  }
}

Result<rpc::Message> MasterConnection::call(rpc::MessageType type, rpc::Payload payload, Duration deadline) {
  WEFT_ASSIGN(const std::shared_ptr<Link> link, connect());
  auto answer = endpoint_.alternatives.empty() ? rpc::call(reactor_, link->connection, type, std::move(payload), deadline)
                                               : rpc::watched_call(reactor_, link->connection, type, std::move(payload), deadline);
  if (answer) return answer;
  if (answer.error().code() == Code::deadline_exceeded) reactor_.post([to = link->connection] { to->close(); });
  if (answer.error().code() == Code::unavailable) leave(link);
  return answer;
}

Result<rpc::Message> MasterConnection::call(rpc::MessageType type, const std::function<rpc::Payload()>& payload, Duration deadline,
                                            Retry retry, bool* repeated) {
  while (true) {
    auto answer = call(type, payload(), deadline);
    if (answer || !retry.again(answer.error())) return answer;
    if (repeated != nullptr) *repeated = true;
  }
}

void MasterConnection::close() {
  reactor_.run([this] {
    if (link_) link_->connection->close();
  });
}

}  // namespace weft::storage
