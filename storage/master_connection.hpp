// A client's connection to the master, made again when it was closed, or when who answers on it does not lead any more.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/rpc/rpc.hpp"
#include "storage/reply.hpp"
#include "storage/retry.hpp"

namespace weft::storage {

/// What errors add when no master of a list answers. Masters that follow, and those that wait for the store that decides, refuse
/// connections, as machines without a master do.
inline constexpr std::string_view kNoneLeads = "; where masters run there, none of them leads: look at their logs and at etcd";

/// Any thread except the reactor's; blocks. Addresses of a list that are workers' are passed over when one of them has answered;
/// where only such are left, the error is invalid_argument and names them.
class MasterConnection {
 public:
  /// `endpoint`: the master, or all that may lead (rpc::Endpoint::parse_list). `name`: the same as the user wrote it. `reactor`
  /// outlives this; before it stops, close() is called. `user`: for whom it asks (acting_user.hpp); empty: for the process itself.
  MasterConnection(rpc::Reactor& reactor, rpc::Endpoint endpoint, std::string name, std::string user = {});

  /// Waits until a master answers, for as long as `retry` allows. The error says what to do.
  Result<void> await(Retry retry);
  /// One request and its reply. `unavailable`, with what to do, when no master answers within 3 s. A connection on which a reply is
  /// overdue is closed. After `unavailable` as a reply the next request searches for a master again: a master that ends, and one
  /// that another has replaced, answers so. Requests of other threads that are under way there get their replies.
  Result<rpc::Message> call(rpc::MessageType type, rpc::Payload payload, Duration deadline);
  /// The same, tried again while the master is away, for as long as `retry` allows. `repeated`, unless null, becomes true with the
  /// second try: an earlier one may have been carried out though its answer was lost.
  Result<rpc::Message> call(rpc::MessageType type, const std::function<rpc::Payload()>& payload, Duration deadline, Retry retry,
                            bool* repeated);
  /// Once, last, before the reactor stops.
  void close();

 private:
  struct Link;

  /// The open connection or a new one.
  Result<std::shared_ptr<Link>> connect();
  /// A worker answered, and not a master: finds out which addresses are workers', and leaves them and the connection. `unavailable`
  /// when others are left to be tried.
  Error pass_over_workers();
  bool is_workers(const std::string& address);
  /// The next request is not made on it.
  void leave(const std::shared_ptr<Link>& link);

  rpc::Reactor& reactor_;
  const rpc::Endpoint endpoint_;
  const std::string name_, user_;
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<Link> link_;
  std::vector<std::string> workers_;  // addresses of endpoint_ that are passed over
};

/// Whether a change is done. `ask(bool* repeated)` makes the request. One that was repeated is done, too, when its answer says that
/// nothing was left to do (`nothing_left`).
template <class Ask>
Result<void> done_or(Code nothing_left, Ask ask) {
  bool repeated = false;
  const auto reply = ask(&repeated);
  if (reply || (repeated && reply.error().code() == nothing_left)) return {};
  return fail(reply.error());
}

}  // namespace weft::storage
