// Operators that move records without looking at keys: cache, repartition, top.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/lean/algorithm.hpp"
#include "runtime/operators/aggregation.hpp"
#include "runtime/operators/external_sorter.hpp"
#include "weft/concepts.hpp"
#include "weft/detail/chain.hpp"
#include "weft/detail/stage.hpp"

namespace weft::detail {

template <class D, class MakeRoute>
auto rearrange(const D& in, std::string name, std::uint32_t partitions, Routing routing, MakeRoute make_route) {
  using T = Wire<typename D::Record>;
  const ShuffleRef shuffle =
      exchange(in, name, type_name<std::tuple<typename D::Record, MakeRoute>>(), partitions, routing, make_route);
  Lineage lineage = Lineage::after(shuffle, std::move(name), type_name<T>());
  if (partitions == kOnePerTask) lineage.hashed = in.lineage().hashed;  // records of one task stay together
  return Dataset<T, ShuffleRead<T>>(in.graph(), std::move(lineage), ShuffleRead<T>{shuffle->id()});
}

/// Task i writes partition i only. Several stages may read it, and must read the same; with Routing::position also in the same
/// order.
template <class D>
auto cache(const D& in, std::string name, Routing routing = Routing::record) {
  const D whole(in.graph(), in.lineage().unsplit(), in.chain());  // of a join, too, the partitions stay
  return rearrange(whole, std::move(name), kOnePerTask, routing, [](TaskContext& context) {
    return [partition = context.attempt.task.index](const auto&) { return partition; };
  });
}

/// Evenly, record by record.
template <class D>
auto repartition(const D& in, std::uint32_t partitions, std::string name) {
  return rearrange(in, std::move(name), partitions, Routing::position, [](TaskContext& context) {
    return [next = context.attempt.task.index, count = context.output_partitions](const auto&) mutable { return next++ % count; };
  });
}

/// The n largest records seen: in a heap, or, when they take too much memory, at the head of an external sort.
template <class T, class Less>
class TopRecords {
 public:
  TopRecords(runtime::OperatorContext& context, std::size_t n, const Less& less)
      : context_(context), account_(context, "top"), n_(n), larger_{less} {}

  template <class R>
  void add(R&& record) {
    if (n_ == 0) return;
    if (sorter_) return sorter_->add(to_owned(std::remove_cvref_t<R>(std::forward<R>(record))));
    if (heap_.size() == n_) {
      if (!exceeds_smallest(record)) return;
      std::pop_heap(heap_.begin(), heap_.end(), larger_);
      account_.give_back(bytes(heap_.back()));
      heap_.pop_back();
    }
    heap_.push_back(to_owned(std::remove_cvref_t<R>(std::forward<R>(record))));
    if (account_.try_take(bytes(heap_.back()))) return std::push_heap(heap_.begin(), heap_.end(), larger_);
    sort_instead();
  }

  /// emit(T&&), largest first. Once, last.
  template <class Emit>
  void drain(Emit&& emit) {
    if (sorter_) {
      std::size_t left = n_;
      sorter_->drain([&](T&& record) {
        if (left == 0) return;
        --left;
        emit(std::move(record));
      });
      return;
    }
    std::sort_heap(heap_.begin(), heap_.end(), larger_);
    for (std::size_t i = 1; i < heap_.size(); ++i)
      if (larger_(heap_[i], heap_[i - 1])) account_.contradiction();
    for (T& record : heap_) emit(std::move(record));
  }

 private:
  struct Larger {
    Less less;
    bool operator()(const T& a, const T& b) const { return std::invoke(less, b, a); }
  };
  using Sorter = runtime::ExternalSorter<T, std::identity, Larger>;

  std::uint64_t bytes(const T& record) { return 2 * sizeof(T) + runtime::encoded_bytes(record, scratch_); }

  template <class R>
  bool exceeds_smallest(const R& record) const {
    if constexpr (std::predicate<const Less&, const T&, const R&>) {
      return std::invoke(larger_.less, heap_.front(), record);
    } else {
      return std::invoke(larger_.less, heap_.front(), to_owned(R(record)));
    }
  }

  void sort_instead() {
    std::vector<T> held = std::move(heap_);
    heap_ = {};
    account_.give_back(account_.used());
    sorter_.emplace(context_, std::identity(), larger_);
    for (const T& record : held) sorter_->add(record);
  }

  runtime::OperatorContext& context_;
  runtime::Account account_;
  std::size_t n_;
  Larger larger_;
  Encoder scratch_;
  std::vector<T> heap_;
  std::optional<Sorter> sorter_;
};

template <class T, class Less>
struct TopRead {
  using Record = T;
  ShuffleId shuffle;
  std::size_t n;
  Less less;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    TopRecords<T, Less> records(context.operators, n, less);
    read_shuffle<T>(context, shuffle, context.partition, [&](T&& record) { records.add(std::move(record)); });
    records.drain(sink);
  }
};

template <class D, class Less>
auto top(const D& in, std::size_t n, Less less, std::string name) {
  using T = Owned<typename D::Record>;
  using Read = TopRead<T, Less>;
  WEFT_REQUIRE_CODEC(T);
  auto body = make_body([chain = in.chain(), n, less](TaskContext& context) {
    return write_segment(context, [&](runtime::PartitionedWriter& out) {
      TopRecords<T, Less> records(context.operators, n, less);
      chain.run(context, [&](typename D::Record&& record) { records.add(std::move(record)); });
      records.drain([&](T&& record) { out.write(0, record); });
    });
  });
  // Of records that the order calls equal, those that come first are kept.
  constexpr bool kTotal = std::same_as<Less, runtime::NaturalLess> && kOrderedWhole<T>;
  const Lineage before = kTotal ? in.lineage() : in.lineage().by_position();
  const ShuffleRef shuffle =
      add_shuffle(*in.graph(), name, before.then(name, type_name<Read>()), 1, std::move(body), Routing::record);
  const Lineage lineage = Lineage::after(shuffle, std::move(name), type_name<Read>());
  return Dataset<T, Read>(in.graph(), kTotal ? lineage : lineage.by_position(), Read{shuffle->id(), n, less});
}

}  // namespace weft::detail
