#include "engine/simulator/experiment/availability_file.hpp"

#include "base/text.hpp"
#include "engine/simulator/workloads/lines.hpp"

namespace weft::simulator::experiment {

namespace {

using workloads::Lines;

/// Seconds, or with a unit.
Result<Time> read_time(const Lines& lines, std::string_view field) {
  if (parse_number<double>(field)) return workloads::seconds(lines, field, "from");
  auto time = parse_duration(field);
  if (!time) return fail(lines.error("from: " + time.error().to_string()));
  return *time;
}

}  // namespace

Result<std::vector<Availability>> read_availability_file(const std::string& path) {
  WEFT_ASSIGN(Lines lines, Lines::open(path));
  std::vector<Availability> steps;
  WEFT_TRY(lines.for_each([&]() -> Result<void> {
    const std::string_view line = trim(lines.line());
    if (line.empty() || line.starts_with('#') || line.starts_with("from,")) return {};
    const auto fields = split(line, ',');
    if (fields.size() < 2 || fields.size() > 3) return fail(lines.error("'from,part' or 'from,part,nodes' was expected"));
    Availability& step = steps.emplace_back();
    WEFT_ASSIGN(step.from, read_time(lines, trim(fields[0])));
    WEFT_ASSIGN(step.part, workloads::real(lines, trim(fields[1]), "part", 1));
    if (fields.size() == 3 && !trim(fields[2]).empty()) {
      WEFT_ASSIGN(const std::uint64_t nodes, workloads::whole(lines, trim(fields[2]), "nodes", UINT32_MAX));
      step.nodes = static_cast<std::uint32_t>(nodes);
    }
    if (steps.size() > 1 && step.from < steps[steps.size() - 2].from) return fail(lines.error("the times must ascend"));
    return {};
  }));
  if (steps.empty()) return fail(Code::corrupt, path + ": no steps");
  return steps;
}

}  // namespace weft::simulator::experiment
