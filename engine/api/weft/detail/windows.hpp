// Windows over the values of a group, in their order: of a fixed length, or as long as neighbours belong together; and values with
// what came before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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

/// One record for each value of a group: what f(state, value) returns. The state begins as `zero` in every group.
template <class Chain, class State, class F>
struct Scan {
  using Group = typename Chain::Record;
  using V = typename ValueOf<Group>::value_type;
  using Out = std::remove_cvref_t<std::invoke_result_t<const F&, State&, const V&>>;
  using Record = std::pair<KeyOf<Group>, Out>;
  static constexpr bool kKeyed = keyed<Chain>();
  Chain input;
  State zero;
  F function;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    input.run(context, [&](Group&& group) {
      State state = zero;
      for (auto value = group.second.next(); value; value = group.second.next())
        sink(Record(group.first, std::invoke(function, state, std::as_const(*value))));
    });
  }
};

/// The function of lag(): a value, and the one that came `distance` values before it.
template <class V>
struct Lag {
  struct State {
    std::vector<V> before;  // the last ones, at most `distance`
    std::size_t oldest = 0;
  };
  std::size_t distance;

  std::pair<V, std::optional<V>> operator()(State& state, const auto& value) const {
    std::pair<V, std::optional<V>> result(to_owned(value), std::nullopt);
    if (state.before.size() < distance) {
      state.before.push_back(result.first);
    } else {
      result.second = std::exchange(state.before[state.oldest], result.first);
      state.oldest = (state.oldest + 1) % distance;
    }
    return result;
  }
};

/// The function of row_number().
template <class V>
struct RowNumber {
  std::pair<V, std::uint64_t> operator()(std::uint64_t& rows, const auto& value) const { return {to_owned(value), ++rows}; }
};

}  // namespace weft::detail
