// A reactor for threads that may outlive it.
#pragma once

#include <functional>
#include <memory>

#include "base/rpc/rpc.hpp"

namespace weft::rpc {

/// Posts to a reactor until it is closed, which its owner does before the reactor ends. Copies are the same one. Any thread.
class LatePosts {
 public:
  explicit LatePosts(Reactor& reactor);

  /// As Reactor::post(). Once it is closed the task never runs.
  void post(std::function<void()> task) const;
  /// Nothing is posted any more when this returns.
  void close() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weft::rpc
