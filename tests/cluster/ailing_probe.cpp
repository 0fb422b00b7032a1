// A job program with one ailment at a time, of known cause, and without one: for the test of what `weft job diagnose` says.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>
#include <weft/weft.h>

namespace {

struct Options {
  std::string mode;
  std::string on;      // a worker
  std::string marker;  // a file: made by the first task, which the mode hold lets go on when one of this name and ".go" is there
  std::string input;
  std::uint32_t tasks = 12;
  std::uint32_t milliseconds = 100;  // that a task takes
  std::uint64_t records = 200000;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("mode", options.mode, "even, hot, hot_sort, broken, changing, hold, read or drop").required();
  arguments.option("--on", options.on, "The worker that is slow (even) or on which tasks throw (broken)");
  arguments.option("--marker", options.marker, "File to create when a task has begun");
  arguments.option("--input", options.input, "Text for the mode read");
  arguments.option("--tasks", options.tasks, "Tasks of the first stage");
  arguments.option("--milliseconds", options.milliseconds, "How long a task takes; five times as long on a slow worker");
  arguments.option("--records", options.records, "Records in all, for the modes hot and hot_sort");
}

bool on_worker(const std::string& name) {
  const char* node = std::getenv("WEFT_TEST_NODE");
  return node != nullptr && !name.empty() && name == node;
}

void sleep_for(std::uint64_t milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

std::uint64_t work(const Options& options, std::uint64_t i) {
  const bool chosen = on_worker(options.on);
  if (options.mode == "broken" && chosen) throw std::runtime_error("the library that this machine has is too old");
  if (options.mode == "drop" && i % 50 == 7) weft::bad_record("number " + std::to_string(i) + " has no unit");
  if (options.mode == "hold") {
    if (const int file = open(options.marker.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600); file >= 0) close(file);
    while (access((options.marker + ".go").c_str(), F_OK) != 0) sleep_for(5);
  }
  sleep_for(options.milliseconds * (chosen ? 5 : 1));
  return i;
}

/// A record for each task, then one key for each of them.
void even(weft::Flow& flow, const Options& options) {
  const auto sums = flow.generate(
                            options.tasks, [options](std::uint64_t i) { return std::pair(i, work(options, i)); }, options.tasks)
                        .reduce_by_key(std::plus<>())
                        .count();
  std::printf("%llu\n", static_cast<unsigned long long>(sums));
}

/// Six of ten records have one key.
auto records_of_a_hot_key(weft::Flow& flow, const Options& options) {
  return flow.generate(
      options.records,
      [](std::uint64_t i) { return std::pair(i % 10 < 6 ? 0 : i, std::string(200, static_cast<char>('a' + i % 26))); },
      options.tasks);
}

/// All of them cross the shuffle.
void hot(weft::Flow& flow, const Options& options) {
  const auto keys = records_of_a_hot_key(flow, options).group_by_key().count();
  std::printf("%llu\n", static_cast<unsigned long long>(keys));
}

void hot_sort(weft::Flow& flow, const Options& options) {
  const auto sorted = records_of_a_hot_key(flow, options).sort_by([](const auto& record) { return record.first; }).count();
  std::printf("%llu\n", static_cast<unsigned long long>(sorted));
}

/// Not the same program wherever it runs: on workers it has one stage more.
void changing(weft::Flow& flow, const Options& options) {
  const auto numbers = flow.generate(
      options.tasks, [](std::uint64_t i) { return i; }, options.tasks);
  const std::uint64_t count = std::getenv("WEFT_TEST_NODE") == nullptr ? numbers.count() : numbers.distinct().count();
  std::printf("%llu\n", static_cast<unsigned long long>(count));
}

/// A millisecond for each line.
void read(weft::Flow& flow, const Options& options) {
  const auto lines = flow.read_text({options.input})
                         .map([](std::string_view line) {
                           sleep_for(1);
                           return line.size();
                         })
                         .count();
  std::printf("%llu\n", static_cast<unsigned long long>(lines));
}

void define(weft::Flow& flow, const Options& options) {
  if (options.mode == "hot") return hot(flow, options);
  if (options.mode == "hot_sort") return hot_sort(flow, options);
  if (options.mode == "changing") return changing(flow, options);
  if (options.mode == "read") return read(flow, options);
  even(flow, options);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Job of the test of findings", declare, define); }
