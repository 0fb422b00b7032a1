// What a master that leads others knows of its leadership.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace weft::master {

/// Any thread.
class Leadership {
 public:
  virtual ~Leadership() = default;
  virtual const std::string& cluster() const = 0;
  virtual const std::string& member() const = 0;
  /// HOST:PORT where others find it.
  virtual const std::string& address() const = 0;
  /// One higher with every master that led.
  virtual std::uint64_t epoch() const = 0;
  /// Nothing while no other master can lead, as far as this one's clock tells; then why it may be otherwise.
  virtual std::optional<Error> lost() const = 0;
  /// Ids, and the mark of each (LeaderRecord::marks); empty: it keeps none.
  using MarkedMembers = std::map<std::string, std::string>;
  /// From now on only these members, besides this one, may lead after it. Calls `then` when that is known to all, from a thread of
  /// its own, or with an error when this master does not lead any more. Calls are carried out in order.
  virtual void set_in_sync(MarkedMembers members, std::function<void(const Result<void>&)> then) = 0;
  /// Why the last try to carry out a call of set_in_sync() failed: the store refuses the record, or does not answer. It is tried
  /// again until it succeeds. Nothing when no call waits, or it was not tried yet.
  virtual std::optional<Error> announcement_failure() const = 0;
};

}  // namespace weft::master
