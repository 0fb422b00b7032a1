// The code of stages: what a task does with the records that its chain pushes.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "base/codec.hpp"
#include "runtime/executor/task.hpp"
#include "runtime/operators/partitioned_writer.hpp"
#include "weft/concepts.hpp"
#include "weft/detail/graph.hpp"

namespace weft::detail {

using runtime::TaskContext;
using runtime::value_or_throw;

/// The type in which records of type T travel: T itself when it can be encoded, otherwise (Values<V>) what owns its content.
template <class T>
using Wire = std::conditional_t<Encodable<T>, T, Owned<T>>;

template <class T>
decltype(auto) to_wire(T&& record) {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (Encodable<Plain>) {
    return std::forward<T>(record);
  } else {
    return to_owned(Plain(std::forward<T>(record)));
  }
}

/// Texts as views: tables and decoders need no string per record. Encoded alike.
template <class K>
using KeyView = std::conditional_t<std::is_same_v<K, std::string>, std::string_view, K>;

template <class F>
class Body final : public runtime::StageBody {
 public:
  explicit Body(F function) : function_(std::move(function)) {}
  Buffer run(TaskContext& context) const override { return function_(context); }

 private:
  F function_;
};

/// `function` is Buffer(TaskContext&), called as const by many threads.
template <class F>
std::unique_ptr<const runtime::StageBody> make_body(F function) {
  return std::make_unique<const Body<F>>(std::move(function));
}

/// fill(PartitionedWriter&) writes the task's output and calls finish(); then the segment is sealed and committed.
template <class Fill>
Buffer write_segment(TaskContext& context, Fill&& fill) {
  auto segment = value_or_throw(context.shuffle->create_segment(context.output_partitions));
  {
    runtime::PartitionedWriter out(context.operators, *segment, context.output_partitions);
    fill(out);
  }
  value_or_throw(context.shuffle->commit(value_or_throw(segment->seal())));
  return {};
}

/// Visits the blocks of encoded records of one partition of a shuffle: of the task's own, and those it reads with it.
template <class Visit>
void read_blocks(TaskContext& context, ShuffleId shuffle, std::uint32_t partition, Visit&& visit) {
  const shuffle::BlockVisitor each = [&](const shuffle::Block& block) -> weft::Result<void> {
    context.check_stop();
    visit(block);
    return {};
  };
  const shuffle::PartitionRange partitions{partition, partition + context.partitions_of(shuffle)};
  value_or_throw(context.shuffle->read(shuffle, partitions, context.maps_of(shuffle), each));
}

/// Decodes all records of them.
template <class T, class Visit>
void read_shuffle(TaskContext& context, ShuffleId shuffle, std::uint32_t partition, Visit&& visit) {
  read_blocks(context, shuffle, partition, [&](const shuffle::Block& block) {
    for (Decoder in(block.bytes); !in.empty();) visit(Codec<T>::decode(in));
  });
}

/// The partition of a shuffle that belongs to the running task.
template <class T>
struct ShuffleRead {
  using Record = T;
  static constexpr bool kKeyed = KeyValue<T>;  // cache() keeps partitions
  ShuffleId shuffle;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    read_shuffle<T>(context, shuffle, context.partition, sink);
  }
};

inline Lineage after_shuffle(const ShuffleRef& shuffle, std::string name, std::string_view type) {
  Origin origin;
  origin.kind = Origin::Kind::shuffles;
  origin.partitioned.push_back(shuffle);
  return Lineage::of(std::move(origin), std::move(name), type);
}

/// A stage that writes every record of `in` to the partition that route(record, partitions) names; state of the route is per task:
/// make_route(context) returns it. Each task reads all that it wants of `broadcast`, if there is one.
template <class D, class MakeRoute>
ShuffleRef exchange(const D& in, std::string name, std::string_view type, std::uint32_t partitions, MakeRoute make_route,
                    const ShuffleRef& broadcast = nullptr) {
  using Record = typename D::Record;
  WEFT_REQUIRE_CODEC(Wire<Record>);
  StageDraft draft;
  draft.lineage = in.lineage().then(name, type);
  if (broadcast) draft.lineage = draft.lineage.with_broadcast(broadcast);
  draft.name = std::move(name);
  draft.partitions = partitions;
  draft.body = make_body([chain = in.chain(), make_route](TaskContext& context) {
    return write_segment(context, [&](runtime::PartitionedWriter& out) {
      auto route = make_route(context);
      chain.run(context, [&](Record&& record) {
        const std::uint32_t partition = route(record);
        out.write(partition, to_wire(std::move(record)));
      });
      out.finish();
    });
  });
  return in.graph()->add_shuffle(std::move(draft));
}

}  // namespace weft::detail
