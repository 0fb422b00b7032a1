// Safe mode: after a restart nothing is copied or erased until the workers have reported. Private to storage/namespace.
#pragma once

#include <cstdint>
#include <optional>

#include "storage/namespace/types.hpp"

namespace weft::storage {

class SafeMode {
 public:
  /// Over when `fraction` of the chunks have had a replica for `grace`: a worker that comes back a little later is no loss.
  SafeMode(double fraction, Time grace) : fraction_(fraction), grace_(grace) {}

  bool on() const { return on_; }
  void begin() { on_ = true; }
  /// True when it was on.
  bool leave() {
    const bool was_on = on_;
    on_ = false;
    return was_on;
  }
  /// Whether it is time to leave.
  bool over(std::uint64_t located_chunks, std::uint64_t chunks, Time now) {
    if (!on_) return false;
    if (static_cast<double>(located_chunks) < fraction_ * static_cast<double>(chunks))
      since_.reset();
    else if (!since_)
      since_ = now;
    return since_ && *since_ + grace_ <= now;
  }

 private:
  const double fraction_;
  const Time grace_;
  bool on_ = false;
  std::optional<Time> since_;  // enough chunks have had replicas
};

}  // namespace weft::storage
