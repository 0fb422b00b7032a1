#include "storage/master_connection.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/core.h>

#include "base/rpc/map_output_port.hpp"
#include "base/rpc/watched_call.hpp"
#include "base/text.hpp"
#include "storage/acting_user.hpp"

namespace weft::storage {
namespace {

constexpr Duration kConnectDeadline = std::chrono::seconds(3);
constexpr Duration kProbeDeadline = std::chrono::seconds(1);  // for the question whether a worker is there

bool is_of_worker(const Result<rpc::Message>& answer) { return !answer && rpc::is_of_map_output_port(answer.error()); }

rpc::Endpoint without(rpc::Endpoint list, const std::vector<std::string>& workers) {
  std::erase_if(list.alternatives, [&workers](const std::string& address) {
    return std::find(workers.begin(), workers.end(), address) != workers.end();
  });
  if (list.alternatives.size() == 1) return {list.alternatives.front(), {}, list.role};
  return list;
}

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
  auto made = rpc::connect(reactor_, without(endpoint_, workers_), kConnectDeadline, std::move(handler));
  if (!made)
    return fail(std::move(made).error().wrap(
        fmt::format("no weft master answers at {}; start one with `weft master` or name another with --master{}", name_,
                    endpoint_.alternatives.empty() ? "" : kNoneLeads)));
  link->connection = *std::move(made);
  if (!user_.empty()) reactor_.post([connection = link->connection, user = user_] { act_for(*connection, user); });
  link_ = std::move(link);
  return link_;
}

Error MasterConnection::pass_over_workers() {
  const std::vector<std::string> all = endpoint_.alternatives.empty() ? std::vector{endpoint_.text} : endpoint_.alternatives;
  std::vector<std::string> workers;
  for (const std::string& address : all)
    if (all.size() == 1 || is_workers(address)) workers.push_back(address);
  const std::lock_guard lock(mutex_);
  link_.reset();
  if (workers.empty()) return {Code::unavailable, fmt::format("a worker answers at one of {}", escaped(name_))};  // it did
  const bool one = workers.size() == 1;
  const std::string which = escaped(join(workers, ", ")) + (one ? " is a worker's address" : " are workers' addresses");
  if (workers.size() == all.size()) return {Code::invalid_argument, which + ": give --master the master's"};
  workers_ = std::move(workers);
  return {Code::unavailable, which + "; the others of the list are tried"};
}

bool MasterConnection::is_workers(const std::string& address) {
  const auto made = rpc::connect(reactor_, {address, {}, endpoint_.role}, kProbeDeadline);
  if (!made) return false;
  const bool worker = is_of_worker(rpc::call(reactor_, *made, rpc::kPresence, {}, kProbeDeadline));
  reactor_.post([connection = *made] { connection->close(); });
  return worker;
}

void MasterConnection::leave(const std::shared_ptr<Link>& link) {
  const std::lock_guard lock(mutex_);
  if (link_ == link) link_.reset();
}

Result<void> MasterConnection::await(Retry retry) {
  for (bool waited = false;; waited = true) {
    auto made = connect();
    // Orders are given once, so it is found out before them.
    if (made && !endpoint_.alternatives.empty() &&
        is_of_worker(rpc::call(reactor_, (*made)->connection, rpc::kPresence, {}, kProbeDeadline)))
      made = fail(pass_over_workers());
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
  if (is_of_worker(answer)) return fail(pass_over_workers());
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
