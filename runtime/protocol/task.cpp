#include "runtime/protocol/task.hpp"

#include "runtime/protocol/wire.hpp"

namespace weft::protocol {

void write(wire::Attempt::Builder out, const AttemptId& attempt) {
  out.setJob(attempt.task.job.value());
  out.setStage(attempt.task.stage.value());
  out.setIndex(attempt.task.index);
  out.setAttempt(attempt.attempt);
}

AttemptId read(wire::Attempt::Reader in) {
  return {TaskId{JobId(in.getJob()), StageId(in.getStage()), in.getIndex()}, in.getAttempt()};
}

void write(wire::Launch::Builder out, const Launch& launch) {
  write(out.initAttempt(), launch.attempt);
  out.setBranch(launch.branch);
  out.setPartition(launch.partition);
  out.setOutputPartitions(launch.output_partitions);
  out.setFingerprint(launch.fingerprint);
  out.setTimeoutNanoseconds(launch.timeout.count());
  out.setStageName(text(launch.stage_name));
  out.setSegmentMemory(launch.segment_memory);
  auto inputs = out.initInputs(static_cast<unsigned>(launch.inputs.size()));
  for (unsigned i = 0; i < inputs.size(); ++i) {
    const shuffle::InputSlice& slice = launch.inputs[i];
    inputs[i].setShuffle(slice.shuffle.value());
    inputs[i].setFirstMap(slice.maps.first);
    inputs[i].setEndMap(slice.maps.end);
    inputs[i].setBytes(slice.bytes);
    inputs[i].setPartitions(slice.partitions);
  }
  auto splits = out.initSplits(static_cast<unsigned>(launch.splits.size()));
  for (unsigned i = 0; i < splits.size(); ++i) {
    const storage::Split& split = launch.splits[i];
    splits[i].setPath(text(split.path));
    splits[i].setOffset(split.offset);
    splits[i].setLength(split.length);
    write_text(splits[i].initHosts(static_cast<unsigned>(split.hosts.size())), split.hosts);
  }
}

Launch read(wire::Launch::Reader in) {
  Launch launch;
  launch.attempt = read(in.getAttempt());
  launch.branch = in.getBranch();
  launch.partition = in.getPartition();
  launch.output_partitions = in.getOutputPartitions();
  launch.fingerprint = in.getFingerprint();
  launch.timeout = Duration(in.getTimeoutNanoseconds());
  launch.stage_name = string(in.getStageName());
  launch.segment_memory = in.getSegmentMemory();
  for (auto slice : in.getInputs())
    launch.inputs.push_back(
        {ShuffleId(slice.getShuffle()), {slice.getFirstMap(), slice.getEndMap()}, slice.getBytes(), slice.getPartitions()});
  for (auto split : in.getSplits()) {
    storage::Split& made =
        launch.splits.emplace_back(storage::Split{string(split.getPath()), split.getOffset(), split.getLength(), {}});
    for (auto host : split.getHosts()) made.hosts.push_back(string(host));
  }
  return launch;
}

rpc::Payload encode(const Launches& launches) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<wire::Launches>();
  write_list(root.initLaunches(static_cast<unsigned>(launches.launches.size())), launches.launches);
  return payload(message);
}

Result<Launches> decode_launches(const rpc::Message& message) {
  return rpc::read_message<wire::Launches>(message.header.view(), "task launch",
                                           [](auto in) -> Result<Launches> { return Launches{read_list(in.getLaunches())}; });
}

namespace {

void write(wire::Event::Builder out, const Event& event) {
  protocol::write(out.initAttempt(), event.attempt);
  out.setKind(static_cast<std::uint8_t>(event.kind));
  out.setMessage(text(event.message));
  if (!event.output.empty()) out.setOutput(rpc::data_reader(shuffle::pack(event.output).view()));
  out.setResultBytes(event.result.size());
  auto counters = out.initCounters(static_cast<unsigned>(event.counters.size()));
  unsigned i = 0;
  for (const auto& [name, value] : event.counters) {
    counters[i].setName(text(name));
    counters[i++].setValue(value);
  }
  out.setInputBytes(event.input_bytes);
  out.setInputRecords(event.input_records);
  out.setShuffleReadNanoseconds(event.shuffle_times.read.count());
  out.setShuffleWriteNanoseconds(event.shuffle_times.write.count());
  auto spread = out.initSpread(static_cast<unsigned>(event.spread.size()));
  for (unsigned at = 0; at < spread.size(); ++at) spread.set(at, event.spread[at]);
  if (!event.fetch) return;
  out.setHasFetch(true);
  out.setFetchShuffle(event.fetch->shuffle.value());
  out.setFetchMap(event.fetch->map);
  out.setFetchMapAttempt(event.fetch->map_attempt);
  out.setFetchNode(event.fetch->node.value());
}

Result<Event> read(wire::Event::Reader in, BulkReader& bulk) {
  Event event;
  event.attempt = protocol::read(in.getAttempt());
  if (in.getKind() > static_cast<std::uint8_t>(EventKind::killed)) return fail(Code::corrupt, "unknown kind of task event");
  event.kind = static_cast<EventKind>(in.getKind());
  event.message = string(in.getMessage());
  WEFT_ASSIGN(event.output, shuffle::unpack_sizes(rpc::data_view(in.getOutput())));
  WEFT_ASSIGN(event.result, bulk.take(in.getResultBytes()));
  for (auto counter : in.getCounters()) event.counters[string(counter.getName())] = counter.getValue();
  event.input_bytes = in.getInputBytes();
  event.input_records = in.getInputRecords();
  event.shuffle_times = {Duration(in.getShuffleReadNanoseconds()), Duration(in.getShuffleWriteNanoseconds())};
  for (const std::uint32_t count : in.getSpread()) event.spread.push_back(count);
  if (in.getHasFetch())
    event.fetch = shuffle::FetchFailure{ShuffleId(in.getFetchShuffle()), in.getFetchMap(), in.getFetchMapAttempt(),
                                        NodeId(in.getFetchNode())};
  return event;
}

}  // namespace

rpc::Payload encode(std::vector<Event> events) {
  capnp::MallocMessageBuilder message;
  auto list = message.initRoot<wire::Events>().initEvents(static_cast<unsigned>(events.size()));
  std::vector<SharedBytes> bulk;
  for (unsigned i = 0; i < list.size(); ++i) {
    write(list[i], events[i]);
    if (!events[i].result.empty()) bulk.emplace_back(std::move(events[i].result));
  }
  return {rpc::flatten(message), std::move(bulk), {}};
}

Result<std::vector<Event>> decode_events(const rpc::Message& message) {
  return rpc::read_message<wire::Events>(message.header.view(), "task events", [&](auto in) -> Result<std::vector<Event>> {
    BulkReader bulk(message.bulk.view());
    std::vector<Event> events;
    for (auto item : in.getEvents()) {
      WEFT_ASSIGN(Event event, read(item, bulk));
      events.push_back(std::move(event));
    }
    return events;
  });
}

}  // namespace weft::protocol
