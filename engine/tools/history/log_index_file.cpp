// An index as JSON behind a line that has its length and checksum.
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/crc32c.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "engine/master/log/event_line_io.hpp"
#include "engine/tools/history/log_index.hpp"

namespace weft::history {

namespace {

constexpr int kVersion = 3;
constexpr std::uint64_t kMostBytes = 1ull << 30;

struct IndexHead {
  int version = 0;
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;
};

}  // namespace

// Found by argument-dependent lookup, so not in the anonymous namespace.

struct StoredWorker {
  std::uint32_t node = 0;
  LoggedWorker worker{};
};

struct StoredRun {
  std::vector<StoredWorker> workers{};
};

struct StoredIndex {
  LogIndex index{};
  std::vector<StoredRun> runs{};
  std::vector<IndexedJob> jobs{};
};

template <class Io>
void members(Io& io, IndexedPiece& piece) {
  io("name", piece.name);
  io("compressed", piece.compressed);
  io("size", piece.size);
  io("time", piece.time);
  io("end", piece.end);
  io("head", piece.head);
  io("tail", piece.tail);
}

template <class Io>
void members(Io& io, IndexPlace& place) {
  io("piece", place.piece);
  io("offset", place.offset);
}

template <class Io>
void members(Io& io, StoredWorker& stored) {
  io("node", stored.node);
  io("name", stored.worker.name);
  io("host", stored.worker.host);
  io("rack", stored.worker.rack);
  io("slots", stored.worker.slots);
  io("joined", stored.worker.joined);
  io("lost", stored.worker.lost);
  io("why", stored.worker.why);
  io.unless(0.0, "memory", stored.worker.memory);
}

template <class Io>
void members(Io& io, StoredRun& run) {
  io("workers", run.workers);
}

template <class Io>
void members(Io& io, IndexedJob& job) {
  master::JobStatus& status = job.status;
  std::uint64_t id = status.id.value();
  auto state = static_cast<std::uint32_t>(status.state);
  double weight = status.weight.value_or(1);
  io("id", id);
  io.unless(std::string(), "name", status.name);
  io.unless(std::string(), "user", status.user);
  io.unless(std::string(), "pool", status.pool);
  io("state", state);
  io.unless(std::string(), "error", status.error);
  io("submitted", status.submitted);
  io("ended", status.ended);
  io("deadline", status.deadline);
  io.unless(0, "priority", status.priority);
  io.unless(1.0, "weight", weight);
  io.unless(std::map<std::string, std::string>(), "options", status.options);
  io.unless(std::uint64_t{0}, "input_bytes", status.input_bytes);
  io.unless(std::uint64_t{0}, "input_records", status.input_records);
  io.unless(std::uint64_t{0}, "shuffle_bytes", status.shuffle_bytes);
  io.unless(std::uint64_t{0}, "tasks", status.tasks.all);
  io.unless(std::uint64_t{0}, "finished_tasks", status.tasks.finished);
  io("first", job.first);
  io("last", job.last);
  io.unless(0u, "run", job.run);
  status.id = JobId(id);
  status.state = static_cast<master::JobState>(std::min(state, static_cast<std::uint32_t>(master::JobState::killed)));
  status.weight = weight;
}

template <class Io>
void members(Io& io, StoredIndex& stored) {
  io("pieces", stored.index.pieces);
  io("runs", stored.runs);
  io("jobs", stored.jobs);
  io("now", stored.index.now);
  io("resume", stored.index.resume);
  io("resume_run", stored.index.resume_run);
}

template <class Io>
void members(Io& io, IndexHead& head) {
  io("weft_index", head.version);
  io("bytes", head.bytes);
  io("crc32c", head.checksum);
}

namespace {

template <class T>
std::string to_json(T& value) {
  JsonWriter json;
  const std::string event;
  master::JsonOut io(json, event);
  json.begin_object();
  members(io, value);
  json.end_object();
  return json.text();
}

template <class T>
Result<void> parse(std::string_view text, const std::string& path, T& value) {
  JsonReader json(text, path);
  WEFT_TRY(json.object([&](std::string_view key) {
    master::JsonIn io(json, key);
    members(io, value);
    return io.end();
  }));
  return json.finish();
}

/// Numbers that are used as places must be some.
bool is_consistent(const LogIndex& index) {
  const auto is_place = [&](const IndexPlace& place) { return place.piece < index.pieces.size(); };
  if (index.pieces.empty() || index.runs.empty() || !is_place(index.resume) || index.resume_run >= index.runs.size()) return false;
  for (const auto& [id, job] : index.jobs)
    if (!is_place(job.first) || !is_place(job.last) || job.run >= index.runs.size()) return false;
  return true;
}

}  // namespace

Result<LogIndex> load_index(const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_file(path, kMostBytes));
  const auto damaged = [&] { return fail(Code::corrupt, fmt::format("the index {} is damaged", path)); };
  const std::size_t line = text.find('\n');
  IndexHead head;
  if (line == std::string::npos || !parse(std::string_view(text).substr(0, line), path, head)) return damaged();
  if (head.version != kVersion) return fail(Code::version_mismatch, fmt::format("the index {} is of another release", path));
  const std::string_view body = std::string_view(text).substr(line + 1);
  if (body.size() != head.bytes || crc32c(as_bytes(body)) != head.checksum) return damaged();
  StoredIndex stored;
  WEFT_TRY(parse(body, path, stored));
  stored.index.runs.clear();
  for (StoredRun& run : stored.runs) {
    auto& workers = stored.index.runs.emplace_back();
    for (StoredWorker& worker : run.workers) workers[worker.node] = std::move(worker.worker);
  }
  for (IndexedJob& job : stored.jobs) stored.index.jobs[job.status.id.value()] = std::move(job);
  if (!is_consistent(stored.index)) return damaged();
  return std::move(stored.index);
}

Result<void> save_index(const std::string& path, const LogIndex& index) {
  StoredIndex stored;
  stored.index.pieces = index.pieces;
  stored.index.now = index.now;
  stored.index.resume = index.resume;
  stored.index.resume_run = index.resume_run;
  for (const auto& workers : index.runs) {
    StoredRun& run = stored.runs.emplace_back();
    for (const auto& [node, worker] : workers) run.workers.push_back({node, worker});
  }
  for (const auto& [id, job] : index.jobs) stored.jobs.push_back(job);
  const std::string body = to_json(stored);
  IndexHead head{kVersion, body.size(), crc32c(as_bytes(body))};
  return write_file(path, to_json(head) + '\n' + body);
}

}  // namespace weft::history
