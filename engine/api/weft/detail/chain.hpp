// Fused chains: each node pushes its records into a sink, inlined into one loop per task.
//
// A chain has `Record` and `template run(context, sink)`, which calls sink(Record&&) for every record of the task. Chains are
// immutable and run on many threads at once. Views in a record live during the push only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/hash.hpp"
#include "base/lean/ranges.hpp"
#include "base/random.hpp"
#include "runtime/executor/task.hpp"
#include "weft/concepts.hpp"

namespace weft::detail {

using runtime::TaskContext;

template <class F, class T>
using ResultOf = std::remove_cvref_t<CallResult<F, T>>;

/// The chain's records may be pairs that lie in the partition of their key (whether they do is known when the dataset is built:
/// Lineage::hashed). Chains that begin with such records say so, operators that keep the key pass it on.
template <class Chain>
constexpr bool keyed() {
  if constexpr (requires { Chain::kKeyed; }) return Chain::kKeyed;
  return false;
}

/// A reference to a sink that outlives this. One indirect call per record.
template <class T>
class SinkRef {
 public:
  template <class F>
  explicit SinkRef(F& sink)
      : object_(&sink), call_([](void* object, T&& record) { (*static_cast<F*>(object))(std::move(record)); }) {}
  void operator()(T&& record) const { call_(object_, std::move(record)); }

 private:
  void* object_;
  void (*call_)(void*, T&&);
};

/// A chain of which only the record type is known: one indirect call per record.
template <class T>
class Erased {
 public:
  using Record = T;
  static constexpr bool kKeyed = KeyValue<T>;

  template <class Chain>
  explicit Erased(Chain chain) : source_(std::make_shared<const Model<Chain>>(std::move(chain))) {}

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    source_->run(context, SinkRef<T>(sink));
  }

 private:
  struct Source {
    virtual ~Source() = default;
    virtual void run(TaskContext& context, SinkRef<T> sink) const = 0;
  };
  template <class Chain>
  struct Model final : Source {
    explicit Model(Chain c) : chain(std::move(c)) {}
    void run(TaskContext& context, SinkRef<T> sink) const override { chain.run(context, sink); }
    Chain chain;
  };
  std::shared_ptr<const Source> source_;
};

template <class Chain, class F>
struct Map {
  using Record = ResultOf<F, typename Chain::Record&&>;
  Chain input;
  F function;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    input.run(context, [&](typename Chain::Record&& record) { sink(Record(call(function, std::move(record)))); });
  }
};

/// Changes the values of pairs.
template <class Chain, class F>
struct MapValues {
  using K = KeyOf<typename Chain::Record>;
  using Record = std::pair<K, ResultOf<F, ValueOf<typename Chain::Record>&&>>;
  static constexpr bool kKeyed = keyed<Chain>();
  Chain input;
  F function;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    input.run(context, [&](typename Chain::Record&& record) {
      sink(Record(std::move(record.first), call(function, std::move(record.second))));
    });
  }
};

template <class Chain, class F>
struct Filter {
  using Record = typename Chain::Record;
  static constexpr bool kKeyed = keyed<Chain>();
  Chain input;
  F function;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    input.run(context, [&](Record&& record) {
      if (call(function, std::as_const(record))) sink(std::move(record));
    });
  }
};

/// A container returned by value may be emptied; a view does not own its elements.
template <class Range>
inline constexpr bool kMayMoveElements = !std::is_reference_v<Range> && !std::ranges::view<std::remove_cvref_t<Range>> &&
                                         !std::ranges::borrowed_range<std::remove_cvref_t<Range>>;

template <class Chain, class F>
struct FlatMap {
  using Range = CallResult<F, typename Chain::Record&&>;
  using Record = std::ranges::range_value_t<Range>;
  Chain input;
  F function;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    input.run(context, [&](typename Chain::Record&& record) {
      Range&& range = call(function, std::move(record));
      for (auto&& element : range) {
        if constexpr (kMayMoveElements<Range>) {
          sink(Record(std::move(element)));
        } else {
          sink(Record(std::forward<decltype(element)>(element)));
        }
      }
    });
  }
};

/// What flat_map and map_partitions pass to the user's function: emit(record). All operators behind it run in that call, in a frame
/// of the user's function, which may catch what they throw. It is kept, so that the attempt fails nevertheless.
template <class Out, class Sink>
class Emit {
 public:
  Emit(Sink& sink, TaskContext& context) : sink_(&sink), context_(&context) {}
  void operator()(Out record) const {
    try {
      (*sink_)(std::move(record));
    } catch (...) {
      context_->throw_on();
    }
  }

 private:
  Sink* sink_;
  TaskContext* context_;
};

template <class Out, class Chain, class F>
struct FlatMapEmit {
  using Record = Out;
  Chain input;
  F function;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    const Emit<Out, std::remove_reference_t<Sink>> emit(sink, context);
    input.run(context, [&](typename Chain::Record&& record) {
      std::invoke(function, std::move(record), emit);
      context.check_thrown();
    });
  }
};

/// The records of one task, for map_partitions: records([](T record) { … }) visits each once, in order.
template <class Chain>
class Records {
 public:
  using value_type = typename Chain::Record;
  Records(const Chain& chain, TaskContext& context) : chain_(&chain), context_(&context) {}
  /// What the chain throws fails the attempt, even if the user's function catches it. It may catch what its own `visit` throws.
  template <class F>
  void operator()(F&& visit) const {
    bool own = false;
    try {
      chain_->run(*context_, [&](value_type&& record) {
        try {
          visit(std::move(record));
        } catch (...) {
          own = !context_->thrown;
          throw;
        }
      });
    } catch (...) {
      if (!own) context_->throw_on();
      context_->thrown = nullptr;  // operators of the chain kept it
      throw;
    }
  }

 private:
  const Chain* chain_;
  TaskContext* context_;
};

template <class Out, class Chain, class F>
struct MapPartitions {
  using Record = Out;
  Chain input;
  F function;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    const Emit<Out, std::remove_reference_t<Sink>> emit(sink, context);
    std::invoke(function, Records<Chain>(input, context), emit);
    context.check_thrown();
  }
};

/// The first chain's branches come first. Branch numbers are relative to the dataset that a chain belongs to.
template <class First, class Second>
struct Union {
  using Record = typename First::Record;
  First first;
  Second second;
  std::uint32_t first_branches;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    if (context.branch < first_branches) {
      first.run(context, sink);
    } else {
      const std::uint32_t branch = std::exchange(context.branch, context.branch - first_branches);
      second.run(context, sink);
      context.branch = branch;
    }
  }
};

/// The same operator with another function: of a chain that is one of Map, MapValues, Filter, FlatMap, FlatMapEmit and
/// MapPartitions.
template <template <class, class> class Node, class Chain, class F, class G>
requires requires(const Node<Chain, F>& node) { node.function; }
auto with_function(const Node<Chain, F>& node, G other) { return Node<Chain, G>{node.input, std::move(other)}; }
template <template <class, class, class> class Node, class Out, class Chain, class F, class G>
requires requires(const Node<Out, Chain, F>& node) { node.function; }
auto with_function(const Node<Out, Chain, F>& node, G other) { return Node<Out, Chain, G>{node.input, std::move(other)}; }

/// Keeps each record with the same probability; the same ones in every attempt.
template <class Chain>
struct Sample {
  using Record = typename Chain::Record;
  static constexpr bool kKeyed = keyed<Chain>();
  Chain input;
  double fraction;
  std::uint64_t seed;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    Random random(hash_combine(seed, hash_combine(context.branch, context.partition)));
    input.run(context, [&](Record&& record) {
      if (random.chance(fraction)) sink(std::move(record));
    });
  }
};

}  // namespace weft::detail
