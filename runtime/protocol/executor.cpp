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

rpc::Payload encode_forget(ShuffleId shuffle) {
  capnp::MallocMessageBuilder builder;
  builder.initRoot<wire::Forget>().setShuffle(shuffle.value());
  return payload(builder);
}

rpc::Payload encode(const ReadRequest& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Read>();
  protocol::write(out.initAttempt(), message.attempt);
  out.setRead(message.read);
  out.setPart(message.part);
  out.setShuffle(message.shuffle.value());
  out.setFirstPartition(message.partitions.first);
  out.setEndPartition(message.partitions.end);
  out.setFirstMap(message.maps.first);
  out.setEndMap(message.maps.end);
  out.setFetchBytes(message.fetch_bytes);
  auto known = out.initKnown(count(message.known.size()));
  for (unsigned i = 0; i < known.size(); ++i) {
    known[i].setMap(message.known[i].map);
    known[i].setAttempt(message.known[i].attempt);
  }
  return payload(builder);
}

rpc::Payload encode(shuffle::ReadPart part) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::ReadPart>();
  out.setPartition(part.partition);
  out.setNextMap(part.next_map);
  out.setEnd(part.end);
  auto sources = out.initSources(count(part.sources.size()));
  for (unsigned i = 0; i < sources.size(); ++i) {
    sources[i].setKind(static_cast<std::uint8_t>(part.sources[i].kind));
    write_list(sources[i].initMaps(count(part.sources[i].maps.size())), part.sources[i].maps);
  }
  if (part.lost) {
    write(out.initLost(), part.lost->output);
    out.setWhy(text(part.lost->why));
  }
  rpc::Payload result = payload(builder);
  result.fds = std::move(part.descriptors);
  return result;
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

Result<ShuffleId> decode_forget(const rpc::Message& message) {
  return rpc::read_message<wire::Forget>(message.header.view(), "shuffle to be forgotten",
                                         [](auto in) -> Result<ShuffleId> { return ShuffleId(in.getShuffle()); });
}

Result<ReadRequest> decode_read_request(const rpc::Message& message) {
  return rpc::read_message<wire::Read>(message.header.view(), "request to read partitions", [](auto in) -> Result<ReadRequest> {
    ReadRequest request;
    request.attempt = protocol::read(in.getAttempt());
    request.read = in.getRead();
    request.part = in.getPart();
    request.shuffle = ShuffleId(in.getShuffle());
    request.partitions = {in.getFirstPartition(), in.getEndPartition()};
    request.maps = {in.getFirstMap(), in.getEndMap()};
    request.fetch_bytes = in.getFetchBytes();
    for (const auto map : in.getKnown()) request.known.push_back({map.getMap(), map.getAttempt()});
    return request;
  });
}

Result<shuffle::ReadPart> decode_read_part(rpc::Message message) {
  return rpc::read_message<wire::ReadPart>(message.header.view(), "part of a partition", [&](auto in) -> Result<shuffle::ReadPart> {
    using Kind = shuffle::BlockSource::Kind;
    shuffle::ReadPart part;
    part.partition = in.getPartition();
    part.next_map = in.getNextMap();
    part.end = in.getEnd();
    std::size_t descriptors = 0;
    for (const auto source : in.getSources()) {
      if (source.getKind() > static_cast<std::uint8_t>(Kind::fetched)) return fail(Code::corrupt, "unknown kind of blocks");
      part.sources.push_back({static_cast<Kind>(source.getKind()), read_list(source.getMaps())});
      if (part.sources.back().maps.empty()) return fail(Code::corrupt, "blocks of no map");
      descriptors += part.sources.back().kind == Kind::known ? 0 : 1;
    }
    if (in.hasLost()) part.lost = shuffle::LostOutput{read(in.getLost()), string(in.getWhy())};
    if (descriptors != message.fds.size()) return fail(Code::corrupt, "the descriptors do not fit the blocks announced");
    part.descriptors = std::move(message.fds);
    return part;
  });
}

}  // namespace weft::runtime::protocol
