#include "runtime/protocol/wire.hpp"
#include "runtime/protocol/worker.capnp.h"
#include "runtime/protocol/worker.hpp"

namespace weft::protocol {
namespace {

void write(wire::NodeAddress::Builder out, const NodeAddress& node) {
  out.setNode(node.node.value());
  out.setName(text(node.name));
  out.setAddress(text(node.address));
}
NodeAddress read(wire::NodeAddress::Reader in) { return {NodeId(in.getNode()), string(in.getName()), string(in.getAddress())}; }

void write_numbers(capnp::List<std::uint32_t>::Builder out, const std::vector<std::uint32_t>& numbers) {
  for (unsigned i = 0; i < out.size(); ++i) out.set(i, numbers[i]);
}

std::vector<std::uint32_t> numbers(capnp::List<std::uint32_t>::Reader in) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(in.size());
  for (const std::uint32_t number : in) numbers.push_back(number);
  return numbers;
}

/// One overload per command; bulk bytes go to `bulk`.
struct CommandWriter {
  wire::Command::Builder out;
  std::vector<SharedBytes>& bulk;

  void operator()(const JobSetup& setup) {
    auto to = out.initSetup();
    to.setJob(setup.job.value());
    to.setName(text(setup.name));
    to.setProgram(text(setup.program));
    write_text(to.initArguments(static_cast<unsigned>(setup.arguments.size())), setup.arguments);
    to.setDirectory(text(setup.directory));
    to.setMemoryBytes(setup.memory_bytes);
    to.setTaskCpu(setup.task_cpu);
    to.setUser(text(setup.user));
    to.setSameBinary(setup.same_binary);
    to.setBinaryHigh(setup.binary.high);
    to.setBinaryLow(setup.binary.low);
    to.setPull(setup.shuffle_mode == shuffle::Mode::pull);
  }
  void operator()(const ActionValue& value) {
    auto to = out.initValue();
    to.setJob(value.job.value());
    to.setAction(value.action.value());
    to.setBytes(value.bytes.bytes.size());
    if (!value.bytes.bytes.empty()) bulk.push_back(value.bytes);
  }
  void operator()(const Launch& launch) { protocol::write(out.initLaunch(), launch); }
  void operator()(const Kill& kill) {
    auto to = out.initKill();
    protocol::write(to.initAttempt(), kill.attempt);
    to.setReason(text(kill.reason));
  }
  void operator()(const Locations& locations) {
    auto to = out.initLocations();
    to.setLocationsJob(locations.job.value());
    to.setShuffle(locations.shuffle.value());
    auto outputs = to.initOutputs(static_cast<unsigned>(locations.outputs.size()));
    for (unsigned i = 0; i < outputs.size(); ++i) protocol::write(outputs[i], locations.outputs[i]);
    auto nodes = to.initNodes(static_cast<unsigned>(locations.nodes.size()));
    for (unsigned i = 0; i < nodes.size(); ++i) write(nodes[i], locations.nodes[i]);
  }
  void operator()(const Prefetch& prefetch) {
    auto to = out.initPrefetch();
    to.setJob(prefetch.job.value());
    to.setShuffle(prefetch.shuffle.value());
    if (prefetch.partitions) {
      to.setPlaces(true);
      write_numbers(to.initPartitions(static_cast<unsigned>(prefetch.partitions->size())), *prefetch.partitions);
    }
    if (prefetch.held_back) {
      to.setHolds(true);
      write_numbers(to.initHeldBack(static_cast<unsigned>(prefetch.held_back->size())), *prefetch.held_back);
    }
    write_list(to.initOutputs(static_cast<unsigned>(prefetch.outputs.size())), prefetch.outputs);
    auto nodes = to.initNodes(static_cast<unsigned>(prefetch.nodes.size()));
    for (unsigned i = 0; i < nodes.size(); ++i) write(nodes[i], prefetch.nodes[i]);
    to.setBlockBytes(prefetch.block_bytes);
    to.setComplete(prefetch.complete);
  }
  void operator()(const ReleaseShuffle& release) {
    auto to = out.initReleaseShuffle();
    to.setReleasedJob(release.job.value());
    to.setReleasedShuffle(release.shuffle.value());
  }
  void operator()(const ReleaseJob& release) { out.setReleaseJob(release.job.value()); }
  void operator()(const NodeLost& lost) {
    auto to = out.initLost();
    to.setLostNode(lost.node.value());
    to.setAddress(text(lost.address));
    to.setWhy(text(lost.reason));
  }
  void operator()(const CopyOutput& copy) {
    auto to = out.initCopy();
    to.setJob(copy.job.value());
    to.setShuffle(copy.shuffle.value());
    to.setMap(copy.map);
    to.setAttempt(copy.attempt);
    write(to.initSource(), copy.source);
  }
};

JobSetup read(wire::JobSetup::Reader in) {
  JobSetup setup;
  setup.job = JobId(in.getJob());
  setup.name = string(in.getName());
  setup.program = string(in.getProgram());
  for (auto argument : in.getArguments()) setup.arguments.push_back(string(argument));
  setup.directory = string(in.getDirectory());
  setup.memory_bytes = in.getMemoryBytes();
  setup.task_cpu = in.getTaskCpu();
  setup.user = string(in.getUser());
  setup.same_binary = in.getSameBinary();
  setup.binary = {in.getBinaryHigh(), in.getBinaryLow()};
  setup.shuffle_mode = in.getPull() ? shuffle::Mode::pull : shuffle::Mode::memory;
  return setup;
}

Locations read(wire::Command::Locations::Reader in) {
  Locations locations{JobId(in.getLocationsJob()), ShuffleId(in.getShuffle()), {}, {}};
  for (auto output : in.getOutputs()) locations.outputs.push_back(protocol::read(output));
  for (auto node : in.getNodes()) locations.nodes.push_back(read(node));
  return locations;
}

Prefetch read(wire::Prefetch::Reader in) {
  Prefetch prefetch{JobId(in.getJob()), ShuffleId(in.getShuffle()), {}, read_list(in.getOutputs()), {}, in.getBlockBytes(),
                    in.getComplete()};
  if (in.getPlaces()) prefetch.partitions = numbers(in.getPartitions());
  if (in.getHolds()) prefetch.held_back = numbers(in.getHeldBack());
  for (auto node : in.getNodes()) prefetch.nodes.push_back(read(node));
  return prefetch;
}

Result<Command> read(wire::Command::Reader in, BulkReader& bulk) {
  switch (in.which()) {
    case wire::Command::SETUP:
      return Command(read(in.getSetup()));
    case wire::Command::VALUE: {
      auto value = in.getValue();
      WEFT_ASSIGN(Buffer bytes, bulk.take(value.getBytes()));
      return Command(ActionValue{JobId(value.getJob()), ActionId(value.getAction()), SharedBytes(std::move(bytes))});
    }
    case wire::Command::LAUNCH:
      return Command(protocol::read(in.getLaunch()));
    case wire::Command::KILL:
      return Command(Kill{protocol::read(in.getKill().getAttempt()), string(in.getKill().getReason())});
    case wire::Command::LOCATIONS:
      return Command(read(in.getLocations()));
    case wire::Command::RELEASE_SHUFFLE: {
      auto release = in.getReleaseShuffle();
      return Command(ReleaseShuffle{JobId(release.getReleasedJob()), ShuffleId(release.getReleasedShuffle())});
    }
    case wire::Command::PREFETCH:
      return Command(read(in.getPrefetch()));
    case wire::Command::COPY: {
      auto copy = in.getCopy();
      return Command(
          CopyOutput{JobId(copy.getJob()), ShuffleId(copy.getShuffle()), copy.getMap(), copy.getAttempt(), read(copy.getSource())});
    }
    case wire::Command::RELEASE_JOB:
      return Command(ReleaseJob{JobId(in.getReleaseJob())});
    case wire::Command::LOST: {
      auto lost = in.getLost();
      return Command(NodeLost{NodeId(lost.getLostNode()), string(lost.getAddress()), string(lost.getWhy())});
    }
  }
  return fail(Code::corrupt, "unknown command");
}

}  // namespace

rpc::Payload encode(const std::vector<Command>& commands) {
  capnp::MallocMessageBuilder message;
  std::vector<SharedBytes> bulk;
  auto list = message.initRoot<wire::Commands>().initCommands(static_cast<unsigned>(commands.size()));
  for (unsigned i = 0; i < list.size(); ++i) std::visit(CommandWriter{list[i], bulk}, commands[i]);
  return {rpc::flatten(message), std::move(bulk), {}};
}

Result<std::vector<Command>> decode_commands(const rpc::Message& message) {
  return rpc::read_message<wire::Commands>(message.header.view(), "commands", [&](auto in) -> Result<std::vector<Command>> {
    BulkReader bulk(message.bulk.view());
    std::vector<Command> commands;
    for (auto item : in.getCommands()) {
      WEFT_ASSIGN(Command command, read(item, bulk));
      commands.push_back(std::move(command));
    }
    return commands;
  });
}

}  // namespace weft::protocol
