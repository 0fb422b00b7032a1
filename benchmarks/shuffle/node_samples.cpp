#include "benchmarks/shuffle/node_samples.hpp"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <utility>

#include <unistd.h>

namespace weft::bench {
namespace {

constexpr std::chrono::milliseconds kEvery{100};

/// Empty when there is none, or no more.
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();  // reading of a process that ends meanwhile fails; an iterator would throw
  return text.str();
}

void add_tree(int pid, NodeUse& use, std::uint64_t& ticks) {
  const std::string of = "/proc/" + std::to_string(pid);
  ticks += cpu_ticks(text_of(of + "/stat")).value_or(0);
  add_disk(text_of(of + "/io"), use);
  // Every thread has the children that it started.
  std::error_code gone;
  for (std::filesystem::directory_iterator thread(of + "/task", gone), end; !gone && thread != end; thread.increment(gone)) {
    std::istringstream children(text_of(thread->path().string() + "/children"));
    for (int child = 0; children >> child;) add_tree(child, use, ticks);
  }
}

double per_second(std::uint64_t from, std::uint64_t to, double seconds) {
  return to > from ? static_cast<double>(to - from) / seconds : 0;
}

}  // namespace

std::optional<std::uint64_t> cpu_ticks(std::string_view stat) {
  // The second field is the program's name in brackets, and may hold anything.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  std::istringstream fields{std::string(stat.substr(name_end + 1))};
  std::string skipped;
  for (int field = 3; field <= 13; ++field) fields >> skipped;
  std::uint64_t sum = 0, ticks = 0;
  for (int field = 14; field <= 17; ++field) {
    if (!(fields >> ticks)) return std::nullopt;
    sum += ticks;
  }
  return sum;
}

void add_disk(std::string_view io, NodeUse& use) {
  std::istringstream lines{std::string(io)};
  std::string name;
  for (std::uint64_t bytes = 0; lines >> name >> bytes;) {
    if (name == "read_bytes:") use.disk_read += bytes;
    if (name == "write_bytes:") use.disk_written += bytes;
  }
}

void add_network(std::string_view net_dev, NodeUse& use) {
  std::istringstream lines{std::string(net_dev)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t name = line.find_first_not_of(' ');
    if (line.substr(name, colon - name) == "lo") continue;
    std::istringstream fields(line.substr(colon + 1));
    std::uint64_t received = 0, other = 0, sent = 0;
    fields >> received;
    for (int field = 0; field < 7; ++field) fields >> other;
    if (!(fields >> sent)) continue;
    use.received += received;
    use.sent += sent;
  }
}

NodeUse use_of(int pid) {
  NodeUse use;
  std::uint64_t ticks = 0;
  add_tree(pid, use, ticks);
  use.cpu_seconds = static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  add_network(text_of("/proc/" + std::to_string(pid) + "/net/dev"), use);
  return use;
}

std::vector<NodeRate> rates(const std::vector<NodeSample>& samples, std::int64_t zero_ns, std::int64_t end_ns) {
  std::vector<NodeRate> result;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const NodeSample &from = samples[i - 1], &to = samples[i];
    if (from.unix_ns < zero_ns || to.unix_ns > end_ns || to.unix_ns <= from.unix_ns) continue;
    const double seconds = static_cast<double>(to.unix_ns - from.unix_ns) / 1e9;
    result.push_back({static_cast<double>(to.unix_ns - zero_ns) / 1e9,
                      std::max(0.0, to.use.cpu_seconds - from.use.cpu_seconds) / seconds,
                      per_second(from.use.received, to.use.received, seconds), per_second(from.use.sent, to.use.sent, seconds),
                      per_second(from.use.disk_read, to.use.disk_read, seconds),
                      per_second(from.use.disk_written, to.use.disk_written, seconds)});
  }
  return result;
}

NodeSampler::NodeSampler(std::vector<int> pids)
    : pids_(std::move(pids)), samples_(pids_.size()), thread_([this](const std::stop_token& stop) { sample(stop); }) {}

std::vector<std::vector<NodeSample>> NodeSampler::take() {
  thread_.request_stop();
  thread_.join();
  return std::move(samples_);
}

void NodeSampler::sample(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any asked;
  std::unique_lock lock(mutex);
  do {
    for (std::size_t node = 0; node < pids_.size(); ++node) {
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      samples_[node].push_back({std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(), use_of(pids_[node])});
    }
  } while (!asked.wait_for(lock, stop, kEvery, [&] { return stop.stop_requested(); }));
}

}  // namespace weft::bench
