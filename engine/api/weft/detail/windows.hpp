// Windows over the values of a group, in their order: of a fixed length, or as long as neighbours belong together.
#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/concepts.hpp"
#include "weft/detail/chain.hpp"

namespace weft::detail {

/// Windows of `size` values, one every `step` values. A group of fewer values has none; what is left at its end is dropped.
struct FixedWindows {
  std::size_t size, step;

  template <class V>
  static constexpr bool kFits = true;

  template <class V, class Emit>
  void cut(auto& values, const Emit& emit) const {
    std::vector<V> window;
    std::size_t skip = 0;  // values between two windows
    for (auto value = values.next(); value; value = values.next()) {
      if (skip > 0) {
        --skip;
        continue;
      }
      window.push_back(to_owned(std::move(*value)));
      if (window.size() < size) continue;
      emit(window);
      const std::size_t drop = step < size ? step : size;
      window.erase(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(drop));
      skip = step - drop;
    }
  }
};

/// A window goes on while same(previous value, next value).
template <class F>
struct WindowsWhile {
  F same;

  template <class V>
  static constexpr bool kFits = std::is_invocable_r_v<bool, const F&, const V&, const V&>;

  template <class V, class Emit>
  void cut(auto& values, const Emit& emit) const {
    std::vector<V> window;
    for (auto value = values.next(); value; value = values.next()) {
      V next = to_owned(std::move(*value));
      if (!window.empty() && !std::invoke(same, std::as_const(window.back()), std::as_const(next))) {
        emit(std::move(window));
        window.clear();
      }
      window.push_back(std::move(next));
    }
    if (!window.empty()) emit(std::move(window));
  }
};

template <class Chain, class How>
struct Windows {
  using K = KeyOf<typename Chain::Record>;
  using V = Owned<typename ValueOf<typename Chain::Record>::value_type>;
  using Record = std::pair<K, std::vector<V>>;
  static constexpr bool kKeyed = keyed<Chain>();
  Chain input;
  How how;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    input.run(context, [&](typename Chain::Record&& group) {
      how.template cut<V>(group.second, [&](std::vector<V> window) { sink(Record(group.first, std::move(window))); });
    });
  }
};

}  // namespace weft::detail
