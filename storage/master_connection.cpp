#include "storage/master_connection.hpp"

#include <utility>

#include <fmt/core.h>

namespace weft::storage {
namespace {

constexpr Duration kConnectDeadline = std::chrono::seconds(3);

}  // namespace

MasterConnection::MasterConnection(rpc::Reactor& reactor, rpc::Endpoint endpoint, std::string name)
    : reactor_(reactor), endpoint_(std::move(endpoint)), name_(std::move(name)) {}

Result<rpc::ConnectionPtr> MasterConnection::connect() {
  const std::lock_guard lock(mutex_);
  if (connection_ && !closed_->load()) return connection_;
  connection_.reset();
  closed_ = std::make_shared<std::atomic<bool>>(false);
  rpc::Handler handler;
  handler.on_close = [closed = closed_](const rpc::ConnectionPtr&, const Error&) { closed->store(true); };
  auto made = rpc::connect(reactor_, endpoint_, kConnectDeadline, std::move(handler));
  if (!made)
    return fail(std::move(made).error().wrap(
        fmt::format("no weft master answers at {}; start one with `weft master` or name another with --master", name_)));
  connection_ = *std::move(made);
  return connection_;
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
  WEFT_ASSIGN(const rpc::ConnectionPtr to, connect());
  auto answer = rpc::call(reactor_, to, type, std::move(payload), deadline);
  if (!answer && answer.error().code() == Code::deadline_exceeded) reactor_.post([to] { to->close(); });
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
    if (connection_) connection_->close();
  });
}

}  // namespace weft::storage
