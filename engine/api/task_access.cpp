// counter(), input_path(), windows of sampled input: the parts of the API that look at the running task.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "base/printable.hpp"
#include "storage/compression/decompressor.hpp"
#include "weft/counters.hpp"
#include "weft/detail/actions.hpp"
#include "weft/detail/sources.hpp"
#include "weft/flow.hpp"

namespace weft {
namespace {

runtime::TaskContext& task(const char* what) {
  runtime::TaskContext* context = runtime::current_task();
  if (context == nullptr) throw std::logic_error(std::string(what) + " works inside of user functions that run in tasks only");
  return *context;
}

/// The last few counters used by this thread, so that a call per record needs no look-up in the map (whose nodes stay where they
/// are).
struct Cached {
  const runtime::TaskContext* context = nullptr;
  AttemptId attempt;
  const char* text = nullptr;
  const runtime::Counters::value_type* entry = nullptr;
  std::int64_t* value = nullptr;
};
thread_local std::array<Cached, 8> cache;

constexpr std::size_t kShown = 200;  // bytes of a reason, and of a path

}  // namespace

Counter counter(std::string_view name) {
  runtime::TaskContext& context = task("weft::counter");
  Cached& cached = cache[(reinterpret_cast<std::uintptr_t>(name.data()) >> 3) % cache.size()];
  if (cached.context == &context && cached.text == name.data() && cached.attempt == context.attempt &&
      cached.entry->first == name) {
    return Counter(cached.value);
  }
  auto& entry = *context.counters.try_emplace(std::string(name), 0).first;
  cached = {&context, context.attempt, name.data(), &entry, &entry.second};
  return Counter(cached.value);
}

void bad_record(std::string_view reason) {
  runtime::TaskContext& context = task("weft::bad_record");
  runtime::BadRecords& bad = context.usage.bad_records;
  ++bad.count;
  const bool known = context.bad_path == context.position_path && context.bad_offset == context.position_offset;
  if (context.position_path != nullptr && !known) {
    ++bad.inputs;
    context.bad_path = context.position_path;
    context.bad_offset = context.position_offset;
  }
  if (bad.examples.size() == runtime::kBadRecordExamples) return;
  std::string example = printable(reason, kShown);
  if (const char* const path = context.position_path)
    example += " (" + printable(path, kShown) + " at byte " + std::to_string(context.position_offset) + ")";
  bad.examples.push_back(std::move(example));
}

std::string_view input_path() {
  const char* path = task("weft::input_path").position_path;
  return path == nullptr ? std::string_view() : std::string_view(path);
}

void Flow::check_record_bytes(std::uint64_t bytes) {
  if (bytes == 0) throw std::invalid_argument("read_records: a record has at least one byte");
}

namespace detail {
namespace {

/// Whether the reader of this split will find that its file is compressed. What goes wrong here goes wrong there again.
bool detected_compressed(const storage::Split& split, storage::RemoteFiles* files) {
  if (split.offset != 0 || split.format != storage::Format::detect) return false;
  auto file = storage::InputFile::open(split.path, files, split.version);
  if (!file) return false;
  const auto format = storage::format_of(*file);
  return format && is_compressed(*format);
}

}  // namespace

void result_too_large(std::string_view name) {
  throw runtime::TaskError{
      Error(Code::resource_exhausted,
            std::string(name) + ": the result is larger than 256 MiB; write it to files with write_text instead")};
}

void record_too_large(const TaskContext& context, std::uint64_t bytes) {
  throw runtime::TaskError{Error(Code::resource_exhausted, "write: a single record takes " + std::to_string(bytes) +
                                                               " bytes, more than the task's memory budget of " +
                                                               std::to_string(context.operators.memory->limit()) +
                                                               " bytes; give tasks more memory")};
}

std::vector<storage::Split> splits_to_read(TaskContext& context, std::uint64_t record_bytes) {
  if (context.splits == nullptr) return {};
  std::uint64_t total = 0;
  for (const storage::Split& split : *context.splits) total += split.length;
  if (context.sample_bytes == 0 || total <= 2 * context.sample_bytes) return *context.splits;
  std::vector<storage::Split> chosen;
  std::uint64_t kept = 0;
  for (const storage::Split& split : *context.splits) {
    // What is compressed has no windows: a block of it may be larger than the sample.
    if (is_compressed(split.format) || detected_compressed(split, context.files)) {
      chosen.push_back(split);
      kept += split.length;
      continue;
    }
    // Each split gives its share of the sample, in windows of whole records.
    const std::uint64_t stride = split.length / kSampleWindows / record_bytes * record_bytes;
    std::uint64_t window = context.sample_bytes / kSampleWindows * (split.length >> 10) / ((total >> 10) + 1);
    window = std::max<std::uint64_t>(window / record_bytes, 16) * record_bytes;
    if (stride <= window) {
      chosen.push_back(split);
      kept += split.length;
      continue;
    }
    for (std::uint64_t w = 0; w < kSampleWindows; ++w) {
      chosen.push_back({split.path, split.offset + w * stride, window, split.hosts, split.format, split.version});
      kept += window;
    }
  }
  context.sampled_share = static_cast<double>(kept) / static_cast<double>(total);
  return chosen;
}

}  // namespace detail
}  // namespace weft
