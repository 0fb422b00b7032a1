// The code of stages: what a task does with the records that its chain pushes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "base/codec.hpp"
#include "runtime/executor/task.hpp"
#include "runtime/operators/partitioned_writer.hpp"
#include "runtime/operators/shared_table.hpp"
#include "shuffle/store/block.hpp"
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
  // Not make_unique(), which makes a class of each program's every stage: a tenth of the compiler's time for a job program.
  return std::unique_ptr<const runtime::StageBody>(new Body<F>(std::move(function)));
}

template <class T>
Buffer encoded(const T& value) {
  Encoder out;
  encode(value, out);
  return Buffer::copy_of(out.view());
}
template <class T>
T decoded(const Buffer& bytes) {
  Decoder in(bytes.view());
  return decode<T>(in);
}

/// The segment that a task writes. Throws TaskError.
class SegmentOutput {
 public:
  explicit SegmentOutput(TaskContext& context);
  ~SegmentOutput();
  SegmentOutput(const SegmentOutput&) = delete;
  SegmentOutput& operator=(const SegmentOutput&) = delete;

  runtime::PartitionedWriter& writer() { return *writer_; }
  /// Finishes the writer, seals the segment and passes it to the store.
  void commit();

 private:
  struct Segment;

  TaskContext& context_;
  const std::unique_ptr<Segment> segment_;
  runtime::PartitionedWriter* writer_;  // in it
};

/// fill(PartitionedWriter&) writes the task's output; then the segment is sealed and committed.
template <class Fill>
Buffer write_segment(TaskContext& context, Fill&& fill) {
  SegmentOutput output(context);
  fill(output.writer());
  output.commit();
  return {};
}

/// Calls visit(self, block) for the blocks of encoded records of one partition of a shuffle: of `partition`, and of those that the
/// task reads together with it.
void visit_blocks(TaskContext& context, ShuffleId shuffle, std::uint32_t partition, void* self,
                  void (*visit)(void* self, const shuffle::Block& block));

/// The same for what the maps [first_map, end_map) of a shuffle of one partition wrote.
void visit_map_blocks(TaskContext& context, ShuffleId shuffle, std::uint32_t first_map, std::uint32_t end_map, void* self,
                      void (*visit)(void* self, const shuffle::Block& block));

template <class Visit>
void read_blocks(TaskContext& context, ShuffleId shuffle, std::uint32_t partition, Visit&& visit) {
  visit_blocks(context, shuffle, partition, &visit,
               [](void* self, const shuffle::Block& block) { (*static_cast<std::remove_reference_t<Visit>*>(self))(block); });
}

template <class Visit>
void read_map_blocks(TaskContext& context, ShuffleId shuffle, std::uint32_t first_map, std::uint32_t end_map, Visit&& visit) {
  visit_map_blocks(context, shuffle, first_map, end_map, &visit,
                   [](void* self, const shuffle::Block& block) { (*static_cast<std::remove_reference_t<Visit>*>(self))(block); });
}

/// The table of a shuffle that all tasks of the running stage read whole. Null when it cannot fit, or nothing is shared here.
std::shared_ptr<runtime::SharedTable> find_table(TaskContext& context, ShuffleId whole, runtime::SharedTables::Make make);

/// Throws TaskError: the master does not say which side of a join the task reads whole.
[[noreturn]] void refuse_unknown_side();

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

/// A stage that writes every record of `in` to the partition that route(record, partitions) names; make_route(context) returns the
/// route of one task, which may have state, and goes by what `routing` says. Each task may read all of `broadcast`, if it is given.
template <class D, class MakeRoute>
ShuffleRef exchange(const D& in, std::string name, std::string_view type, std::uint32_t partitions, Routing routing,
                    MakeRoute make_route, const ShuffleRef& broadcast = nullptr) {
  using Record = typename D::Record;
  WEFT_REQUIRE_CODEC(Wire<Record>);
  Lineage lineage = in.lineage().then_same_keys(name, type);
  if (broadcast) lineage = lineage.with_broadcast(broadcast);
  return add_shuffle(*in.graph(), std::move(name), std::move(lineage), partitions,
                     make_body([chain = in.chain(), make_route](TaskContext& context) {
                       return write_segment(context, [&](runtime::PartitionedWriter& out) {
                         auto route = make_route(context);
                         chain.run(context, [&](Record&& record) {
                           const std::uint32_t partition = route(record);
                           out.write(partition, to_wire(std::move(record)));
                         });
                       });
                     }),
                     routing);
}

}  // namespace weft::detail
