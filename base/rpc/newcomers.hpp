// Connections that were accepted and have not yet shown that they belong here, and which of them goes when there is no room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

namespace weft::rpc {

/// A newcomer first owes its handshake, then its first message; after that it is no newcomer. Numbers are given to connections in
/// the order in which they come. Does no I/O: it names the connection that should be closed, and its owner closes it.
class Newcomers {
 public:
  using Number = std::uint64_t;

  /// `most_handshakes`: unfinished ones at once.
  explicit Newcomers(std::size_t most_handshakes) : most_(most_handshakes) {}

  void accepted(Number number) { handshaking_.insert(number); }
  /// Does nothing when the connection is not (any more) among those that handshake.
  void shook_hands(Number number) {
    if (handshaking_.erase(number) != 0) silent_.insert(number);
  }
  /// It has sent its first message, or is closed.
  void left(Number number) { handshaking_.erase(number), silent_.erase(number); }

  std::size_t handshakes() const { return handshaking_.size(); }
  /// Which connection must be closed before another one may be accepted: the oldest that handshakes when there are as many as
  /// allowed, else none.
  std::optional<Number> in_the_way() const {
    return handshaking_.size() < most_ ? std::nullopt : std::optional(*handshaking_.begin());
  }
  /// Which one the process can best do without when its descriptors run short: the oldest that handshakes, then the oldest that
  /// has sent nothing since.
  std::optional<Number> most_dispensable() const {
    if (!handshaking_.empty()) return *handshaking_.begin();
    return silent_.empty() ? std::nullopt : std::optional(*silent_.begin());
  }

 private:
  const std::size_t most_;
  std::set<Number> handshaking_, silent_;  // oldest first
};

}  // namespace weft::rpc
