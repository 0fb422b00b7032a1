// A job program for the cluster tests: does what it is told, well or badly.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include <weft/kernel.hpp>
#include <weft/weft.h>

namespace {

struct Options {
  std::string mode;
  std::string input;
  std::string marker;  // a file that exists once a task has reached the point of interest
  std::string on;      // a worker
  std::string output;  // a directory
  std::uint32_t tasks = 4;
  std::uint64_t records = 100000;
  std::uint64_t growth = 1;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments
      .option(
          "mode", options.mode,
          "noop, sums, hold, hold_reading, spread, cross, sort, regions, skewed_join, iterate, meet, where, spin, straggle, throw, "
          "segfault, mixed, "
          "exit, loop, hang, "
          "allocate, once, bad, append, wait, kernel, kernel_held, kernel_usage, kernel_crashes, kernel_never_ends or kernel_wrong")
      .required();
  arguments.option("--input", options.input, "Text for the modes that read");
  arguments.option("--marker", options.marker, "File to create when a task has begun");
  arguments.option("--on", options.on, "The worker on which tasks of the mode hang do");
  arguments.option("--output", options.output, "Directory for the rows of the modes hold (instead of stdout) and mixed");
  arguments.option("--tasks", options.tasks, "Tasks of the first stage");
  arguments.option("--records", options.records, "Records in all");
  arguments.option("--growth", options.growth,
                   "In the mode cross: values of later maps are so many times as long as those of the first");
}

/// True for the first caller among all processes.
bool mark(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
  return file >= 0;
}

void wait_for(const std::string& path) {
  while (access(path.c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Returns when this was called for each of the tasks, whatever the process.
void meet(const Options& options, std::uint64_t task) {
  mark(options.marker + "." + std::to_string(task));
  const auto here = [&](std::uint32_t other) { return access((options.marker + "." + std::to_string(other)).c_str(), F_OK) == 0; };
  for (std::uint32_t other = 0; other < options.tasks; ++other)
    while (!here(other)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::string node_name() {
  const char* node = std::getenv("WEFT_TEST_NODE");
  return node == nullptr ? "?" : node;
}

std::uint64_t misbehave(const Options& options, std::uint64_t i) {
  if (options.mode == "throw") throw std::runtime_error("record " + std::to_string(i) + " is bad");
  if (options.mode == "segfault") raise(SIGSEGV);
  if (options.mode == "exit") _exit(3);
  if (options.mode == "bad" && i % 10 == 9) {
    weft::bad_record("number " + std::to_string(i) + " ends with 9");
    if (!options.marker.empty() && i + 1 == options.records && mark(options.marker)) raise(SIGKILL);
  }
  if (options.mode == "once" && mark(options.marker)) raise(SIGKILL);
  if (options.mode == "loop" || (options.mode == "hang" && node_name() == options.on))
    for (volatile bool forever = true; forever;) mark(options.marker);
  if (options.mode == "wait") {
    mark(options.marker);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (options.mode == "spin") {  // in user code, until somebody says so
    mark(options.marker);
    while (access((options.marker + ".go").c_str(), F_OK) != 0) {
    }
  }
  if (options.mode == "straggle" && i + 1 == options.records) {  // the last task, which says where it is
    mark(options.marker + "." + node_name());
    wait_for(options.marker + ".go");
  }
  if (options.mode == "allocate") {
    static std::vector<std::vector<char>> hoard;
    while (true) hoard.emplace_back(std::size_t{16} << 20, 'x');
  }
  return i;
}

void print_sorted(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& rows) {
  const std::map<std::uint64_t, std::uint64_t> sorted(rows.begin(), rows.end());
  for (const auto& [key, sum] : sorted)
    std::printf("%llu %llu\n", static_cast<unsigned long long>(key), static_cast<unsigned long long>(sum));
}

/// Sums by key, printed in order: every record crosses a shuffle.
void sums(weft::Flow& flow, const Options& options) {
  auto rows = flow.generate(
                      options.records,
                      [options](std::uint64_t i) {
                        weft::counter("generated").add(1);
                        return std::pair(i % 1000, misbehave(options, i));
                      },
                      options.tasks)
                  .reduce_by_key(std::plus<>())
                  .collect();
  print_sorted(rows);
}

/// Sorts numbers that lie in order already, and prints how many are in their place.
void sort(weft::Flow& flow, const Options& options) {
  const auto sorted = flow.generate(
                              options.records, [](std::uint64_t i) { return i; }, options.tasks)
                          .sort_by([](std::uint64_t i) { return i; })
                          .collect();
  std::uint64_t right = 0;
  for (std::uint64_t i = 0; i < sorted.size(); ++i) right += sorted[i] == i ? 1 : 0;
  std::printf("in place %llu\n", static_cast<unsigned long long>(right));
}

/// Numbers that lie in order, in eight regions of 1, 3, 5, … 15 parts of 64; prints how many keys were grouped.
void regions(weft::Flow& flow, const Options& options) {
  const auto region = [all = options.records](std::uint64_t i, std::uint32_t regions) {
    return static_cast<std::uint64_t>(std::sqrt(static_cast<double>(i) / static_cast<double>(all)) * regions);
  };
  const std::uint64_t count = flow.generate(
                                      options.records, [](std::uint64_t i) { return std::pair(i, i); }, options.tasks)
                                  .group_by_key(weft::partition_by(region, 8).sampled())
                                  .count();
  std::printf("grouped %llu\n", static_cast<unsigned long long>(count));
}

/// Sums by key, but tasks of the second stage that have a key wait for the marker with ".go" behind it, and say that they do
/// (".held").
void hold(weft::Flow& flow, const Options& options) {
  const auto rows = flow.generate(
                            options.records, [](std::uint64_t i) { return std::pair(i % 1000, i); }, options.tasks)
                        .reduce_by_key(std::plus<>())
                        .map([options](const auto& row) {
                          mark(options.marker + ".held");
                          wait_for(options.marker + ".go");
                          return row;
                        });
  if (options.output.empty()) return print_sorted(rows.collect());
  rows.map([](const auto& row) { return std::to_string(row.first) + " " + std::to_string(row.second); }).write_text(options.output);
}

/// Sums by key, spread evenly over twelve tasks, of which all but four wait for the marker with ".go" behind it; each is summed
/// once more behind them. A task that spreads them again does so from the last to the first: what a task reads behind a shuffle has
/// no order.
void spread(weft::Flow& flow, const Options& options) {
  using Row = std::pair<std::uint64_t, std::uint64_t>;
  auto rows = flow.generate(
                      options.records, [](std::uint64_t i) { return Row(i % 1000, i); }, options.tasks)
                  .reduce_by_key(std::plus<>())
                  .map_partitions<Row>([](auto records, auto emit) {
                    std::vector<Row> all;
                    records([&](const Row& row) { all.push_back(row); });
                    std::sort(all.begin(), all.end());
                    if (weft::runtime::current_task()->attempt.attempt > 0) std::reverse(all.begin(), all.end());
                    for (const Row& row : all) emit(row);
                  })
                  .repartition(12)
                  .map([options](const Row& row) {
                    if (weft::runtime::current_task()->attempt.task.index >= 4) wait_for(options.marker + ".go");
                    return row;
                  })
                  .reduce_by_key(std::plus<>())
                  .collect();
  std::sort(rows.begin(), rows.end());
  for (const auto& [key, sum] : rows)
    std::printf("%llu %llu\n", static_cast<unsigned long long>(key), static_cast<unsigned long long>(sum));
}

/// Sums by key, but tasks of the second stage wait as soon as they have read outputs of two maps.
void hold_reading(weft::Flow& flow, const Options& options) {
  const auto add = [options](std::uint64_t a, std::uint64_t b) {
    const auto& task = weft::runtime::current_task()->attempt.task;
    if (task.stage.value() > 0 && mark(options.marker + ".held." + std::to_string(task.index) + "." + node_name()))
      wait_for(options.marker + ".go");
    return a + b;
  };
  print_sorted(flow.generate(
                       options.records, [](std::uint64_t i) { return std::pair(i % 1000, i); }, options.tasks)
                   .reduce_by_key(add)
                   .collect());
}

/// Every record crosses a shuffle under a key of its own. The last map ends when the marker with ".maps" behind it is there,
/// readers when the one with ".go" is. Prints the sum of each key and what came with it.
void cross(weft::Flow& flow, const Options& options) {
  const auto rows = flow.generate(
                            options.records,
                            [options](std::uint64_t i) {
                              if (i + 1 == options.records) wait_for(options.marker + ".maps");
                              const std::uint64_t times = i < options.records / options.tasks ? 1 : options.growth;
                              return std::pair(i, std::string(20 * times, static_cast<char>('a' + i % 26)));
                            },
                            options.tasks)
                        .reduce_by_key([](const std::string& a, const std::string& b) { return a + b; })
                        .map([options](const auto& row) {
                          wait_for(options.marker + ".go");
                          std::uint64_t sum = row.first;
                          for (const char c : row.second) sum += static_cast<unsigned char>(c);
                          return std::pair(row.first, sum);
                        })
                        .collect();
  print_sorted(rows);
}

/// Two actions, whose values the rest of the job needs, and rows of sums by key that are written.
void mixed(weft::Flow& flow, const Options& options) {
  const auto sums = flow.generate(
                            options.records,
                            [](std::uint64_t i) {
                              weft::counter("generated").add(1);
                              return std::pair(i % 1000, i);
                            },
                            options.tasks)
                        .reduce_by_key(std::plus<>());
  const std::uint64_t keys = sums.count();
  const std::uint64_t even = sums.filter([keys](const auto& row) { return row.first % 2 == 0 && keys > 0; }).count();
  sums.map([keys, even](const auto& row) { return std::pair(row.first % (keys - even), row.second); })
      .reduce_by_key(std::plus<>())
      .map([](const auto& row) {
        weft::counter("written").add(1);
        return std::to_string(row.first) + " " + std::to_string(row.second);
      })
      .write_text(options.output);
  std::printf("keys %llu even %llu\n", static_cast<unsigned long long>(keys), static_cast<unsigned long long>(even));
}

/// Program logic between actions: executors must follow it by recorded values.
void iterate(weft::Flow& flow, const Options& options) {
  std::uint64_t limit = options.records;
  int rounds = 0;
  while (limit > 1) {
    limit = flow.generate(
                    limit, [](std::uint64_t i) { return i; }, options.tasks)
                .filter([limit](std::uint64_t i) { return i < limit / 2; })
                .count();
    ++rounds;
  }
  std::printf("rounds %d\n", rounds);
}

/// A join in which half of the left records have one key: how many tasks saw that key, then the sums by key.
void skewed_join(weft::Flow& flow, const Options& options) {
  const auto left = flow.generate(
      options.records, [](std::uint64_t i) { return std::pair(i % 2 == 0 ? std::uint64_t{7} : i % 1000, i); }, options.tasks);
  const auto right = flow.generate(
      1000, [](std::uint64_t i) { return std::pair(i, 3 * i); }, options.tasks);
  const auto joined = left.join(right).map([](const auto& row) {
    return std::tuple(row.first, row.second.left + row.second.right, weft::runtime::current_task()->attempt.task.index);
  });
  const auto tasks = joined.filter([](const auto& row) { return std::get<0>(row) == 7; })
                         .map([](const auto& row) { return std::get<2>(row); })
                         .distinct()
                         .count();
  std::printf("tasks %llu\n", static_cast<unsigned long long>(tasks));
  const auto rows = joined.map([](const auto& row) { return std::pair(std::get<0>(row), std::get<1>(row)); })
                        .reduce_by_key(std::plus<>())
                        .collect();
  print_sorted(rows);
}

/// Where each line was read, and where each reduce of the lines ran.
void where(weft::Flow& flow, const Options& options) {
  const auto read = flow.read_text({options.input})
                        .map([](std::string_view line) { return std::string(line) + " read on " + node_name(); })
                        .distinct()
                        .collect();
  for (const std::string& row : std::set<std::string>(read.begin(), read.end())) std::printf("%s\n", row.c_str());
  const auto reduced = flow.read_text({options.input})
                           .map([](std::string_view line) { return std::pair(std::string(line), 1); })
                           .reduce_by_key(std::plus<>())
                           .map([](const auto&) { return "reduced on " + node_name(); })
                           .collect();
  for (const std::string& row : std::set<std::string>(reduced.begin(), reduced.end())) std::printf("%s\n", row.c_str());
}

/// Appends a line to the file that it reads, when it reads the first one.
void append(weft::Flow& flow, const Options& options) {
  const auto count = flow.read_text({options.input})
                         .map([](std::string_view line) {
                           if (line == "a") {
                             std::FILE* const file = std::fopen(std::string(weft::input_path()).c_str(), "a");
                             if (file == nullptr) throw std::runtime_error("it cannot be appended to");
                             std::fputs("c\n", file);
                             std::fclose(file);
                           }
                           return line.size();
                         })
                         .count();
  std::printf("count %llu\n", static_cast<unsigned long long>(count));
}

/// Sums by key of numbers that a kernel copies, or of which it makes a mess.
void kernel(weft::Flow& flow, const Options& options) {
  const std::string head = "kernel void numbers(global const ulong* in, global ulong* out, uint records) {\n";
  std::string body = "  if (get_global_id(0) < records) out[get_global_id(0)] = in[get_global_id(0)];\n";
  if (options.mode == "kernel_crashes") body = "  out[0] = *(global const ulong*)in[0];\n";  // POCL's device is this process
  if (options.mode == "kernel_never_ends")
    body = "  for (ulong i = 0; i < 4000000000ul * (in[0] + 1); ++i) out[0] += i ^ out[0];\n";
  if (options.mode == "kernel_wrong") body = "  nothing = 1;\n";
  const auto limit = std::chrono::milliseconds(options.mode == "kernel_held" ? 600'000 : 500);
  print_sorted(flow.generate(
                       options.records, [](std::uint64_t i) { return i; }, options.tasks)
                   .on(weft::Kernel("numbers", head + body + "}\n").limit(limit))
                   .map([](std::uint64_t i) { return std::pair(i % 1000, i); })
                   .reduce_by_key(std::plus<>())
                   .collect());
}

/// The open files and resident pages of the process that runs a task, for each task; a kernel has run there.
void kernel_usage(weft::Flow& flow, const Options& options) {
  const auto usage =
      flow.generate(
              options.tasks, [](std::uint64_t i) { return i; }, options.tasks)
          .on(weft::Kernel("same", "kernel void same(global const ulong* in, global ulong* out, uint records) { out[0] = in[0]; }")
                  .batch(1))
          .map([](std::uint64_t) {
            const std::filesystem::directory_iterator open("/proc/self/fd");
            std::uint64_t all = 0, resident = 0;
            std::ifstream("/proc/self/statm") >> all >> resident;
            return std::pair(static_cast<std::uint64_t>(std::distance(begin(open), end(open))), resident);
          })
          .collect();
  for (const auto& [files, pages] : usage)
    std::printf("%llu %llu\n", static_cast<unsigned long long>(files), static_cast<unsigned long long>(pages));
}

/// Adds up in a variable of the definition, which workers do not have.
void capture(weft::Flow& flow, const Options& options) {
  std::uint64_t sum = 0;
  const auto count = flow.generate(
                             options.tasks, [](std::uint64_t i) { return i; }, options.tasks)
                         .map([&sum](std::uint64_t i) { return sum += i; })
                         .count();
  std::printf("count %llu\n", static_cast<unsigned long long>(count));
}

void define(weft::Flow& flow, const Options& options) {
  if (options.mode == "hold") {
    hold(flow, options);
  } else if (options.mode == "hold_reading") {
    hold_reading(flow, options);
  } else if (options.mode == "spread") {
    spread(flow, options);
  } else if (options.mode == "cross") {
    cross(flow, options);
  } else if (options.mode == "skewed_join") {
    skewed_join(flow, options);
  } else if (options.mode == "meet") {
    flow.generate(
            options.tasks,
            [options](std::uint64_t i) {
              meet(options, i);
              return i;
            },
            options.tasks)
        .count();
  } else if (options.mode == "where") {
    where(flow, options);
  } else if (options.mode == "noop") {
    const auto count = flow.generate(
                               options.tasks, [](std::uint64_t i) { return i; }, options.tasks)
                           .count();
    std::printf("count %llu\n", static_cast<unsigned long long>(count));
  } else if (options.mode == "sort") {
    sort(flow, options);
  } else if (options.mode == "regions") {
    regions(flow, options);
  } else if (options.mode == "mixed") {
    mixed(flow, options);
  } else if (options.mode == "iterate") {
    iterate(flow, options);
  } else if (options.mode == "capture") {
    capture(flow, options);
  } else if (options.mode == "kernel_usage") {
    kernel_usage(flow, options);
  } else if (options.mode.starts_with("kernel")) {
    kernel(flow, options);
  } else if (options.mode == "append") {
    append(flow, options);
  } else if (!options.input.empty()) {
    const auto count =
        flow.read_text({options.input}).map([options](std::string_view line) { return misbehave(options, line.size()); }).count();
    std::printf("count %llu\n", static_cast<unsigned long long>(count));
  } else {
    sums(flow, options);
  }
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Job of the cluster tests", declare, define); }
