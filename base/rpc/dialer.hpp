// Connects a socket: resolves, tries each address, gives up at the deadline.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/rpc/loop.hpp"

namespace weft::rpc {

/// Keeps itself alive until it has called `done`, once, with a connected non-blocking socket and the time that is left.
class Dialer : public std::enable_shared_from_this<Dialer> {
 public:
  using Done = std::function<void(Result<Fd>, Duration left)>;

  Dialer(Loop& loop, Duration deadline, Done done);
  void dial(const std::string& address);
  /// Ends it without a call of `done`.
  void cancel();

 private:
  void try_next();
  void try_address(const Address& address);
  void connected();
  void finish(Result<Fd> result);

  Loop& loop_;
  TimePoint deadline_;
  Done done_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<Watch> watch_;
  std::vector<Address> addresses_;
  std::size_t next_ = 0;
  Error last_error_{Code::unavailable, "the name has no address"};
};

}  // namespace weft::rpc
