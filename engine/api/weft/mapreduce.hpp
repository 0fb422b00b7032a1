// The classic classes, over the same plan as the dataflow operators:
//
//   struct Count : weft::Mapper<std::string_view, std::string, std::uint64_t> {
//     void map(const std::string_view& line, Emit emit) override { for (auto word : weft::words(line)) emit(std::string(word), 1);
//     }
//   };
//   struct Sum : weft::Reducer<std::string, std::uint64_t, std::pair<std::string, std::uint64_t>> { … };
//   weft::MapReduce<Count, Sum>().combiner<SumCombiner>().run(flow.read_text(paths)).write_text(output);
//
// Each task makes its own objects with the default constructor (or by copying the ones given to MapReduce), so they may have state.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>

#include "weft/dataset.hpp"

namespace weft {

namespace detail {
/// A reference to the consumer of what a class emits.
template <class... Args>
class EmitTo {
 public:
  template <class F>
  explicit EmitTo(F& target)
      : object_(&target), call_([](void* object, Args... args) { (*static_cast<F*>(object))(std::move(args)...); }) {}
  void operator()(Args... args) const { call_(object_, std::move(args)...); }

 private:
  void* object_;
  void (*call_)(void*, Args...);
};
}  // namespace detail

template <class In, class K, class V>
class Mapper {
 public:
  using Input = In;
  using Key = K;
  using Value = V;
  using Emit = detail::EmitTo<K, V>;

  virtual ~Mapper() = default;
  virtual void setup() {}
  virtual void map(const In& record, Emit emit) = 0;
  /// After the last record of the task.
  virtual void cleanup(Emit emit) { (void)emit; }
};

template <class K, class V, class Out>
class Reducer {
 public:
  using Key = K;
  using Value = V;
  using Output = Out;
  using Emit = detail::EmitTo<Out>;

  virtual ~Reducer() = default;
  virtual void setup() {}
  /// `values` can be read once.
  virtual void reduce(const K& key, Values<V>& values, Emit emit) = 0;
  virtual void cleanup(Emit emit) { (void)emit; }
};

/// Works on the groups of one task before the shuffle; must not change the result of the reducer.
template <class K, class V>
class Combiner {
 public:
  using Key = K;
  using Value = V;
  using Emit = detail::EmitTo<V>;

  virtual ~Combiner() = default;
  virtual void combine(const K& key, Values<V>& values, Emit emit) = 0;
};

template <class K>
class Partitioner {
 public:
  virtual ~Partitioner() = default;
  /// A number below `partitions`; must depend on the key only.
  virtual std::uint32_t partition(const K& key, std::uint32_t partitions) const = 0;
};

/// In place of a combiner or partitioner that is not set.
struct Absent {};

template <class M, class R, class C = Absent, class P = Absent>
requires std::copy_constructible<M> && std::copy_constructible<R>
class MapReduce {
  using K = typename M::Key;
  using V = typename M::Value;
  static constexpr bool kFits = std::same_as<K, typename R::Key> && std::same_as<V, typename R::Value>;
  static_assert(kFits,
                "weft MapReduce: the reducer must take the keys and values that the mapper emits: Mapper<Input, Key, Value> and "
                "Reducer<Key, Value, Output>");

 public:
  explicit MapReduce(M mapper = {}, R reducer = {}, C combiner = {}, P partitioner = {})
      : mapper_(std::move(mapper)),
        reducer_(std::move(reducer)),
        combiner_(std::move(combiner)),
        partitioner_(std::move(partitioner)) {}

  template <std::derived_from<Combiner<K, V>> Other>
  auto combiner(Other other = {}) const {
    return with(MapReduce<M, R, Other, P>(mapper_, reducer_, std::move(other), partitioner_));
  }
  template <std::derived_from<Partitioner<K>> Other>
  auto partitioner(Other other = {}) const {
    return with(MapReduce<M, R, C, Other>(mapper_, reducer_, combiner_, std::move(other)));
  }
  /// The number of reduce tasks; 0: the job's default.
  MapReduce reducers(std::uint32_t count) const {
    MapReduce changed = *this;
    changed.reducers_ = count;
    return changed;
  }

  /// The reducer's output.
  template <class T, class Chain>
  auto run(const Dataset<T, Chain>& input, std::source_location where = std::source_location::current()) const {
    static_assert(std::same_as<T, typename M::Input>,
                  "weft MapReduce: the mapper takes other records than the dataset has (T below); make it a Mapper<T, Key, Value>");
    if constexpr (!kFits || !std::same_as<T, typename M::Input>) {
      return detail::Refused();
    } else if constexpr (std::same_as<C, Absent>) {
      return reduce(mapped(input, where), where);
    } else {
      return reduce(combined(mapped(input, where), where), where);
    }
  }

 private:
  template <class Changed>
  Changed with(Changed changed) const {
    return changed.reducers(reducers_);
  }

  template <class D>
  auto mapped(const D& input, const std::source_location& where) const {
    return input.template map_partitions<std::pair<K, V>>(
        [mapper = mapper_](auto&& records, auto&& emit) {
          M own = mapper;
          auto target = [&](K key, V value) { emit(std::pair<K, V>(std::move(key), std::move(value))); };
          const typename M::Emit out(target);
          own.setup();
          records([&](typename M::Input record) { own.map(record, out); });
          own.cleanup(out);
        },
        where);
  }

  template <class D>
  auto combined(const D& mapped, const std::source_location& where) const {
    return mapped.group_locally(where).template map_partitions<std::pair<K, V>>(
        [combiner = combiner_](auto&& groups, auto&& emit) {
          C own = combiner;
          groups([&](std::pair<K, Values<V>> group) {
            auto target = [&](V value) { emit(std::pair<K, V>(group.first, std::move(value))); };
            own.combine(group.first, group.second, typename C::Emit(target));
          });
        },
        where);
  }

  template <class D>
  auto grouped(const D& mapped, const std::source_location& where) const {
    if constexpr (std::same_as<P, Absent>) {
      return mapped.group_by_key(HashPartitions{reducers_}, where);
    } else {
      return mapped.group_by_key(partition_by([partitioner = partitioner_](
                                                  const K& key, std::uint32_t count) { return partitioner.partition(key, count); },
                                              reducers_),
                                 where);
    }
  }

  template <class D>
  auto reduce(const D& mapped, const std::source_location& where) const {
    using Out = typename R::Output;
    return grouped(mapped, where)
        .template map_partitions<Out>(
            [reducer = reducer_](auto&& groups, auto&& emit) {
              R own = reducer;
              auto target = [&](Out record) { emit(std::move(record)); };
              const typename R::Emit out(target);
              own.setup();
              groups([&](std::pair<K, Values<V>> group) { own.reduce(group.first, group.second, out); });
              own.cleanup(out);
            },
            where);
  }

  M mapper_;
  R reducer_;
  C combiner_;
  P partitioner_;
  std::uint32_t reducers_ = 0;
};

}  // namespace weft
