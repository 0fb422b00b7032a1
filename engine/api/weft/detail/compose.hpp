// Several aggregators as one aggregation: their accumulators side by side.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/aggregators.hpp"
#include "weft/detail/actions.hpp"
#include "weft/detail/aggregate.hpp"

namespace weft::detail {

/// What an accumulator holds beside its own size.
template <class Acc>
std::size_t memory_of(const Acc& acc) {
  if constexpr (runtime::SaysMemory<Acc> || runtime::kGrowingAcc<Acc>) {
    thread_local Encoder scratch;
    return runtime::held_bytes(acc, scratch);
  }
  return 0;
}

/// Plain where its parts are, unlike std::tuple: accumulators of numbers stay in the slots of tables.
template <class First, class... Rest>
struct Accumulators {
  First first;
  Accumulators<Rest...> rest;
  std::size_t held_bytes() const requires(runtime::SaysMemory<First> || runtime::SaysMemory<Accumulators<Rest...>>) {
    return memory_of(first) + memory_of(rest);
  }
};
template <class Only>
struct Accumulators<Only> {
  Only first;
  std::size_t held_bytes() const requires runtime::SaysMemory<Only> { return first.held_bytes(); }
};

template <class V, class... A>
class Several {
 public:
  using Value = V;
  using Acc = Accumulators<typename A::template Acc<V>...>;

  explicit Several(A... parts) : parts_(std::move(parts)...) {}

  Acc init(const V& value) const { return init_from<0>(value); }
  void add(Acc& acc, const V& value) const {
    if constexpr ((kAdds<A> || ...)) {
      add_to<0>(acc, value);
    } else {
      merge(acc, init(value));
    }
  }
  void merge(Acc& acc, const Acc& other) const { merge_from<0>(acc, other); }

  /// The result of the only aggregator, or a tuple of all.
  auto result(Acc&& acc) const {
    auto all = results<0>(acc);
    if constexpr (sizeof...(A) == 1) {
      return std::get<0>(std::move(all));
    } else {
      return all;
    }
  }

 private:
  template <std::size_t I>
  using Part = std::tuple_element_t<I, std::tuple<A...>>;
  /// The aggregator adds a value without an accumulator of its own for it.
  template <class Part>
  static constexpr bool kAdds = requires(const Part& part, typename Part::template Acc<V>& acc, const V& value) {
    part.add(acc, value);
  };

  template <std::size_t I>
  auto init_from(const V& value) const {
    if constexpr (I + 1 == sizeof...(A)) {
      return tail(std::get<I>(parts_).init(value));
    } else {
      return joined(std::get<I>(parts_).init(value), init_from<I + 1>(value));
    }
  }
  template <class First>
  static Accumulators<First> tail(First first) {
    return {std::move(first)};
  }
  template <class First, class... Rest>
  static Accumulators<First, Rest...> joined(First first, Accumulators<Rest...> rest) {
    return {std::move(first), std::move(rest)};
  }
  template <std::size_t I, class Own>
  void add_to(Own& acc, const V& value) const {
    const auto& part = std::get<I>(parts_);
    if constexpr (kAdds<Part<I>>) {
      part.add(acc.first, value);
    } else {
      part.merge(acc.first, part.init(value));
    }
    if constexpr (I + 1 < sizeof...(A)) add_to<I + 1>(acc.rest, value);
  }
  template <std::size_t I, class Own>
  void merge_from(Own& acc, const Own& other) const {
    std::get<I>(parts_).merge(acc.first, other.first);
    if constexpr (I + 1 < sizeof...(A)) merge_from<I + 1>(acc.rest, other.rest);
  }
  template <std::size_t I, class Own>
  auto results(Own& acc) const {
    auto mine = std::tuple(std::get<I>(parts_).result(std::move(acc.first)));
    if constexpr (I + 1 == sizeof...(A)) {
      return mine;
    } else {
      return std::tuple_cat(std::move(mine), results<I + 1>(acc.rest));
    }
  }

  std::tuple<A...> parts_;
};

/// Of integers sums and means are exact, and so are counts.
template <class Acc>
inline constexpr bool kExact = std::is_integral_v<Acc>;
template <class W>
inline constexpr bool kExact<WideSum<W>> = true;
template <class S>
inline constexpr bool kExact<MeanParts<S>> = kExact<S>;
template <class V, class A>
inline constexpr bool kAddsExactly = false;
template <class V>
inline constexpr bool kAddsExactly<V, Count> = true;
template <class V, class F>
inline constexpr bool kAddsExactly<V, Sum<F>> = kExact<typename Sum<F>::template Acc<V>>;
template <class V, class F>
inline constexpr bool kAddsExactly<V, Mean<F>> = kExact<typename Mean<F>::template Acc<V>>;
template <class V, class... A>
inline constexpr bool kSameInAnyOrder<Several<V, A...>> = (kAddsExactly<V, A> && ...);

/// The type of aggregate()'s result. For no records it is 0 for count and sum, and an empty optional for the others.
template <class V, class A>
using ResultOrNone = decltype(A::template of_nothing<V>());

template <class V, class A>
constexpr bool check_aggregator() {
  static_assert(
      A::template kFits<V>,
      "weft aggregate, aggregate_by_key: an aggregator's function must take a value (V below) by const "
      "reference, and return a number (mean, quantile), something with + that is no text (sum) or < (min, max, min_by, max_by) or "
      "that has a codec (first, last, count_distinct); of texts, collect them with group_by_key(), or sum their sizes");
  if constexpr (A::template kFits<V>) check_kept<typename A::template Acc<V>>();
  return A::template kFits<V>;
}
template <class V, class... A>
constexpr bool check_aggregators() {
  return (check_aggregator<V, A>() && ...);
}

template <class A>
void check_aggregator_captures(const Graph& graph, const A& part, std::string_view what) {
  if constexpr (requires { part.function; }) check_captures(graph, part.function, what, part.where);
  if constexpr (requires { part.what; }) check_captures(graph, part.what, what, part.where);
}

/// The results for each key.
template <class D, class P, class... A>
auto aggregate_all(const D& in, P how, std::string name, A... parts) {
  using All = Several<ValueOf<typename D::Record>, A...>;
  const All all(std::move(parts)...);
  const auto result = [all](typename All::Acc acc) { return all.result(std::move(acc)); };
  const auto accumulated = aggregate(in, all, how, std::move(name));
  using Node = MapValues<typename std::remove_cvref_t<decltype(accumulated)>::ChainType, std::remove_const_t<decltype(result)>>;
  return accumulated.keeping_keys("map_values", std::source_location::current(), Node{accumulated.chain(), result});
}

/// The same of all records, as a value.
template <class D, class... A>
auto aggregate_now(const D& in, std::string name, A... parts) {
  using V = typename D::Record;
  using All = Several<V, A...>;
  using Acc = typename All::Acc;
  using Results = std::tuple<ResultOrNone<V, A>...>;
  const All all(std::move(parts)...);
  auto acc = fold<std::optional<Acc>>(
      in, std::move(name), type_name<All>(),
      [all](std::optional<Acc>& sum, V&& record) {
        if (sum) return all.add(*sum, record);
        sum = all.init(record);
      },
      [all](std::optional<Acc>& sum, std::optional<Acc>&& part) {
        if (sum && part) return all.merge(*sum, *part);
        if (part) sum = std::move(part);
      });
  if constexpr (sizeof...(A) == 1) {
    if (!acc) return std::get<0>(Results(A::template of_nothing<V>()...));
    return std::get<0>(Results(all.result(std::move(*acc))));
  } else {
    return acc ? Results(all.result(std::move(*acc))) : Results(A::template of_nothing<V>()...);
  }
}

}  // namespace weft::detail
