// Operators that move records without looking at keys: cache, repartition, top.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "weft/concepts.hpp"
#include "weft/detail/chain.hpp"
#include "weft/detail/stage.hpp"

namespace weft {
template <class T, class Chain>
class Dataset;
}

namespace weft::detail {

template <class D, class MakeRoute>
auto rearrange(const D& in, std::string name, std::uint32_t partitions, MakeRoute make_route) {
  using T = Wire<typename D::Record>;
  const ShuffleRef shuffle = exchange(in, name, type_name<std::tuple<typename D::Record, MakeRoute>>(), partitions, make_route);
  return Dataset<T, ShuffleRead<T>>(in.graph(), after_shuffle(shuffle, std::move(name), type_name<T>()),
                                    ShuffleRead<T>{shuffle->id()});
}

/// Task i writes partition i only.
template <class D>
auto cache(const D& in, std::string name) {
  return rearrange(in, std::move(name), kOnePerTask, [](TaskContext& context) {
    return [partition = context.attempt.task.index](const auto&) { return partition; };
  });
}

/// Evenly, record by record.
template <class D>
auto repartition(const D& in, std::uint32_t partitions, std::string name) {
  return rearrange(in, std::move(name), partitions, [](TaskContext& context) {
    return [next = context.attempt.task.index, count = context.output_partitions](const auto&) mutable { return next++ % count; };
  });
}

/// The n largest records seen.
template <class T, class Less>
class TopHeap {
 public:
  TopHeap(std::size_t n, const Less& less) : n_(n), larger_{less} {}

  template <class R>
  void add(R&& record) {
    if (n_ == 0) return;
    if (heap_.size() < n_) {
      heap_.push_back(to_owned(std::remove_cvref_t<R>(std::forward<R>(record))));
    } else if (exceeds_smallest(record)) {
      std::pop_heap(heap_.begin(), heap_.end(), larger_);
      heap_.back() = to_owned(std::remove_cvref_t<R>(std::forward<R>(record)));
    } else {
      return;
    }
    std::push_heap(heap_.begin(), heap_.end(), larger_);
  }
  /// Largest first.
  std::vector<T> take() {
    std::sort_heap(heap_.begin(), heap_.end(), larger_);
    return std::move(heap_);
  }

 private:
  struct Larger {
    Less less;
    bool operator()(const T& a, const T& b) const { return std::invoke(less, b, a); }
  };
  template <class R>
  bool exceeds_smallest(const R& record) const {
    if constexpr (std::predicate<const Less&, const T&, const R&>) {
      return std::invoke(larger_.less, heap_.front(), record);
    } else {
      return std::invoke(larger_.less, heap_.front(), to_owned(R(record)));
    }
  }

  std::size_t n_;
  Larger larger_;
  std::vector<T> heap_;
};

template <class T, class Less>
struct TopRead {
  using Record = T;
  ShuffleId shuffle;
  std::size_t n;
  Less less;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    TopHeap<T, Less> heap(n, less);
    read_shuffle<T>(context, shuffle, context.partition, [&](T&& record) { heap.add(std::move(record)); });
    for (T& record : heap.take()) sink(std::move(record));
  }
};

template <class D, class Less>
auto top(const D& in, std::size_t n, Less less, std::string name) {
  using T = Owned<typename D::Record>;
  using Read = TopRead<T, Less>;
  WEFT_REQUIRE_CODEC(T);
  StageDraft draft;
  draft.name = name;
  draft.lineage = in.lineage().then(name, type_name<Read>());
  draft.partitions = 1;
  draft.body = make_body([chain = in.chain(), n, less](TaskContext& context) {
    return write_segment(context, [&](runtime::PartitionedWriter& out) {
      TopHeap<T, Less> heap(n, less);
      chain.run(context, [&](typename D::Record&& record) { heap.add(std::move(record)); });
      for (const T& record : heap.take()) out.write(0, record);
      out.finish();
    });
  });
  const ShuffleRef shuffle = in.graph()->add_shuffle(std::move(draft));
  return Dataset<T, Read>(in.graph(), after_shuffle(shuffle, std::move(name), type_name<Read>()), Read{shuffle->id(), n, less});
}

}  // namespace weft::detail
