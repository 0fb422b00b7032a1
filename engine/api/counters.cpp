#include "weft/counters.hpp"

#include <array>
#include <stdexcept>
#include <string>

#include "base/printable.hpp"
#include "runtime/executor/task.hpp"

namespace weft {
namespace {

runtime::TaskContext& task(const char* what) {
  runtime::TaskContext* context = runtime::current_task();
  if (context == nullptr) throw std::logic_error(std::string(what) + " works inside of user functions that run in tasks only");
  return *context;
}

/// The last few counters used by this thread, so that a call per record needs no look-up in the map, whose nodes never move.
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

}  // namespace weft
