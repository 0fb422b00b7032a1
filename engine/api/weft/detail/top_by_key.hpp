// top_by_key: the n largest values of each key, combined before the shuffle.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/lean/algorithm.hpp"
#include "weft/detail/aggregate.hpp"

namespace weft::detail {

/// The accumulator is sorted, largest first; equal values stay in the order in which they came.
template <class V, class Less>
struct TopAggregation {
  using Value = V;
  using Acc = std::vector<Owned<V>>;
  std::size_t n;
  Less less;

  Acc init(const V& value) const {
    Acc acc;
    if (n > 0) acc.push_back(to_owned(V(value)));
    return acc;
  }
  void add(Acc& acc, const V& value) const {
    if constexpr (std::predicate<const Less&, const V&, const Owned<V>&>) {
      if (acc.size() == n && (n == 0 || !std::invoke(less, acc.back(), value))) return;
    }
    take(acc, to_owned(V(value)));
  }
  void merge(Acc& acc, const Acc& other) const {
    for (const Owned<V>& value : other) take(acc, value);
  }

 private:
  void take(Acc& acc, Owned<V> value) const {
    if (acc.size() == n && (n == 0 || !std::invoke(less, acc.back(), value))) return;
    const auto larger = [this](const Owned<V>& a, const Owned<V>& b) { return std::invoke(less, b, a); };
    acc.insert(std::upper_bound(acc.begin(), acc.end(), value, larger), std::move(value));
    if (acc.size() > n) acc.pop_back();
  }
};

}  // namespace weft::detail
