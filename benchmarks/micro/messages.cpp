// What it costs to write and to read the messages that there is one of for every task, and those that go to every node.
#include <memory>
#include <utility>

#include <benchmark/benchmark.h>

#include "runtime/protocol/worker.hpp"

namespace weft::micro {
namespace {

namespace protocol = runtime::protocol;

rpc::Message received(const rpc::Payload& payload) {
  rpc::Message message;
  message.header = Buffer::copy_of(payload.header.view());
  std::string bulk;
  for (const SharedBytes& piece : payload.bulk) bulk += as_chars(piece.bytes);
  message.bulk = Buffer::copy_of(as_bytes(bulk));
  return message;
}

AttemptId attempt_of(std::uint32_t index) { return {{JobId(7), StageId(2), index}, 0}; }

protocol::Launch launch_of(std::uint32_t index, std::uint32_t inputs) {
  protocol::Launch launch{attempt_of(index), {}, {}, "map lines", 0};
  launch.spec.partition = index;
  launch.spec.output_partitions = 8;
  launch.spec.fingerprint = 0x0123456789abcdef;
  if (inputs == 0)
    launch.spec.splits = {
        {"/data/input/part-00017", 268435456, 268435456, {"node-3", "node-5", "node-9"}, {}, {1u << 30, 1, 2, 3}}};
  for (std::uint32_t i = 0; i < inputs; ++i) launch.spec.inputs.push_back({ShuffleId(i), {}, 1u << 20, 1});
  return launch;
}

/// Of a task with that many partitions of output.
protocol::Event event_of(std::uint32_t index, std::size_t partitions) {
  protocol::Event event;
  event.attempt = attempt_of(index);
  event.output.resize(partitions, {40'000, 700});
  if (partitions == 0) event.result = Buffer::copy_of(as_bytes("12345678"));
  event.counters = {{"words", 12'345}};
  event.input_bytes = 1u << 28;
  event.input_records = 1u << 20;
  event.usage.run = std::chrono::milliseconds(120);
  event.usage.cpu = std::chrono::milliseconds(110);
  event.usage.peak_memory = 1u << 26;
  return event;
}

template <class M, class Make>
void round_trip(benchmark::State& state, Make make) {
  std::size_t bytes = 0;
  for (auto iteration : state) {
    const rpc::Payload sent = protocol::encode(make());
    bytes = sent.header.size();
    benchmark::DoNotOptimize(protocol::decode<M>(received(sent)));
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}

/// Argument: shuffles that the task reads; none: it reads a file.
void message_launch(benchmark::State& state) {
  const auto inputs = static_cast<std::uint32_t>(state.range(0));
  round_trip<protocol::Launches>(state, [&] { return protocol::Launches{{launch_of(17, inputs)}}; });
}
BENCHMARK(message_launch)->Arg(0)->Arg(1);

/// As the master sends them. Argument: launches in one message.
void message_commands(benchmark::State& state) {
  round_trip<protocol::Commands>(state, [&] {
    protocol::Commands commands;
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(state.range(0)); ++i) commands.commands.emplace_back(launch_of(i, 1));
    return commands;
  });
}
BENCHMARK(message_commands)->Arg(1)->Arg(100);

/// Argument: partitions of the task's output; none: it has a result.
void message_event(benchmark::State& state) {
  const auto partitions = static_cast<std::size_t>(state.range(0));
  round_trip<protocol::Events>(state, [&] {
    protocol::Events events;
    events.events.push_back(event_of(17, partitions));
    return events;
  });
}
BENCHMARK(message_event)->Arg(0)->Arg(8)->Arg(1000);

/// The table of a shuffle's outputs, as it is written for each node with readers. Arguments: maps, and for how many partitions each
/// of them wrote; none: that is not known.
void message_locations(benchmark::State& state) {
  std::vector<shuffle::MapOutput> outputs;
  std::vector<shuffle::Written> written;
  for (std::uint32_t map = 0; map < static_cast<std::uint32_t>(state.range(0)); ++map) {
    outputs.push_back({map, 0, NodeId(map % 100)});
    if (state.range(1) != 0) written.emplace_back(std::vector<std::uint32_t>(static_cast<std::size_t>(state.range(1)), map));
  }
  protocol::ShuffleLocations locations{NodeId(1), JobId(7), ShuffleId(1), {}};
  locations.outputs = std::make_shared<const std::vector<shuffle::MapOutput>>(std::move(outputs));
  locations.written = std::make_shared<const std::vector<shuffle::Written>>(std::move(written));
  std::size_t bytes = 0;
  for (auto iteration : state) {
    protocol::Commands commands;
    commands.commands.emplace_back(locations);
    bytes = protocol::encode(std::move(commands)).header.size();
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(message_locations)->Args({10'000, 0})->Args({10'000, 4})->Args({1'000, 200})->Unit(benchmark::kMicrosecond);

void message_heartbeat(benchmark::State& state) {
  protocol::Heartbeat heartbeat;
  heartbeat.measured.racks = {{"rack-1", 1e6, 2e6}};
  heartbeat.clock = std::chrono::seconds(1'700'000'000);
  round_trip<protocol::Heartbeat>(state, [&] { return heartbeat; });
}
BENCHMARK(message_heartbeat);

}  // namespace
}  // namespace weft::micro
