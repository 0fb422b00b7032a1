// Status, results, logs, nodes.
#include "engine/client/protocol.hpp"
#include "engine/client/wire.hpp"
#include "shuffle/prefetch/prefetch_stats_wire.hpp"

namespace weft::client {

namespace {

void write(wire::Status::Builder out, const master::JobStatus& status) {
  out.setId(status.id.value());
  out.setName(text(status.name));
  out.setUser(text(status.user));
  out.setPool(text(status.pool));
  out.setState(static_cast<std::uint8_t>(status.state));
  out.setError(text(status.error));
  out.setSubmitted(status.submitted.count());
  out.setEnded(status.ended.count());
  auto stages = out.initStages(count(status.stages.size()));
  for (unsigned i = 0; i < stages.size(); ++i) {
    const master::StageStatus& stage = status.stages[i];
    stages[i].setId(stage.id.value());
    stages[i].setName(text(stage.name));
    stages[i].setTasks(stage.tasks);
    stages[i].setFinished(stage.finished);
    stages[i].setRunning(stage.running);
    stages[i].setFailedAttempts(stage.failed_attempts);
    stages[i].setWaiting(stage.waiting);
    stages[i].setReason(text(stage.reason));
    stages[i].setInputBytes(stage.input_bytes);
    stages[i].setShuffleBytes(stage.shuffle_bytes);
    stages[i].setSpeculative(stage.speculative);
    stages[i].setSpeculativeWon(stage.speculative_won);
    stages[i].setRacing(stage.racing);
    stages[i].setPredictedShuffleBytes(stage.predicted_shuffle_bytes);
    stages[i].setPredictedLargestPartition(stage.predicted_largest_partition);
    stages[i].setRoundsHeldBack(stage.rounds_held_back);
    stages[i].setBytesHeldBack(stage.bytes_held_back);
    stages[i].setRoundsEvicted(stage.rounds_evicted);
    stages[i].setRoundsReturned(stage.rounds_returned);
    stages[i].setCopies(stage.copies);
    stages[i].setCopiesLeft(stage.copies_left);
    stages[i].setCopiesUsed(stage.copies_used);
  }
  auto counters = out.initCounters(count(status.counters.size()));
  unsigned i = 0;
  for (const auto& [name, value] : status.counters) {
    counters[i].setName(text(name));
    counters[i++].setValue(value);
  }
  out.setShuffleBytes(status.shuffle_bytes);
  out.setInputBytes(status.input_bytes);
  out.setInputRecords(status.input_records);
  out.setDeadline(status.deadline.value_or(Duration(0)).count());
  out.setPriority(status.priority);
  out.setShuffleReplicas(status.shuffle_replicas);
  shuffle::write_prefetch_stats(out.initAhead(), status.ahead);
  auto lost = out.initLostWorkers(count(status.lost_workers.size()));
  for (unsigned k = 0; k < lost.size(); ++k) lost.set(k, text(status.lost_workers[k]));
  out.setWorkersLost(status.workers_lost);
}

Result<master::JobStatus> read(wire::Status::Reader in) {
  master::JobStatus status;
  status.id = JobId(in.getId());
  status.name = string(in.getName());
  status.user = string(in.getUser());
  status.pool = string(in.getPool());
  if (in.getState() > static_cast<std::uint8_t>(master::JobState::killed)) return fail(Code::corrupt, "unknown state of a job");
  status.state = static_cast<master::JobState>(in.getState());
  status.error = string(in.getError());
  status.submitted = Duration(in.getSubmitted());
  status.ended = Duration(in.getEnded());
  for (auto stage : in.getStages()) {
    status.stages.push_back({StageId(stage.getId()),
                             string(stage.getName()),
                             stage.getTasks(),
                             stage.getFinished(),
                             stage.getRunning(),
                             stage.getFailedAttempts(),
                             stage.getWaiting(),
                             string(stage.getReason()),
                             stage.getInputBytes(),
                             stage.getShuffleBytes(),
                             stage.getSpeculative(),
                             stage.getSpeculativeWon(),
                             stage.getRacing(),
                             stage.getPredictedShuffleBytes(),
                             stage.getPredictedLargestPartition(),
                             stage.getRoundsHeldBack(),
                             stage.getBytesHeldBack(),
                             stage.getRoundsEvicted(),
                             stage.getRoundsReturned(),
                             stage.getCopies(),
                             stage.getCopiesLeft(),
                             stage.getCopiesUsed()});
  }
  for (auto counter : in.getCounters()) status.counters[string(counter.getName())] = counter.getValue();
  status.shuffle_bytes = in.getShuffleBytes();
  status.input_bytes = in.getInputBytes();
  status.input_records = in.getInputRecords();
  if (in.getDeadline() != 0) status.deadline = Duration(in.getDeadline());
  status.priority = in.getPriority();
  status.shuffle_replicas = in.getShuffleReplicas();
  status.ahead = shuffle::read_prefetch_stats(in.getAhead());
  for (auto lost : in.getLostWorkers()) status.lost_workers.push_back(string(lost));
  status.workers_lost = in.getWorkersLost();
  return status;
}

}  // namespace

rpc::Payload encode(PollReply message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::PollReply>();
  write(out.initStatus(), message.status);
  out.setFinished(message.finished);
  auto results = out.initResults(count(message.results.size()));
  std::vector<SharedBytes> bulk;
  for (unsigned target = 0; target < results.size(); ++target) {
    auto sizes = results[target].initSizes(count(message.results[target].size()));
    for (unsigned task = 0; task < sizes.size(); ++task) {
      Buffer& result = message.results[target][task];
      sizes.set(task, result.size());
      if (!result.empty()) bulk.emplace_back(std::move(result));
    }
  }
  return {rpc::flatten(builder), std::move(bulk), {}};
}

Result<PollReply> decode_poll_reply(const rpc::Message& message) {
  return rpc::read_message<wire::PollReply>(message.header.view(), "progress of a job", [&](auto in) -> Result<PollReply> {
    PollReply reply;
    WEFT_ASSIGN(reply.status, read(in.getStatus()));
    reply.finished = in.getFinished();
    rpc::BulkReader pieces(message.bulk.view());
    for (auto target : in.getResults()) {
      auto& results = reply.results.emplace_back();
      for (const std::uint64_t size : target.getSizes()) {
        WEFT_ASSIGN(auto result, pieces.take(size));
        results.push_back(std::move(result));
      }
    }
    return reply;
  });
}

rpc::Payload encode(const JobList& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::JobList>();
  auto jobs = out.initJobs(count(message.jobs.size()));
  for (unsigned i = 0; i < jobs.size(); ++i) write(jobs[i], message.jobs[i]);
  out.setNow(message.now.count());
  return payload(builder);
}

Result<JobList> decode_job_list(const rpc::Message& message) {
  return rpc::read_message<wire::JobList>(message.header.view(), "list of jobs", [](auto in) -> Result<JobList> {
    JobList list;
    for (auto job : in.getJobs()) {
      WEFT_ASSIGN(auto status, read(job));
      list.jobs.push_back(std::move(status));
    }
    list.now = Duration(in.getNow());
    return list;
  });
}

rpc::Payload encode(const KillRequest& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Kill>();
  out.setJob(message.job.value());
  out.setReason(text(message.reason));
  return payload(builder);
}

Result<KillRequest> decode_kill(const rpc::Message& message) {
  return rpc::read_message<wire::Kill>(message.header.view(), "request to kill a job", [](auto in) -> Result<KillRequest> {
    return KillRequest{JobId(in.getJob()), string(in.getReason())};
  });
}

rpc::Payload encode(const LogsWanted& message) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::LogWanted>();
  out.setJob(message.job.value());
  out.setMaxBytes(message.max_bytes);
  return payload(builder);
}

Result<LogsWanted> decode_logs_wanted(const rpc::Message& message) {
  return rpc::read_message<wire::LogWanted>(message.header.view(), "request for logs", [](auto in) -> Result<LogsWanted> {
    return LogsWanted{JobId(in.getJob()), in.getMaxBytes()};
  });
}

rpc::Payload encode(std::vector<JobLog> logs) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Logs>().initLogs(count(logs.size()));
  std::vector<SharedBytes> bulk;
  for (unsigned i = 0; i < out.size(); ++i) {
    out[i].setNode(text(logs[i].node));
    out[i].setError(text(logs[i].error));
    out[i].setBytes(logs[i].text.size());
    if (!logs[i].text.empty()) bulk.emplace_back(std::move(logs[i].text));
  }
  return {rpc::flatten(builder), std::move(bulk), {}};
}

Result<std::vector<JobLog>> decode_logs(const rpc::Message& message) {
  return rpc::read_message<wire::Logs>(message.header.view(), "logs of a job", [&](auto in) -> Result<std::vector<JobLog>> {
    std::vector<JobLog> logs;
    rpc::BulkReader pieces(message.bulk.view());
    for (auto log : in.getLogs()) {
      WEFT_ASSIGN(auto bytes, pieces.take(log.getBytes()));
      logs.push_back({string(log.getNode()), string(log.getError()), std::move(bytes)});
    }
    return logs;
  });
}

rpc::Payload encode(const std::vector<NodeStatus>& nodes) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::NodeList>().initNodes(count(nodes.size()));
  for (unsigned i = 0; i < out.size(); ++i) {
    const NodeStatus& node = nodes[i];
    out[i].setId(node.id.value());
    out[i].setName(text(node.name));
    out[i].setHost(text(node.host));
    out[i].setRack(text(node.rack));
    out[i].setAddress(text(node.address));
    out[i].setSlots(node.slots);
    out[i].setRunning(node.running);
    out[i].setExcluded(node.excluded);
    out[i].setHeard(node.heard.count());
    out[i].setCapacity(text(to_string(node.capacity)));
    out[i].setUsed(text(to_string(node.used)));
    auto attributes = out[i].initAttributes(count(node.attributes.size()));
    unsigned k = 0;
    for (const auto& [name, value] : node.attributes) {
      attributes[k].setName(text(name));
      attributes[k++].setValue(text(value));
    }
    out[i].setExcludedFor(node.excluded_for.count());
    out[i].setClockAhead(node.clock_ahead.count());
    out[i].setLost(node.lost);
    out[i].setStoreMemoryBytes(node.store_memory_bytes);
    out[i].setStoreDiskBytes(node.store_disk_bytes);
    out[i].setAheadHeldBytes(node.ahead_held_bytes);
    out[i].setAheadFileBytes(node.ahead_file_bytes);
    shuffle::write_prefetch_stats(out[i].initAhead(), node.ahead);
    out[i].setDead(node.dead);
    out[i].setCause(text(node.cause));
  }
  return payload(builder);
}

Result<std::vector<NodeStatus>> decode_nodes(const rpc::Message& message) {
  return rpc::read_message<wire::NodeList>(message.header.view(), "list of nodes", [](auto in) -> Result<std::vector<NodeStatus>> {
    std::vector<NodeStatus> nodes;
    for (auto node : in.getNodes()) {
      nodes.push_back({NodeId(node.getId()), string(node.getName()), string(node.getHost()), string(node.getRack()),
                       string(node.getAddress()), node.getSlots(), node.getRunning(), node.getExcluded(),
                       Duration(node.getHeard())});
      NodeStatus& made = nodes.back();
      WEFT_ASSIGN(made.capacity, schedulers::parse_resources(string(node.getCapacity())));
      WEFT_ASSIGN(made.used, schedulers::parse_resources(string(node.getUsed())));
      for (auto attribute : node.getAttributes()) made.attributes[string(attribute.getName())] = string(attribute.getValue());
      made.excluded_for = Duration(node.getExcludedFor());
      made.clock_ahead = Duration(node.getClockAhead());
      made.lost = node.getLost();
      made.store_memory_bytes = node.getStoreMemoryBytes();
      made.store_disk_bytes = node.getStoreDiskBytes();
      made.ahead_held_bytes = node.getAheadHeldBytes();
      made.ahead_file_bytes = node.getAheadFileBytes();
      made.ahead = shuffle::read_prefetch_stats(node.getAhead());
      made.dead = node.getDead();
      made.cause = string(node.getCause());
    }
    return nodes;
  });
}

}  // namespace weft::client
