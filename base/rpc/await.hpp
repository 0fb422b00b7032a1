// For threads that are not the reactor's: waits for what a callback on the reactor's thread brings.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "base/assert.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::rpc {

/// Calls `start(done)` on the reactor's thread and waits until `done` is called, there or later. What is started must have a
/// deadline. unavailable when the reactor ends meanwhile.
template <class T>
Result<T> await(Reactor& reactor, std::string_view what, std::function<void(std::function<void(Result<T>)>)> start) {
  WEFT_ASSERT(!reactor.in_thread());
  auto promise = std::make_shared<std::promise<Result<T>>>();
  auto future = promise->get_future();
  reactor.post([start = std::move(start), promise = std::move(promise)] {
    start([promise](Result<T> result) { promise->set_value(std::move(result)); });
  });
  try {
    return future.get();
  } catch (const std::future_error&) {  // the callback was dropped
    return fail(Code::unavailable, "the reactor ended while " + std::string(what));
  }
}

}  // namespace weft::rpc
