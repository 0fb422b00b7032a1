// Aggregators that keep more than a number. <weft/weft.h> leaves this header out, since most programs do not need it; it also gives
// min_by and the others of chosen.hpp. Beside count, sum and the others (aggregators.hpp):
//
//   visits.aggregate_by_key(weft::count(), weft::count_distinct(&Visit::user), weft::quantile(0.95, &Visit::seconds))
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "base/key_hash.hpp"
#include "weft/aggregators.hpp"
#include "weft/chosen.hpp"
#include "weft/detail/distinct.hpp"
#include "weft/detail/quantile_digest.hpp"

namespace weft {
namespace detail {

/// Values are different if their encodings are; but -0.0 is 0.0, and all NaNs are one.
template <class F, class State>
struct DistinctCount : AggregatorBase {
  F function;
  template <class V>
  static constexpr bool kFits = Encodable<Projected<F, V>>;
  template <class V>
  using Acc = State;
  template <class V>
  State init(const V& value) const {
    State state;
    add(state, value);
    return state;
  }
  template <class V>
  void add(State& state, const V& value) const {
    auto part = std::remove_cvref_t<std::invoke_result_t<const F&, const V&>>(std::invoke(function, value));
    if constexpr (requires { part.has_value(); }) {
      if (part.has_value()) add_present(state, *part);
    } else {
      add_present(state, part);
    }
  }
  void merge(State& state, const State& other) const { state.merge(other); }
  static std::uint64_t result(const ValueSet& set) { return set.size(); }
  static std::uint64_t result(const DistinctSketch& sketch) { return sketch.estimate(); }
  template <class V>
  static std::uint64_t of_nothing() {
    return 0;
  }

 private:
  template <class P>
  static void add_present(State& state, P& part) {
    runtime::make_canonical(part);
    if constexpr (std::is_same_v<State, DistinctSketch>) {
      state.add(mix64(key_hash(part)));  // hashes of short keys are even, not random
    } else if constexpr (TextLike<P>) {
      state.add(as_bytes(part));
    } else {
      thread_local Encoder scratch;
      scratch.clear();
      encode(part, scratch);
      state.add(scratch.view());
    }
  }
};

/// A part of 0 to 1; std::invalid_argument for anything else.
double checked_part(double part);

/// One quantile, or several of the same numbers.
template <class F, class Parts>
struct Quantiles : AggregatorBase {
  F function;
  Parts parts;
  template <class V>
  static constexpr bool kFits = std::is_arithmetic_v<Projected<F, V>>;
  template <class V>
  using Acc = QuantileDigest;
  template <class V>
  QuantileDigest init(const V& value) const {
    QuantileDigest digest;
    add(digest, value);
    return digest;
  }
  template <class V>
  void add(QuantileDigest& digest, const V& value) const {
    digest.add(static_cast<double>(std::invoke(function, value)));
  }
  void merge(QuantileDigest& digest, const QuantileDigest& other) const { digest.merge(other); }
  auto result(const QuantileDigest& digest) const {
    if constexpr (std::is_same_v<Parts, double>) {
      return digest.quantile(parts);
    } else {
      std::vector<double> numbers;
      for (const double part : parts) numbers.push_back(digest.quantile(part));
      return numbers;
    }
  }
  template <class V>
  static std::optional<Parts> of_nothing() {
    return std::nullopt;
  }
};

}  // namespace detail

/// How many different f(value) there are; empty optionals do not count. Keeps them all: about 20 bytes for each beside its own. A
/// key whose values do not fit in the memory of a task fails the job; approx_count_distinct() is for these.
template <class F = std::identity>
detail::DistinctCount<F, detail::ValueSet> count_distinct(F f = {}, std::source_location where = std::source_location::current()) {
  return {{where}, std::move(f)};
}
/// The same, estimated in 4 KiB for each key (HyperLogLog): exact up to 256, then with a standard error of 1.6 %.
template <class F = std::identity>
detail::DistinctCount<F, detail::DistinctSketch> approx_count_distinct(
    F f = {}, std::source_location where = std::source_location::current()) {
  return {{where}, std::move(f)};
}
/// The smallest number that at least `part` (0 to 1; 0.5: the median) of all f(value) do not exceed, as double, estimated in 12 KiB
/// for each key (KLL): exact of fewer than 512 numbers; of more, its rank is within 0.6 % of all from the wanted one (in 99 of 100
/// cases).
template <class F = std::identity>
detail::Quantiles<F, double> quantile(double part, F f = {}, std::source_location where = std::source_location::current()) {
  return {{where}, std::move(f), detail::checked_part(part)};
}
/// Several quantiles of the same numbers, as std::vector<double>: `quantiles({0.5, 0.95}, &Visit::seconds)`.
template <class F = std::identity>
detail::Quantiles<F, std::vector<double>> quantiles(std::vector<double> parts, F f = {},
                                                    std::source_location where = std::source_location::current()) {
  for (const double part : parts) detail::checked_part(part);
  return {{where}, std::move(f), std::move(parts)};
}

}  // namespace weft
