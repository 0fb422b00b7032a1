#include "runtime/protocol/executor.hpp"

#include "runtime/protocol/executor.capnp.h"
#include "runtime/protocol/wire.hpp"

namespace weft::runtime::protocol {
namespace {

unsigned count(std::size_t items) { return static_cast<unsigned>(items); }

}  // namespace

rpc::Payload encode(const ExecutorSetup& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Setup>();
  out.setJob(message.job.value());
  out.setNode(message.node.value());
  out.setSlots(message.slots);
  out.setMemoryBytes(message.memory_bytes);
  out.setSpillDirectory(text(message.spill_directory));
  out.setSegmentDirectory(text(message.segment_directory));
  return payload(builder);
}

rpc::Payload encode_value(ActionId action, SharedBytes bytes) {
  capnp::MallocMessageBuilder builder;
  builder.initRoot<wire::Value>().setAction(action.value());
  return payload(builder, std::move(bytes));
}

rpc::Payload encode_stop(const AttemptId& attempt) {
  capnp::MallocMessageBuilder builder;
  protocol::write(builder.initRoot<wire::Stop>().initAttempt(), attempt);
  return payload(builder);
}

rpc::Payload encode(const Commit& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Commit>();
  protocol::write(out.initAttempt(), message.attempt);
  out.setSize(message.size);
  out.setPartitions(rpc::data_reader(shuffle::pack(message.partitions).view()));
  return payload(builder);
}

rpc::Payload encode_locate(ShuffleId shuffle) {
  capnp::MallocMessageBuilder builder;
  builder.initRoot<wire::Locate>().setShuffle(shuffle.value());
  return payload(builder);
}

rpc::Payload encode_located(const std::vector<shuffle::MapOutput>& outputs) {
  capnp::MallocMessageBuilder builder;
  write_list(builder.initRoot<wire::Located>().initOutputs(count(outputs.size())), outputs);
  return payload(builder);
}

rpc::Payload encode(const SegmentsWanted& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::OpenSegments>();
  out.setShuffle(message.shuffle.value());
  write_list(out.initMaps(count(message.maps.size())), message.maps);
  return payload(builder);
}

rpc::Payload encode_opened(const std::vector<Opened>& outcomes) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Opened>().initOutcomes(count(outcomes.size()));
  for (unsigned i = 0; i < out.size(); ++i) out.set(i, static_cast<wire::Opened::Outcome>(outcomes[i]));
  return payload(builder);
}

rpc::Payload encode(const BlocksWanted& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Fetch>();
  out.setShuffle(message.shuffle.value());
  out.setPartition(message.partition);
  write_list(out.initMaps(count(message.maps.size())), message.maps);
  return payload(builder);
}

rpc::Payload encode(const FetchedBlocks& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Fetched>();
  out.setFailed(message.failed);
  out.setLost(message.lost);
  out.setError(text(message.error));
  out.setUnreachable(message.unreachable);
  return payload(builder);
}

rpc::Payload encode(const MovedWanted& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::LocateMoved>();
  out.setShuffle(message.shuffle.value());
  write(out.initOutput(), message.output);
  return payload(builder);
}

rpc::Payload encode(const PrefetchedWanted& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::TakePrefetched>();
  out.setShuffle(message.shuffle.value());
  out.setPartition(message.partition);
  out.setFrom(message.from);
  return payload(builder);
}

rpc::Payload encode(const PrefetchedSegments& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Prefetched>();
  auto segments = out.initSegments(count(message.maps.size()));
  for (unsigned i = 0; i < segments.size(); ++i) {
    auto maps = segments[i].initMaps(count(message.maps[i].size()));
    for (unsigned k = 0; k < maps.size(); ++k) {
      maps[k].setMap(message.maps[i][k].map);
      maps[k].setAttempt(message.maps[i][k].attempt);
    }
  }
  out.setMore(message.more);
  return payload(builder);
}

Result<ExecutorSetup> decode_setup(const rpc::Message& message) {
  return rpc::read_message<wire::Setup>(message.header.view(), "executor set-up", [](auto in) -> Result<ExecutorSetup> {
    return ExecutorSetup{JobId(in.getJob()),  NodeId(in.getNode()),           in.getSlots(),
                         in.getMemoryBytes(), string(in.getSpillDirectory()), string(in.getSegmentDirectory())};
  });
}

Result<ActionId> decode_value(const rpc::Message& message) {
  return rpc::read_message<wire::Value>(message.header.view(), "action value",
                                        [](auto in) -> Result<ActionId> { return ActionId(in.getAction()); });
}

Result<AttemptId> decode_stop(const rpc::Message& message) {
  return rpc::read_message<wire::Stop>(message.header.view(), "stop of a task",
                                       [](auto in) -> Result<AttemptId> { return protocol::read(in.getAttempt()); });
}

Result<Commit> decode_commit(const rpc::Message& message) {
  return rpc::read_message<wire::Commit>(message.header.view(), "commit of a segment", [](auto in) -> Result<Commit> {
    WEFT_ASSIGN(auto sizes, shuffle::unpack_sizes(rpc::data_view(in.getPartitions())));
    return Commit{protocol::read(in.getAttempt()), in.getSize(), std::move(sizes)};
  });
}

Result<ShuffleId> decode_locate(const rpc::Message& message) {
  return rpc::read_message<wire::Locate>(message.header.view(), "question for a shuffle",
                                         [](auto in) -> Result<ShuffleId> { return ShuffleId(in.getShuffle()); });
}

Result<std::vector<shuffle::MapOutput>> decode_located(const rpc::Message& message) {
  return rpc::read_message<wire::Located>(
      message.header.view(), "table of a shuffle",
      [](auto in) -> Result<std::vector<shuffle::MapOutput>> { return read_list(in.getOutputs()); });
}

Result<SegmentsWanted> decode_segments_wanted(const rpc::Message& message) {
  return rpc::read_message<wire::OpenSegments>(message.header.view(), "request for segments",
                                               [](auto in) -> Result<SegmentsWanted> {
                                                 return SegmentsWanted{ShuffleId(in.getShuffle()), read_list(in.getMaps())};
                                               });
}

Result<std::vector<Opened>> decode_opened(const rpc::Message& message) {
  return rpc::read_message<wire::Opened>(message.header.view(), "answer with segments", [](auto in) -> Result<std::vector<Opened>> {
    std::vector<Opened> outcomes;
    for (wire::Opened::Outcome outcome : in.getOutcomes()) {
      if (outcome > wire::Opened::Outcome::REMOTE) return fail(Code::corrupt, "unknown outcome of opening a segment");
      outcomes.push_back(static_cast<Opened>(outcome));
    }
    return outcomes;
  });
}

Result<BlocksWanted> decode_blocks_wanted(const rpc::Message& message) {
  return rpc::read_message<wire::Fetch>(message.header.view(), "request for blocks", [](auto in) -> Result<BlocksWanted> {
    return BlocksWanted{ShuffleId(in.getShuffle()), in.getPartition(), read_list(in.getMaps())};
  });
}

Result<FetchedBlocks> decode_fetched(const rpc::Message& message) {
  return rpc::read_message<wire::Fetched>(message.header.view(), "answer with blocks", [](auto in) -> Result<FetchedBlocks> {
    return FetchedBlocks{in.getFailed(), in.getLost(), string(in.getError()), in.getUnreachable()};
  });
}

Result<MovedWanted> decode_moved_wanted(const rpc::Message& message) {
  return rpc::read_message<wire::LocateMoved>(message.header.view(), "question for a moved output",
                                              [](auto in) -> Result<MovedWanted> {
                                                return MovedWanted{ShuffleId(in.getShuffle()), read(in.getOutput())};
                                              });
}

Result<PrefetchedWanted> decode_prefetched_wanted(const rpc::Message& message) {
  return rpc::read_message<wire::TakePrefetched>(
      message.header.view(), "request for prefetched blocks", [](auto in) -> Result<PrefetchedWanted> {
        return PrefetchedWanted{ShuffleId(in.getShuffle()), in.getPartition(), in.getFrom()};
      });
}

Result<PrefetchedSegments> decode_prefetched(const rpc::Message& message) {
  return rpc::read_message<wire::Prefetched>(message.header.view(), "prefetched blocks", [](auto in) -> Result<PrefetchedSegments> {
    PrefetchedSegments segments;
    for (auto segment : in.getSegments()) {
      auto& maps = segments.maps.emplace_back();
      for (auto map : segment.getMaps()) maps.push_back({map.getMap(), map.getAttempt()});
    }
    segments.more = in.getMore();
    return segments;
  });
}

}  // namespace weft::runtime::protocol
