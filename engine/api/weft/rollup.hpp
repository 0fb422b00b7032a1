// rollup: subtotals of several columns in one pass. <weft/weft.h> leaves this header out.
//
//   orders.flat_map(weft::rollup(&Order::country, &Order::city)).aggregate_by_key(weft::sum(&Order::price))
//
// gives the sums of each city of each country, of each country, and of all: their keys are tuples of std::optional, of which the
// last is empty, or both are.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/owned.hpp"

namespace weft {
namespace detail {

template <class... F>
class Rollup {
 public:
  explicit Rollup(F... parts) : parts_(std::move(parts)...) {}

  /// The record under each of its keys, the longest first.
  template <class V>
  requires(std::invocable<const F&, const V&>&&...) auto operator()(const V& record) const {
    return keyed(record, std::index_sequence_for<F...>(), std::make_index_sequence<sizeof...(F) + 1>());
  }

 private:
  template <std::size_t kDropped, std::size_t I, class V>
  auto part(const V& record) const {
    using Part = Owned<std::remove_cvref_t<std::invoke_result_t<const std::tuple_element_t<I, std::tuple<F...>>&, const V&>>>;
    if constexpr (I + kDropped < sizeof...(F)) {
      return std::optional<Part>(std::invoke(std::get<I>(parts_), record));
    } else {
      return std::optional<Part>();
    }
  }
  template <std::size_t kDropped, std::size_t... I, class V>
  auto key(const V& record, std::index_sequence<I...>) const {
    return std::tuple(part<kDropped, I>(record)...);
  }
  template <class V, std::size_t... I, std::size_t... Dropped>
  auto keyed(const V& record, std::index_sequence<I...> parts, std::index_sequence<Dropped...>) const {
    using Pair = std::pair<decltype(key<0>(record, parts)), V>;
    return std::array<Pair, sizeof...(Dropped)>{Pair(key<Dropped>(record, parts), record)...};
  }

  std::tuple<F...> parts_;
};

}  // namespace detail

/// For flat_map: pairs of a key and the record, once with all parts (functions of a record, or pointers to members), and then each
/// time with one part less. The key is a tuple of std::optional; parts that are left out are empty.
template <class First, class... More>
detail::Rollup<First, More...> rollup(First first, More... more) {
  return detail::Rollup<First, More...>(std::move(first), std::move(more)...);
}

}  // namespace weft
