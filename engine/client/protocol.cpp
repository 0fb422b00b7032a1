// Submitting and running jobs.
#include "engine/client/protocol.hpp"

#include "engine/client/wire.hpp"

namespace weft::client {

rpc::Payload encode(const Submit& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Submit>();
  out.setName(text(message.name));
  out.setProgram(text(message.program));
  auto arguments = out.initArguments(count(message.arguments.size()));
  for (unsigned i = 0; i < arguments.size(); ++i) arguments.set(i, text(message.arguments[i]));
  out.setDirectory(text(message.directory));
  out.setSameBinary(message.same_binary);
  write(out.initBinary(), message.binary);
  out.setMemoryBytes(message.memory_bytes);
  out.setUser(text(message.user));
  out.setPool(text(message.pool));
  out.setPriority(message.priority);
  out.setMaxAttempts(message.max_attempts);
  out.setTaskTimeout(message.task_timeout.count());
  out.setDeadline(message.deadline.count());
  out.setDemand(text(to_string(message.demand)));
  if (message.shuffle_mode) out.setShuffleMode(text(std::string(shuffle::mode_name(*message.shuffle_mode))));
  out.setShuffleReplicas(message.shuffle_replicas.value_or(0));
  return payload(builder);
}

Result<Submit> decode_submit(const rpc::Message& message) {
  return rpc::read_message<wire::Submit>(message.header.view(), "job submission", [](auto in) -> Result<Submit> {
    Submit submit;
    submit.name = string(in.getName());
    submit.program = string(in.getProgram());
    for (auto argument : in.getArguments()) submit.arguments.push_back(string(argument));
    submit.directory = string(in.getDirectory());
    submit.same_binary = in.getSameBinary();
    submit.binary = read(in.getBinary());
    submit.memory_bytes = in.getMemoryBytes();
    submit.user = string(in.getUser());
    submit.pool = string(in.getPool());
    submit.priority = in.getPriority();
    submit.max_attempts = in.getMaxAttempts();
    submit.task_timeout = Duration(in.getTaskTimeout());
    submit.deadline = Duration(in.getDeadline());
    if (in.hasDemand()) {
      WEFT_ASSIGN(submit.demand, schedulers::parse_resources(string(in.getDemand())));
    }
    if (in.hasShuffleMode()) {
      submit.shuffle_mode = shuffle::parse_mode(string(in.getShuffleMode()));
      if (!submit.shuffle_mode) return fail(Code::invalid_argument, "unknown shuffle mode");
    }
    if (in.getShuffleReplicas() != 0) submit.shuffle_replicas = in.getShuffleReplicas();
    return submit;
  });
}

rpc::Payload encode(const Submitted& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Submitted>();
  out.setJob(message.job.value());
  out.setBinaryKnown(message.binary_known);
  out.setSlots(message.slots);
  return payload(builder);
}

Result<Submitted> decode_submitted(const rpc::Message& message) {
  return rpc::read_message<wire::Submitted>(message.header.view(), "answer to a submission", [](auto in) -> Result<Submitted> {
    return Submitted{JobId(in.getJob()), in.getBinaryKnown(), in.getSlots()};
  });
}

rpc::Payload encode(const Upload& message, SharedBytes bytes) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Upload>();
  write(out.initBinary(), message.binary);
  out.setOffset(message.offset);
  out.setTotal(message.total);
  return payload(builder, std::move(bytes));
}

Result<Upload> decode_upload(const rpc::Message& message) {
  return rpc::read_message<wire::Upload>(message.header.view(), "upload of a binary", [](auto in) -> Result<Upload> {
    return Upload{read(in.getBinary()), in.getOffset(), in.getTotal()};
  });
}

rpc::Payload encode(const JobRequest& message, SharedBytes bytes) {
  capnp::MallocMessageBuilder builder;
  builder.initRoot<wire::Job>().setJob(message.job.value());
  return payload(builder, std::move(bytes));
}

Result<JobRequest> decode_job_request(const rpc::Message& message) {
  return rpc::read_message<wire::Job>(message.header.view(), "request about a job",
                                      [](auto in) -> Result<JobRequest> { return JobRequest{JobId(in.getJob())}; });
}

rpc::Payload encode(const ValueRecord& message, SharedBytes bytes) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Value>();
  out.setJob(message.job.value());
  out.setAction(message.action.value());
  return payload(builder, std::move(bytes));
}

Result<ValueRecord> decode_value_record(const rpc::Message& message) {
  return rpc::read_message<wire::Value>(message.header.view(), "value of an action", [](auto in) -> Result<ValueRecord> {
    return ValueRecord{JobId(in.getJob()), ActionId(in.getAction())};
  });
}

rpc::Payload encode(const Poll& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Poll>();
  out.setJob(message.job.value());
  out.setAction(message.action.value());
  out.setWait(message.wait.count());
  return payload(builder);
}

Result<Poll> decode_poll(const rpc::Message& message) {
  return rpc::read_message<wire::Poll>(message.header.view(), "question after progress", [](auto in) -> Result<Poll> {
    return Poll{JobId(in.getJob()), ActionId(in.getAction()), Duration(in.getWait())};
  });
}

}  // namespace weft::client
