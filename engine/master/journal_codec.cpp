// Events as Cap'n Proto. Every field of every event travels: replay must be exact.
#include <string>
#include <utility>

#include "engine/master/journal.capnp.h"
#include "engine/master/journal.hpp"
#include "engine/plan/capnp_bytes.hpp"
#include "shuffle/partition_sizes.hpp"

namespace weft::master {

namespace {

std::string text_of(capnp::Text::Reader text) { return {text.begin(), text.size()}; }
unsigned length(std::size_t size) { return static_cast<unsigned>(size); }
capnp::Data::Reader data(const Buffer& buffer) { return {reinterpret_cast<const kj::byte*>(buffer.data()), buffer.size()}; }
ByteView bytes_of(capnp::Data::Reader in) { return {reinterpret_cast<const std::byte*>(in.begin()), in.size()}; }

void write(wire::Resources::Builder out, const sched::Resources& resources) { plan::detail::write_resources(out, resources); }
sched::Resources read(wire::Resources::Reader in) { return plan::detail::read_resources(in); }

void write(wire::Attempt::Builder out, const AttemptId& id) {
  out.setJob(id.task.job.value());
  out.setStage(id.task.stage.value());
  out.setIndex(id.task.index);
  out.setAttempt(id.attempt);
}
AttemptId read(wire::Attempt::Reader in) {
  return {TaskId{JobId(in.getJob()), StageId(in.getStage()), in.getIndex()}, in.getAttempt()};
}

template <class List>
void write_steps(List out, const std::vector<sched::CapacityStep>& steps) {
  for (unsigned i = 0; i < out.size(); ++i) {
    out[i].setFrom(steps[i].from.count());
    write(out[i].initAvailable(), steps[i].available);
  }
}
std::vector<sched::CapacityStep> read_steps(capnp::List<wire::CapacityStep>::Reader in) {
  std::vector<sched::CapacityStep> steps;
  for (auto step : in) steps.push_back({Time(step.getFrom()), read(step.getAvailable())});
  return steps;
}

void write(wire::Hints::Builder out, const sched::JobHints& hints) {
  out.setWeight(hints.weight);
  out.setRelativeReduceCost(hints.relative_reduce_cost);
  out.setShuffleRatio(hints.shuffle_ratio);
  if (hints.map_profile) write(out.initMapProfile(), *hints.map_profile);
  if (hints.shuffle_profile) write(out.initShuffleProfile(), *hints.shuffle_profile);
  if (hints.reduce_profile) write(out.initReduceProfile(), *hints.reduce_profile);
}
sched::JobHints read(wire::Hints::Reader in) {
  sched::JobHints hints;
  hints.weight = in.getWeight();
  hints.relative_reduce_cost = in.getRelativeReduceCost();
  hints.shuffle_ratio = in.getShuffleRatio();
  if (in.hasMapProfile()) hints.map_profile = read(in.getMapProfile());
  if (in.hasShuffleProfile()) hints.shuffle_profile = read(in.getShuffleProfile());
  if (in.hasReduceProfile()) hints.reduce_profile = read(in.getReduceProfile());
  return hints;
}

void write(wire::Record::Builder root, const JobSubmitted& event) {
  auto out = root.initJobSubmitted();
  out.setJob(event.job.value());
  out.setName(event.name);
  out.setUser(event.user);
  out.setPool(event.pool);
  out.setPriority(event.priority);
  out.setHasDeadline(event.deadline.has_value());
  out.setDeadline(event.deadline.value_or(Time(0)).count());
  write(out.initDemand(), event.demand);
  out.setMaxAttempts(event.max_attempts);
  out.setShuffleMode(static_cast<std::uint8_t>(event.shuffle_mode));
  if (event.shuffle_replicas != 1) out.setShuffleReplicas(static_cast<std::uint8_t>(event.shuffle_replicas));
  out.setTaskTimeout(event.task_timeout.count());
  write(out.initHints(), event.hints);
}
JobSubmitted read(wire::JobSubmitted::Reader in) {
  JobSubmitted event;
  event.job = JobId(in.getJob());
  event.name = text_of(in.getName());
  event.user = text_of(in.getUser());
  event.pool = text_of(in.getPool());
  event.priority = in.getPriority();
  if (in.getHasDeadline()) event.deadline = Time(in.getDeadline());
  event.demand = read(in.getDemand());
  event.max_attempts = in.getMaxAttempts();
  event.shuffle_mode = in.getShuffleMode() == 0 ? shuffle::Mode::memory : shuffle::Mode::pull;
  if (in.getShuffleReplicas() != 0) event.shuffle_replicas = in.getShuffleReplicas();
  event.task_timeout = Time(in.getTaskTimeout());
  event.hints = read(in.getHints());
  return event;
}

void write(wire::Record::Builder root, const PlanExtended& event) {
  auto out = root.initPlanExtended();
  out.setJob(event.job.value());
  out.setPart(data(plan::encode(event.part)));
}
void write(wire::Record::Builder root, const JobClosed& event) { root.setJobClosed(event.job.value()); }
void write(wire::Record::Builder root, const JobKilled& event) {
  auto out = root.initJobKilled();
  out.setJob(event.job.value());
  out.setReason(event.reason);
}

void write(wire::Record::Builder root, const WorkerJoined& event) {
  auto out = root.initWorkerJoined();
  out.setNode(event.node.value());
  out.setName(event.name);
  out.setHost(event.host);
  out.setRack(event.rack);
  out.setDataAddress(event.data_address);
  write(out.initCapacity(), event.capacity);
  auto attributes = out.initAttributes(length(event.attributes.size()));
  unsigned i = 0;
  for (const auto& [key, value] : event.attributes) {
    attributes[i].setKey(key);
    attributes[i++].setValue(value);
  }
  write_steps(out.initForecast(length(event.forecast.size())), event.forecast);
  out.setAheadBytes(event.ahead_bytes);
}
WorkerJoined read(wire::WorkerJoined::Reader in) {
  WorkerJoined event;
  event.node = NodeId(in.getNode());
  event.name = text_of(in.getName());
  event.host = text_of(in.getHost());
  event.rack = text_of(in.getRack());
  event.data_address = text_of(in.getDataAddress());
  event.capacity = read(in.getCapacity());
  for (auto attribute : in.getAttributes()) event.attributes[text_of(attribute.getKey())] = text_of(attribute.getValue());
  event.forecast = read_steps(in.getForecast());
  event.ahead_bytes = in.getAheadBytes();
  return event;
}

void write(wire::Record::Builder root, const WorkerHeartbeat& event) {
  auto out = root.initWorkerHeartbeat();
  out.setNode(event.node.value());
  write(out.initUsed(), event.used);
  out.setCrossRackRate(event.cross_rack_rate);
  write_steps(out.initForecast(length(event.forecast.size())), event.forecast);
  if (event.capacity) write(out.initCapacity(), *event.capacity);
}
WorkerHeartbeat read(wire::WorkerHeartbeat::Reader in) {
  WorkerHeartbeat event{NodeId(in.getNode()), read(in.getUsed()), in.getCrossRackRate(), read_steps(in.getForecast()), {}};
  if (in.hasCapacity()) event.capacity = read(in.getCapacity());
  return event;
}

void write(wire::Record::Builder root, const WorkerLost& event) {
  auto out = root.initWorkerLost();
  out.setNode(event.node.value());
  out.setReason(event.reason);
}
void write(wire::Record::Builder root, const TaskStarted& event) {
  auto out = root.initTaskStarted();
  write(out.initAttempt(), event.attempt);
  out.setNode(event.node.value());
}

void write(wire::Record::Builder root, const TaskFinished& event) {
  auto out = root.initTaskFinished();
  write(out.initAttempt(), event.attempt);
  out.setNode(event.node.value());
  const Encoder sizes = shuffle::pack(event.output);
  out.setOutput({reinterpret_cast<const kj::byte*>(sizes.view().data()), sizes.size()});
  out.setResult(data(event.result));
  auto counters = out.initCounters(length(event.counters.size()));
  unsigned i = 0;
  for (const auto& [name, value] : event.counters) {
    counters[i].setName(name);
    counters[i++].setValue(value);
  }
  out.setInputBytes(event.input_bytes);
  out.setInputRecords(event.input_records);
  out.setShuffleReadNanoseconds(event.shuffle_times.read.count());
  out.setShuffleWriteNanoseconds(event.shuffle_times.write.count());
  auto spread = out.initSpread(length(event.spread.size()));
  for (unsigned at = 0; at < spread.size(); ++at) spread.set(at, event.spread[at]);
}
/// Journals of earlier versions have two lists.
Result<std::vector<shuffle::PartitionSize>> read_output(wire::TaskFinished::Reader in) {
  if (in.hasOutput()) return shuffle::unpack_sizes(bytes_of(in.getOutput()));
  const auto bytes = in.getOutputBytes();
  const auto records = in.getOutputRecords();
  std::vector<shuffle::PartitionSize> output(bytes.size());
  for (unsigned i = 0; i < bytes.size(); ++i) output[i] = {bytes[i], i < records.size() ? records[i] : 0};
  return output;
}
Result<Event> read(wire::TaskFinished::Reader in) {
  TaskFinished event;
  event.attempt = read(in.getAttempt());
  event.node = NodeId(in.getNode());
  WEFT_ASSIGN(event.output, read_output(in));
  event.result = Buffer::copy_of(bytes_of(in.getResult()));
  for (auto counter : in.getCounters()) event.counters[text_of(counter.getName())] = counter.getValue();
  event.input_bytes = in.getInputBytes();
  event.input_records = in.getInputRecords();
  event.shuffle_times = {Time(in.getShuffleReadNanoseconds()), Time(in.getShuffleWriteNanoseconds())};
  for (const std::uint32_t count : in.getSpread()) event.spread.push_back(count);
  return event;
}

void write(wire::Record::Builder root, const TaskFailed& event) {
  auto out = root.initTaskFailed();
  write(out.initAttempt(), event.attempt);
  out.setNode(event.node.value());
  out.setKind(static_cast<std::uint8_t>(event.kind));
  out.setMessage(event.message);
  if (!event.fetch) return;
  auto fetch = out.initFetch();
  fetch.setShuffle(event.fetch->shuffle.value());
  fetch.setMap(event.fetch->map);
  fetch.setMapAttempt(event.fetch->map_attempt);
  fetch.setNode(event.fetch->node.value());
}
TaskFailed read(wire::TaskFailed::Reader in) {
  TaskFailed event;
  event.attempt = read(in.getAttempt());
  event.node = NodeId(in.getNode());
  event.kind = static_cast<FailureKind>(in.getKind());
  event.message = text_of(in.getMessage());
  if (in.hasFetch()) {
    const auto fetch = in.getFetch();
    event.fetch =
        shuffle::FetchFailure{ShuffleId(fetch.getShuffle()), fetch.getMap(), fetch.getMapAttempt(), NodeId(fetch.getNode())};
  }
  return event;
}

void write(wire::Copy::Builder out, const OutputCopy& copy) {
  out.setNode(copy.node.value());
  out.setJob(copy.job.value());
  out.setShuffle(copy.shuffle.value());
  out.setMap(copy.map);
  out.setAttempt(copy.attempt);
}
OutputCopy read(wire::Copy::Reader in) {
  return {NodeId(in.getNode()), JobId(in.getJob()), ShuffleId(in.getShuffle()), in.getMap(), in.getAttempt()};
}
void write(wire::Record::Builder root, const OutputCopied& event) { write(root.initOutputCopied(), event.copy); }
void write(wire::Record::Builder root, const CopyFailed& event) {
  auto out = root.initCopyFailed();
  write(out.initCopy(), event.copy);
  out.setMessage(event.message);
}

void write(wire::Record::Builder root, const TimerFired& event) { root.setTimerFired(event.timer); }

void write(wire::Record::Builder root, const SchedulerConfigured& event) {
  auto out = root.initSchedulerConfigured();
  out.setSpec(event.spec);
  if (event.speculation) out.setSpeculation(to_string(*event.speculation));
  auto files = out.initFiles(length(event.files.size()));
  unsigned i = 0;
  for (const auto& [name, text] : event.files) {
    files[i].setName(name);
    files[i++].setText(text);
  }
}
Result<Event> read(wire::SchedulerConfigured::Reader in) {
  SchedulerConfigured event;
  event.spec = text_of(in.getSpec());
  for (auto file : in.getFiles()) event.files[text_of(file.getName())] = text_of(file.getText());
  if (in.getSpeculation().size() > 0) {
    WEFT_ASSIGN(event.speculation, parse_speculation(text_of(in.getSpeculation())));
  }
  return event;
}

Result<Event> read_event(wire::Record::Reader in) {
  using Which = wire::Record::Which;
  switch (in.which()) {
    case Which::JOB_SUBMITTED:
      return read(in.getJobSubmitted());
    case Which::PLAN_EXTENDED: {
      WEFT_ASSIGN(auto part, plan::decode_part(bytes_of(in.getPlanExtended().getPart())));
      return PlanExtended{JobId(in.getPlanExtended().getJob()), std::move(part)};
    }
    case Which::JOB_CLOSED:
      return JobClosed{JobId(in.getJobClosed())};
    case Which::JOB_KILLED:
      return JobKilled{JobId(in.getJobKilled().getJob()), text_of(in.getJobKilled().getReason())};
    case Which::WORKER_JOINED:
      return read(in.getWorkerJoined());
    case Which::WORKER_HEARTBEAT:
      return read(in.getWorkerHeartbeat());
    case Which::WORKER_LOST:
      return WorkerLost{NodeId(in.getWorkerLost().getNode()), text_of(in.getWorkerLost().getReason())};
    case Which::TASK_STARTED:
      return TaskStarted{read(in.getTaskStarted().getAttempt()), NodeId(in.getTaskStarted().getNode())};
    case Which::TASK_FINISHED:
      return read(in.getTaskFinished());
    case Which::TASK_FAILED:
      return read(in.getTaskFailed());
    case Which::TIMER_FIRED:
      return TimerFired{in.getTimerFired()};
    case Which::SCHEDULER_CONFIGURED:
      return read(in.getSchedulerConfigured());
    case Which::OUTPUT_COPIED:
      return OutputCopied{read(in.getOutputCopied())};
    case Which::COPY_FAILED:
      return CopyFailed{read(in.getCopyFailed().getCopy()), text_of(in.getCopyFailed().getMessage())};
    case Which::NONE:
      break;
  }
  return fail(Code::version_mismatch, "an event this version does not know");
}

}  // namespace

Buffer encode_event(Time at, const Event& event) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<wire::Record>();
  root.setAt(at.count());
  std::visit([root](const auto& alternative) { write(root, alternative); }, event);
  return plan::detail::to_buffer(message);
}

Result<JournalEntry> decode_event(ByteView payload) {
  auto decoded = plan::detail::from_bytes<wire::Record>(
      payload, "a journal record", [](wire::Record::Reader in) { return std::pair(Time(in.getAt()), read_event(in)); });
  if (!decoded) return fail(std::move(decoded).error());
  if (!decoded->second) return fail(std::move(decoded->second).error());
  return JournalEntry{decoded->first, std::move(*decoded->second)};
}

}  // namespace weft::master
