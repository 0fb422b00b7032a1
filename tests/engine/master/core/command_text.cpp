#include <fmt/format.h>

#include "tests/engine/master/core/simulated.hpp"

namespace weft::master {

namespace {

std::string text(const plan::TaskSpec& spec) {
  std::string out =
      fmt::format("branch {} partition {} of {} plan {:x}", spec.branch, spec.partition, spec.output_partitions, spec.fingerprint);
  for (const auto& split : spec.splits) out += fmt::format(" {}@{}+{}", split.path, split.offset, split.length);
  for (const auto& input : spec.inputs)
    out += fmt::format(" shuffle {} maps {}-{} bytes {} partitions {}", input.shuffle.value(), input.maps.first, input.maps.end,
                       input.bytes, input.partitions);
  return out;
}

std::string text(const LaunchTask& c) {
  std::string out = fmt::format("launch {} on {}{}: {} ({}) timeout {} because {} reads", to_string(c.attempt), c.node.value(),
                                c.speculative ? " again" : "", c.stage_name, text(c.spec), c.timeout.count(), c.reason);
  for (ShuffleId input : c.inputs) out += fmt::format(" {}", input.value());
  return out;
}
std::string text(const KillTask& c) { return fmt::format("kill {} on {}: {}", to_string(c.attempt), c.node.value(), c.reason); }
std::string text(const ShuffleLocations& c) {
  std::string out = fmt::format("locations of job {} shuffle {} to {}:", c.job.value(), c.shuffle.value(), c.node.value());
  for (const auto& output : *c.outputs) out += fmt::format(" {}.{}@{}", output.map, output.attempt, output.node.value());
  return out;
}
std::string text(const ShuffleExtended& c) {
  return fmt::format("output {}.{}@{} of job {} shuffle {} to {}", c.output.map, c.output.attempt, c.output.node.value(),
                     c.job.value(), c.shuffle.value(), c.node.value());
}
std::string text(const PrefetchShuffle& c) {
  std::string out = fmt::format("prefetch of job {} shuffle {} to {}, blocks of {}{}:", c.job.value(), c.shuffle.value(),
                                c.node.value(), c.block_bytes, c.complete ? ", complete" : "");
  for (const auto& output : c.outputs) out += fmt::format(" {}.{}@{}", output.map, output.attempt, output.node.value());
  if (c.partitions) out += fmt::format(" for {}", fmt::join(*c.partitions, " "));
  if (c.far) out += fmt::format(" with {} from other racks", *c.far);
  if (c.deferred) out += fmt::format(" holding back {}", fmt::join(*c.deferred, " "));
  return out;
}
std::string text(const ReplicateOutput& c) {
  return fmt::format("copy output {}.{}@{} of job {} shuffle {} to {}", c.output.map, c.output.attempt, c.output.node.value(),
                     c.job.value(), c.shuffle.value(), c.node.value());
}
std::string text(const StageRolledBack& c) {
  return fmt::format("roll back {} {} {} {}", c.job.value(), c.stage.value(), c.tasks, c.reason);
}
std::string text(const OutputMoved& c) {
  return fmt::format("output {}.{} of job {} shuffle {} is on {} instead of {}: {}", c.output.map, c.output.attempt, c.job.value(),
                     c.shuffle.value(), c.output.node.value(), c.from.value(), c.reason);
}
std::string text(const ReleaseShuffle& c) {
  return fmt::format("release job {} shuffle {} on {}", c.job.value(), c.shuffle.value(), c.node.value());
}
std::string text(const ReleaseJob& c) { return fmt::format("release job {} on {}", c.job.value(), c.node.value()); }
std::string text(const NodeLost& c) { return fmt::format("node {} is lost: {}", c.node.value(), c.reason); }
std::string text(const ActionFinished& c) {
  std::string out = fmt::format("action {} of job {} finished:", c.action.value(), c.job.value());
  for (const auto& target : c.results) {
    out += " [";
    for (const auto& result : target) out += fmt::format(" {}:{}", result.size(), as_chars(result.view()));
    out += " ]";
  }
  return out;
}
std::string text(const JobFailed& c) {
  return fmt::format("job {} failed ({}): {}", c.job.value(), code_name(c.error.code()), c.error.to_string());
}
std::string text(const JobFinished& c) { return fmt::format("job {} finished", c.job.value()); }
std::string text(const SetTimer& c) { return fmt::format("timer {} at {}", c.timer, c.at.count()); }

}  // namespace

std::string to_text(const Command& command) {
  return std::visit([](const auto& alternative) { return text(alternative); }, command);
}

}  // namespace weft::master
