#include "runtime/protocol/worker.hpp"

#include "runtime/protocol/wire.hpp"
#include "runtime/protocol/worker.capnp.h"
#include "shuffle/prefetch/prefetch_stats_wire.hpp"

namespace weft::protocol {

rpc::Payload encode(const Register& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Register>();
  out.setName(text(message.name));
  out.setHost(text(message.host));
  out.setRack(text(message.rack));
  out.setDataAddress(text(message.data_address));
  out.setSlots(message.slots);
  out.setMemoryBytes(message.memory_bytes);
  auto attributes = out.initAttributes(static_cast<unsigned>(message.attributes.size()));
  unsigned i = 0;
  for (const auto& [name, value] : message.attributes) {
    attributes[i].setName(text(name));
    attributes[i++].setValue(text(value));
  }
  out.setCapacity(text(message.capacity));
  out.setAheadBytes(message.ahead_bytes);
  write_text(out.initLocalData(static_cast<unsigned>(message.local_data.size())), message.local_data);
  return payload(builder);
}

rpc::Payload encode(const Registered& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Registered>();
  out.setNode(message.node.value());
  out.setHeartbeatNanoseconds(message.heartbeat.count());
  return payload(builder);
}

rpc::Payload encode(const Heartbeat& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Heartbeat>();
  out.setCpu(message.cpu);
  out.setMemory(message.memory);
  out.setStoreMemoryBytes(message.store_memory_bytes);
  out.setStoreDiskBytes(message.store_disk_bytes);
  out.setClockNanoseconds(message.clock.count());
  shuffle::write_prefetch_stats(out.initAhead(), message.ahead);
  out.setAheadHeldBytes(message.ahead_held_bytes);
  out.setAheadFileBytes(message.ahead_file_bytes);
  return payload(builder);
}

rpc::Payload encode(const Dying& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Dying>();
  out.setNode(message.node.value());
  out.setSignal(static_cast<std::uint8_t>(message.signal));
  return payload(builder);
}

rpc::Payload encode(const std::vector<JobAhead>& jobs) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::JobsAhead>().initJobs(static_cast<unsigned>(jobs.size()));
  for (unsigned i = 0; i < out.size(); ++i) {
    out[i].setJob(jobs[i].job.value());
    shuffle::write_prefetch_stats(out[i].initAhead(), jobs[i].bytes);
  }
  return payload(builder);
}

rpc::Payload encode(const BinaryRequest& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::BinaryRequest>();
  out.setHigh(message.binary.high);
  out.setLow(message.binary.low);
  out.setOffset(message.offset);
  return payload(builder);
}

rpc::Payload encode(const BinaryChunk& message, SharedBytes bytes) {
  capnp::MallocMessageBuilder builder;
  builder.initRoot<wire::BinaryChunk>().setTotal(message.total);
  return payload(builder, std::move(bytes));
}

rpc::Payload encode(const LogRequest& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::LogRequest>();
  out.setJob(message.job.value());
  out.setMaxBytes(message.max_bytes);
  return payload(builder);
}

rpc::Payload encode(const CopyEnded& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::CopyEnded>();
  out.setJob(message.job.value());
  out.setShuffle(message.shuffle.value());
  out.setMap(message.map);
  out.setAttempt(message.attempt);
  out.setError(text(message.error));
  return payload(builder);
}

Result<Register> decode_register(const rpc::Message& message) {
  return rpc::read_message<wire::Register>(message.header.view(), "registration", [](auto in) -> Result<Register> {
    Register made{string(in.getName()),
                  string(in.getHost()),
                  string(in.getRack()),
                  string(in.getDataAddress()),
                  in.getSlots(),
                  in.getMemoryBytes(),
                  {},
                  {},
                  string(in.getCapacity()),
                  in.getAheadBytes()};
    for (auto directory : in.getLocalData()) made.local_data.push_back(string(directory));
    for (auto attribute : in.getAttributes()) made.attributes[string(attribute.getName())] = string(attribute.getValue());
    return made;
  });
}

Result<Registered> decode_registered(const rpc::Message& message) {
  return rpc::read_message<wire::Registered>(message.header.view(), "answer to a registration", [](auto in) -> Result<Registered> {
    return Registered{NodeId(in.getNode()), Duration(in.getHeartbeatNanoseconds())};
  });
}

Result<Dying> decode_dying(const rpc::Message& message) {
  return rpc::read_message<wire::Dying>(message.header.view(), "last words of a worker", [](auto in) -> Result<Dying> {
    return Dying{NodeId(in.getNode()), in.getSignal()};
  });
}

Result<Heartbeat> decode_heartbeat(const rpc::Message& message) {
  return rpc::read_message<wire::Heartbeat>(message.header.view(), "heartbeat", [](auto in) -> Result<Heartbeat> {
    const Duration clock(in.getClockNanoseconds());
    if (clock < Duration(0)) return fail(Code::corrupt, "a heartbeat from before 1970");
    return Heartbeat{in.getCpu(),
                     in.getMemory(),
                     in.getStoreMemoryBytes(),
                     in.getStoreDiskBytes(),
                     clock,
                     shuffle::read_prefetch_stats(in.getAhead()),
                     in.getAheadHeldBytes(),
                     in.getAheadFileBytes()};
  });
}

Result<std::vector<JobAhead>> decode_jobs_ahead(const rpc::Message& message) {
  return rpc::read_message<wire::JobsAhead>(message.header.view(), "what was brought ahead of jobs",
                                            [](auto in) -> Result<std::vector<JobAhead>> {
                                              std::vector<JobAhead> jobs;
                                              for (auto job : in.getJobs())
                                                jobs.push_back({JobId(job.getJob()), shuffle::read_prefetch_stats(job.getAhead())});
                                              return jobs;
                                            });
}

Result<BinaryRequest> decode_binary_request(const rpc::Message& message) {
  return rpc::read_message<wire::BinaryRequest>(message.header.view(), "request for a binary",
                                                [](auto in) -> Result<BinaryRequest> {
                                                  return BinaryRequest{{in.getHigh(), in.getLow()}, in.getOffset()};
                                                });
}

Result<BinaryChunk> decode_binary_chunk(const rpc::Message& message) {
  return rpc::read_message<wire::BinaryChunk>(message.header.view(), "piece of a binary",
                                              [](auto in) -> Result<BinaryChunk> { return BinaryChunk{in.getTotal()}; });
}

Result<LogRequest> decode_log_request(const rpc::Message& message) {
  return rpc::read_message<wire::LogRequest>(message.header.view(), "request for a log", [](auto in) -> Result<LogRequest> {
    return LogRequest{JobId(in.getJob()), in.getMaxBytes()};
  });
}

Result<CopyEnded> decode_copy_ended(const rpc::Message& message) {
  return rpc::read_message<wire::CopyEnded>(message.header.view(), "the end of a copy", [](auto in) -> Result<CopyEnded> {
    return CopyEnded{JobId(in.getJob()), ShuffleId(in.getShuffle()), in.getMap(), in.getAttempt(), string(in.getError())};
  });
}

}  // namespace weft::protocol
