#include "engine/simulator/workloads/event_log_line.hpp"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "base/json_reader.hpp"
#include "base/text.hpp"

namespace weft::simulator::workloads {

namespace {

class EventLineParser {
 public:
  explicit EventLineParser(const Lines& lines) : json_(lines.line(), lines.path(), lines.number()) {}

  Result<LoggedEvent> parse() {
    LoggedEvent event;
    bool timed = false;
    WEFT_TRY(json_.object([&](std::string_view key) -> Result<void> {
      timed = timed || key == "time_ns";
      return member(key, event);
    }));
    WEFT_TRY(json_.finish());
    if (!timed || event.event.empty()) return fail(json_.error("an event has time_ns and event"));
    return event;
  }

 private:
  Result<void> member(std::string_view key, LoggedEvent& event) {
    if (key == "time_ns") return time(event.at);
    if (key == "event") return text(event.event);
    if (key == "job") return number(event.job);
    if (key == "stage") return number(event.stage);
    if (key == "task") return number(event.task);
    if (key == "attempt") return number(event.attempt);
    if (key == "partitions") return number(event.partitions);
    if (key == "node") return number(event.node);
    if (key == "name") return text(event.name);
    if (key == "user") return text(event.user);
    if (key == "pool") return text(event.pool);
    if (key == "host") return text(event.host);
    if (key == "rack") return text(event.rack);
    if (key == "scheduler" || key == "spec") return text(event.scheduler);
    if (key == "kind") return text(event.kind);
    if (key == "max_attempts") return number(event.max_attempts);
    if (key == "shuffle_replicas") return number(event.shuffle_replicas);
    if (key == "priority") return number(event.priority);
    if (key == "deadline_ns") return time(event.deadline.emplace());
    if (key == "weight") return real(event.weight);
    if (key == "demand") return resources(event.demand);
    if (key == "capacity") return resources(event.capacity);
    if (key == "attributes") return attributes(event.attributes);
    if (key == "stages") return json_.array([&] { return stage(event.stages.emplace_back()); });
    if (key == "targets") return numbers(event.targets);
    if (key == "input_bytes") return number(event.input_bytes);
    if (key == "partition_bytes") return numbers(event.partition_bytes);
    if (key == "shuffle_read_ns") return time(event.shuffle_read);
    if (key == "shuffle_write_ns") return time(event.shuffle_write);
    if (key == "unix_ns") return time(event.unix_time);
    return json_.skip();
  }

  Result<void> stage(LoggedStage& stage) {
    return json_.object([&](std::string_view key) -> Result<void> {
      if (key == "stage") return number(stage.id);
      if (key == "name") return text(stage.name);
      if (key == "tasks") return number(stage.tasks);
      if (key == "partitions") return number(stage.partitions);
      if (key == "inputs") return numbers(stage.inputs);
      if (key == "demand") return resources(stage.demand);
      if (key == "estimated_task_ns") return time(stage.estimate);
      if (key == "splits") return json_.array([&] { return split(stage.splits.emplace_back()); });
      return json_.skip();
    });
  }

  Result<void> split(LoggedSplit& split) {
    return json_.object([&](std::string_view key) -> Result<void> {
      if (key == "task") return number(split.task);
      if (key == "bytes") return number(split.bytes);
      if (key == "hosts") return json_.array([&] { return text(split.hosts.emplace_back()); });
      return json_.skip();
    });
  }

  Result<void> text(std::string& value) {
    WEFT_ASSIGN(value, json_.text());
    return {};
  }
  Result<void> real(double& value) {
    WEFT_ASSIGN(value, json_.number());
    return {};
  }
  Result<void> time(Time& value) {
    WEFT_ASSIGN(const auto count, json_.integer());
    value = Time(count);
    return {};
  }
  template <class T>
  Result<void> number(T& value) {
    WEFT_ASSIGN(const std::int64_t read, json_.integer());
    constexpr bool kSigned = std::numeric_limits<T>::is_signed;
    constexpr auto kLow = kSigned ? static_cast<std::int64_t>(std::numeric_limits<T>::min()) : 0;
    constexpr auto kHigh =
        sizeof(T) < 8 ? static_cast<std::int64_t>(std::numeric_limits<T>::max()) : std::numeric_limits<std::int64_t>::max();
    if (read < kLow || read > kHigh) return fail(json_.error(fmt::format("{} is out of range", read)));
    value = static_cast<T>(read);
    return {};
  }
  template <class T>
  Result<void> numbers(std::vector<T>& values) {
    return json_.array([&] { return number(values.emplace_back()); });
  }

  Result<void> resources(schedulers::Resources& resources) {
    return json_.object([&](std::string_view key) -> Result<void> {
      const auto kind = std::find_if(schedulers::kResourceKinds.begin(), schedulers::kResourceKinds.end(),
                                     [&](const schedulers::ResourceKind& one) { return one.name == key; });
      if (kind == schedulers::kResourceKinds.end()) return json_.skip();
      return real(resources.*(kind->amount));
    });
  }

  Result<void> attributes(std::map<std::string, std::string>& values) {
    return json_.object([&](std::string_view key) { return text(values[std::string(key)]); });
  }

  JsonReader json_;
};

}  // namespace

Result<LoggedEvent> parse_event(const Lines& lines) { return EventLineParser(lines).parse(); }

}  // namespace weft::simulator::workloads
