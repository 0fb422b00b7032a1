#include "engine/master/journal/job_facts.hpp"

#include <utility>

#include "base/codec.hpp"

namespace weft::master {

namespace {

std::string encode_sizes(const std::vector<shuffle::PartitionSize>& sizes) {
  Encoder out;
  out.append_varint(sizes.size());
  for (const shuffle::PartitionSize& size : sizes) {
    out.append_varint(size.records);
    out.append_varint(size.bytes);
  }
  return std::string(as_chars(out.view()));
}

Result<std::vector<shuffle::PartitionSize>> decode_sizes(ByteView bytes) try {
  Decoder in(bytes);
  std::vector<shuffle::PartitionSize> sizes(in.take_count());
  for (shuffle::PartitionSize& size : sizes) {
    size.records = in.take_varint();
    size.bytes = in.take_varint();
  }
  return sizes;
} catch (const CodecError& fault) {
  return fail(Code::corrupt, fault.what());
}

}  // namespace

void date(JobFact& fact, std::uint32_t masters) {
  std::visit(
      [masters](auto& what) {
        if constexpr (requires { what.masters; }) what.masters = masters;
      },
      fact);
}

FinishFact fact_of(const TaskFinished& event, Time launched, Time ended) {
  FinishFact fact;
  fact.stage = event.attempt.task.stage;
  fact.task = event.attempt.task.index;
  fact.attempt = event.attempt.attempt;
  fact.node = event.node;
  fact.launched = launched;
  fact.ended = ended;
  if (!event.output.empty()) fact.output = encode_sizes(event.output);
  fact.result = std::string(as_chars(event.result.view()));
  fact.counters = event.counters;
  fact.input_bytes = event.input_bytes;
  fact.input_records = event.input_records;
  fact.shuffle_read = event.shuffle_times.read;
  fact.shuffle_write = event.shuffle_times.write;
  fact.sample_histogram = event.sample_histogram;
  fact.usage = event.usage;
  return fact;
}

Result<RestoredEnd> end_of(JobId job, FinishFact fact) {
  RestoredEnd end;
  end.launched = fact.launched;
  end.ended = fact.ended;
  end.next = fact.next;
  TaskFinished& event = end.event;
  event.attempt = {{job, fact.stage, fact.task}, fact.attempt};
  event.node = fact.node;
  if (!fact.output.empty()) {
    WEFT_ASSIGN(event.output, decode_sizes(as_bytes(fact.output)));
  }
  event.result = Buffer::copy_of(as_bytes(fact.result));
  event.counters = std::move(fact.counters);
  event.input_bytes = fact.input_bytes;
  event.input_records = fact.input_records;
  event.shuffle_times = {fact.shuffle_read, fact.shuffle_write};
  event.sample_histogram = std::move(fact.sample_histogram);
  event.usage = std::move(fact.usage);
  return end;
}

ShapeFact fact_of(const StageShape& shape) {
  ShapeFact fact{shape.stage, shape.bounds, {}, shape.first};
  for (const auto& [task, split] : shape.splits)
    fact.splits.push_back({task, split.task, split.input, split.maps.first, split.maps.end});
  return fact;
}

StageShape shape_of(const ShapeFact& fact) {
  StageShape shape{fact.stage, fact.bounds, {}, fact.first};
  for (const ShapeFact::Split& split : fact.splits)
    shape.splits[split.task] = {split.of, split.input, {split.first_map, split.end_map}};
  return shape;
}

NodeFact fact_of(const WorkerJoined& joined, Time at, std::uint64_t process) {
  return {joined.node,
          joined.name,
          joined.host,
          joined.rack,
          joined.data_address,
          to_string(joined.capacity),
          joined.attributes,
          joined.prefetch_bytes,
          joined.rack_uplink.up,
          joined.rack_uplink.down,
          joined.processors,
          at,
          process};
}

Result<RestoredNode> node_of(NodeFact fact) {
  RestoredNode node;
  node.at = fact.at;
  WorkerJoined& joined = node.joined;
  joined.node = fact.node;
  joined.name = std::move(fact.name);
  joined.host = std::move(fact.host);
  joined.rack = std::move(fact.rack);
  joined.data_address = std::move(fact.data_address);
  WEFT_ASSIGN(joined.capacity, schedulers::parse_resources(fact.capacity));
  joined.attributes = std::move(fact.attributes);
  joined.prefetch_bytes = fact.prefetch_bytes;
  joined.rack_uplink = {fact.uplink_up, fact.uplink_down};
  joined.processors = fact.processors;
  return node;
}

}  // namespace weft::master
