// Callbacks that may come after the end of the object that they are for.
#pragma once

#include <memory>
#include <utility>

namespace weft {

/// `function` as a callback that does nothing once `alive`, which the object holds as a shared pointer, has expired. The thread
/// that ends the object is the one that calls it.
template <class F>
auto guarded(std::weak_ptr<bool> alive, F function) {
  return [alive = std::move(alive), function = std::move(function)](auto&&... arguments) mutable {
    if (!alive.expired()) function(std::forward<decltype(arguments)>(arguments)...);
  };
}

}  // namespace weft
