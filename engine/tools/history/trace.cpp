#include "engine/tools/history/trace.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/core.h>

#include "base/json.hpp"
#include "base/text.hpp"

namespace weft::history {

namespace {

constexpr std::size_t kMostFlows = 10'000;  // into a stage
// Threads below the slots.
constexpr std::uint32_t kPrefetches = 100'000;
constexpr std::uint32_t kEvictions = 100'001;
constexpr std::uint32_t kReplicas = 100'002;  // and further ones: slices of a thread do not overlap

std::string name_of_thread(std::uint32_t thread) {
  if (thread < kPrefetches) return fmt::format("slot {}", thread);
  if (thread == kPrefetches) return "prefetches";
  return thread == kEvictions ? "evictions" : fmt::format("copies {}", thread - kReplicas);
}

class TraceWriter {
 public:
  TraceWriter(const EventHistory& history, const LoggedJob& job) : history_(history), job_(job) {
    for (const auto& stage : job.stages) stages_[stage.id] = &stage;
    std::map<std::uint32_t, std::vector<Time>> ends;  // of the threads of copies, by node
    for (const LoggedReplica& replica : job.replicas) {
      auto& of_node = ends[replica.node];
      const auto free = std::find_if(of_node.begin(), of_node.end(), [&](Time end) { return end <= replica.began; });
      replica_threads_.push_back(kReplicas + static_cast<std::uint32_t>(free - of_node.begin()));
      (free == of_node.end() ? of_node.emplace_back() : *free) = end_of(replica);
    }
  }

  std::string write() {
    json_.begin_object().member("displayTimeUnit", "ms").key("otherData").begin_object();
    json_.member("job", job_.status.id.value())
        .member("name", job_.status.name)
        .member("user", job_.status.user)
        .member("pool", job_.status.pool);
    json_.member("state", name_of(job_.status.state)).end_object().key("traceEvents").begin_array();
    add_names();
    for (const LoggedAttempt& attempt : job_.attempts) add_attempt(attempt);
    for (std::size_t i = 0; i < job_.replicas.size(); ++i) add_replica(job_.replicas[i], replica_threads_[i]);
    for (const Prefetched& part : job_.prefetched) add_prefetched(part);
    for (const auto& stage : job_.stages) add_flows(stage);
    json_.end_array().end_object();
    return json_.text() + "\n";
  }

 private:
  double micros(Time at) const { return static_cast<double>((at - job_.status.submitted).count()) / 1e3; }
  Time end_of(const LoggedAttempt& attempt) const { return attempt.fate == Fate::running ? history_.now() : attempt.ended; }
  Time end_of(const LoggedReplica& replica) const {
    if (replica.ended != Time(0)) return replica.ended;
    return job_.status.state == JobState::running ? history_.now() : std::max(job_.status.ended, replica.began);
  }
  std::string stage_name(std::uint32_t id) const {
    const auto found = stages_.find(id);
    return found == stages_.end() ? fmt::format("stage {}", id) : found->second->name;
  }

  JsonWriter& begin(const char* phase, std::string_view name, std::uint32_t node, std::uint32_t thread) {
    json_.begin_object().member("ph", phase).member("name", name).member("pid", node).member("tid", thread);
    return json_;
  }
  void add_slice(std::string_view name, const char* category, std::uint32_t node, std::uint32_t thread, Time from, Time to) {
    begin("X", name, node, thread).member("cat", category).member("ts", micros(from));
    json_.member("dur", static_cast<double>(std::max(to - from, Time(0)).count()) / 1e3);
  }
  void add_name(const char* what, std::uint32_t node, std::uint32_t thread, const std::string& name) {
    begin("M", what, node, thread).key("args").begin_object().member("name", name).end_object().end_object();
  }

  void add_names() {
    std::set<std::pair<std::uint32_t, std::uint32_t>> threads;
    for (const LoggedAttempt& attempt : job_.attempts) threads.emplace(attempt.node, attempt.slot);
    for (std::size_t i = 0; i < job_.replicas.size(); ++i) threads.emplace(job_.replicas[i].node, replica_threads_[i]);
    for (const Prefetched& part : job_.prefetched) {
      if (part.bytes.prefetched_bytes > 0 || part.bytes.wasted_bytes > 0) threads.emplace(part.node, kPrefetches);
      if (part.bytes.evicted_bytes > 0 || part.bytes.returned_bytes > 0) threads.emplace(part.node, kEvictions);
    }
    std::uint32_t last = 0;
    for (const auto& [node, thread] : threads) {
      const LoggedWorker* worker = history_.worker(node);
      const std::string rack = worker == nullptr ? "" : fmt::format(" ({})", worker->rack);
      if (node != last) add_name("process_name", node, 0, history_.worker_name(node) + rack);
      last = node;
      add_name("thread_name", node, thread, name_of_thread(thread));
    }
  }

  void add_attempt(const LoggedAttempt& attempt) {
    const Time end = end_of(attempt);
    add_slice(fmt::format("{} {}.{}", stage_name(attempt.stage), attempt.stage, attempt.task), name_of(attempt.fate), attempt.node,
              attempt.slot, attempt.launched, end);
    json_.key("args").begin_object().member("stage", attempt.stage).member("task", attempt.task).member("attempt", attempt.attempt);
    json_.member("fate", name_of(attempt.fate)).member("speculative", attempt.speculative);
    if (!attempt.why.empty()) json_.member("why", attempt.why);
    if (attempt.fate == Fate::finished) {
      json_.member("input_bytes", attempt.input_bytes).member("input_records", attempt.input_records);
      json_.member("output_bytes", attempt.output_bytes).member("output_records", attempt.output_records);
      json_.member("cpu_ms", static_cast<double>(attempt.usage.cpu.count()) / 1e6)
          .member("peak_memory_bytes", attempt.usage.peak_memory);
      json_.member("shuffle_read_bytes", attempt.usage.shuffle_read_bytes).member("spilled_bytes", attempt.usage.spilled_bytes);
    }
    json_.end_object().end_object();
    if (attempt.fate == Fate::finished) add_parts(attempt, end);
  }

  /// The log has how long these took together, not when: reading is drawn at the beginning, writing at the end.
  void add_parts(const LoggedAttempt& attempt, Time end) {
    Time at = attempt.launched;
    const auto part = [&](const char* name, Time took) {
      if (took <= Time(0)) return;
      const Time until = std::min(at + took, end);
      add_slice(name, "part", attempt.node, attempt.slot, at, until);
      json_.end_object();
      at = until;
    };
    part("fetch", attempt.shuffle_read);
    part("read files", attempt.usage.read);
    const Time writes = std::max(at, end - attempt.shuffle_write - attempt.usage.write);
    if (attempt.usage.spilled_bytes > 0) add_spill(attempt, at, writes);
    at = writes;
    part("write map output", attempt.shuffle_write);
    part("write files", attempt.usage.write);
  }

  /// All spills of an attempt as one, where the first began, between its reads and its writes: slices of a thread do not overlap.
  void add_spill(const LoggedAttempt& attempt, Time after, Time before) {
    const Time length = std::min(attempt.usage.spill, before - after);
    const Time began = end_of(attempt) - attempt.usage.run + attempt.usage.spill_began;
    const Time from = attempt.usage.spill > Time(0) ? std::clamp(began, after, before - length) : before;  // not known when
    add_slice(fmt::format("spill {}", human_bytes(attempt.usage.spilled_bytes)), "spill", attempt.node, attempt.slot, from,
              from + length);
    json_.key("args").begin_object().member("bytes", attempt.usage.spilled_bytes).end_object().end_object();
  }

  /// A slice for the increment between two reports of the worker.
  void add_prefetched(const Prefetched& part) {
    const auto add = [&](const char* what, std::uint64_t bytes, std::uint32_t thread, const char* category) {
      if (bytes == 0) return;
      add_slice(fmt::format("{} {}", what, human_bytes(bytes)), category, part.node, thread, part.from, part.to);
      json_.key("args").begin_object().member("bytes", bytes).end_object().end_object();
    };
    add("prefetch", part.bytes.prefetched_bytes, kPrefetches, "prefetch");
    add("evict", part.bytes.evicted_bytes, kEvictions, "evict");
    add("return", part.bytes.returned_bytes, kEvictions, "return");
    if (part.bytes.wasted_bytes == 0) return;
    begin("i", fmt::format("wasted {}", human_bytes(part.bytes.wasted_bytes)), part.node, kPrefetches);
    json_.member("cat", "waste").member("s", "t").member("ts", micros(part.to)).end_object();
  }

  void add_replica(const LoggedReplica& replica, std::uint32_t thread) {
    add_slice(fmt::format("copy of {}.{}", replica.shuffle, replica.map), "copy", replica.node, thread, replica.began,
              end_of(replica));
    json_.key("args").begin_object().member("from_node", replica.from).end_object().end_object();
  }

  void add_flows(const master::LoggedStage& stage) {
    std::vector<const LoggedAttempt*> maps, readers;
    for (const LoggedAttempt& attempt : job_.attempts) {
      if (attempt.fate != Fate::finished) continue;
      if (attempt.stage == stage.id) readers.push_back(&attempt);
      if (std::find(stage.inputs.begin(), stage.inputs.end(), attempt.stage) != stage.inputs.end()) maps.push_back(&attempt);
    }
    if (maps.size() * readers.size() > kMostFlows) {
      std::map<std::uint32_t, const LoggedAttempt*> last;
      for (const LoggedAttempt* map : maps) {
        const LoggedAttempt*& of_node = last[map->node];
        if (of_node == nullptr || of_node->ended < map->ended) of_node = map;
      }
      maps.clear();
      for (const auto& [node, map] : last) maps.push_back(map);
    }
    std::size_t left = kMostFlows;
    for (const LoggedAttempt* reader : readers)
      for (const LoggedAttempt* map : maps)
        if (left > 0 && map->ended <= reader->ended && left-- > 0) add_flow(*map, *reader);
  }

  void add_flow(const LoggedAttempt& map, const LoggedAttempt& reader) {
    ++flows_;
    begin("s", "map output", map.node, map.slot)
        .member("cat", "flow")
        .member("id", flows_)
        .member("ts", micros(map.ended))
        .end_object();
    begin("f", "map output", reader.node, reader.slot).member("cat", "flow").member("id", flows_).member("bp", "e");
    json_.member("ts", micros(std::max(reader.launched, map.ended))).end_object();
  }

  const EventHistory& history_;
  const LoggedJob& job_;
  std::map<std::uint32_t, const master::LoggedStage*> stages_;
  JsonWriter json_;
  std::vector<std::uint32_t> replica_threads_;  // of each copy
  std::uint64_t flows_ = 0;
};

}  // namespace

std::string trace_json(const EventHistory& history, const LoggedJob& job) { return TraceWriter(history, job).write(); }

}  // namespace weft::history
