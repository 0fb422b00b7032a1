#include "base/usage.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/cgroup.hpp"
#include "base/file.hpp"
#include "base/text.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::uint64_t kSectorBytes = 512;  // of /proc/diskstats, whatever the disk has
constexpr std::array<std::string_view, 8> kStackedDevices{"loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd"};

std::string readable(const fs::path& file) { return read_file(file).value_or(std::string()); }

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  for (std::string_view word : split(line, ' ')) {
    word = trim(word);
    if (!word.empty()) found.push_back(word);
  }
  return found;
}

std::uint64_t number(const std::vector<std::string_view>& words, std::size_t index) {
  return index < words.size() ? parse_number<std::uint64_t>(words[index]).value_or(0) : 0;
}

/// The value of the line that begins with `name`, its number being the next word.
std::uint64_t value_of(std::string_view content, std::string_view name) {
  for (const std::string_view line : split(content, '\n')) {
    if (!line.starts_with(name)) continue;
    const auto rest = words(line.substr(name.size()));
    return number(rest, 0);
  }
  return 0;
}

Fd opened(const fs::path& file) { return Fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC)); }

/// From its beginning; it is short.
std::string_view content_of(const Fd& file, std::array<char, 512>& room) {
  const ssize_t size = file.valid() ? ::pread(file.get(), room.data(), room.size(), 0) : 0;
  return {room.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

Duration ticks(std::uint64_t count) {
  static const long per_second = std::max(1L, sysconf(_SC_CLK_TCK));
  return Duration(1s) / per_second * static_cast<std::int64_t>(count);
}

std::uint64_t page_bytes() {
  static const long bytes = std::max(1L, sysconf(_SC_PAGESIZE));
  return static_cast<std::uint64_t>(bytes);
}

/// Neither a partition of a disk that is counted itself nor made of other devices.
bool whole_disk(const fs::path& root, std::string_view name) {
  if (std::any_of(kStackedDevices.begin(), kStackedDevices.end(), [&](std::string_view kind) { return name.starts_with(kind); }))
    return false;
  std::error_code error;
  return !fs::exists(root / "sys/class/block" / name / "partition", error);
}

void add_disks(const fs::path& root, UsageCounters& sum) {
  const std::string content = readable(root / "proc/diskstats");
  for (const std::string_view line : split(content, '\n')) {
    const auto columns = words(line);  // major minor name reads merged sectors time writes merged sectors …
    if (columns.size() < 10 || !whole_disk(root, columns[2])) continue;
    sum.disk_read += number(columns, 5) * kSectorBytes;
    sum.disk_written += number(columns, 9) * kSectorBytes;
  }
}

void add_network(const fs::path& root, UsageCounters& sum) {
  const std::string content = readable(root / "proc/net/dev");
  for (const std::string_view line : split(content, '\n')) {
    const auto colon = line.find(':');  // "  eth0: bytes packets …" with sixteen columns, the ninth being the bytes sent
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) == "lo") continue;
    const auto columns = words(line.substr(colon + 1));
    sum.received += number(columns, 0);
    sum.sent += number(columns, 8);
  }
}

Usage& operator+=(Usage& sum, const Usage& other) {
  sum.cpu += other.cpu;
  sum.memory += other.memory;
  sum.disk_read += other.disk_read;
  sum.disk_write += other.disk_write;
  sum.network_in += other.network_in;
  sum.network_out += other.network_out;
  return sum;
}

}  // namespace

std::optional<UsageCounters> process_usage(pid_t process, const fs::path& root) {
  const fs::path directory = root / "proc" / std::to_string(process);
  const std::string stat = readable(directory / "stat");
  const auto name_end = stat.rfind(')');  // the name of the program may have blanks and parentheses
  if (name_end == std::string::npos) return std::nullopt;
  const auto after = words(std::string_view(stat).substr(name_end + 1));  // from the third column on: the state
  if (after.size() < 22) return std::nullopt;
  UsageCounters used;
  used.cpu = ticks(number(after, 11) + number(after, 12));
  used.memory = number(after, 21) * page_bytes();
  const std::string io = readable(directory / "io");
  used.disk_read = value_of(io, "read_bytes:");
  used.disk_written = value_of(io, "write_bytes:");
  return used;
}

UsageCounters machine_usage(const fs::path& root) {
  UsageCounters used;
  const std::string stat = readable(root / "proc/stat");
  const auto columns =
      words(std::string_view(stat).substr(0, stat.find('\n')));  // cpu user nice system idle iowait irq softirq steal
  if (!columns.empty() && columns[0] == "cpu")
    used.cpu = ticks(number(columns, 1) + number(columns, 2) + number(columns, 3) + number(columns, 6) + number(columns, 7));
  const std::string memory = readable(root / "proc/meminfo");
  const std::uint64_t total = value_of(memory, "MemTotal:"), available = value_of(memory, "MemAvailable:");
  used.memory = (total - std::min(total, available)) << 10;
  add_disks(root, used);
  add_network(root, used);
  return used;
}

std::optional<UsageCounters> group_usage(const fs::path& root) {
  const auto group = unified_group(root);
  if (!group) return std::nullopt;
  const std::string cpu = readable(*group / "cpu.stat");
  if (cpu.find("usage_usec ") == std::string::npos) return std::nullopt;
  UsageCounters used;
  used.cpu = std::chrono::microseconds(value_of(cpu, "usage_usec "));
  const std::string memory = readable(*group / "memory.stat");
  used.memory = value_of(memory, "anon ") + value_of(memory, "shmem ");
  const std::string io = readable(*group / "io.stat");
  for (const std::string_view line : split(io, '\n')) {
    for (const std::string_view word : words(line)) {  // "8:0 rbytes=1 wbytes=2 …"
      if (word.starts_with("rbytes=")) used.disk_read += parse_number<std::uint64_t>(word.substr(7)).value_or(0);
      if (word.starts_with("wbytes=")) used.disk_written += parse_number<std::uint64_t>(word.substr(7)).value_or(0);
    }
  }
  return used;
}

ThreadMeter::ThreadMeter(const fs::path& root)
    : delays_(opened(root / "proc/thread-self/schedstat")), io_(opened(root / "proc/thread-self/io")) {}

ThreadUsage ThreadMeter::read() const {
  std::array<char, 512> room;
  ThreadUsage used;
  const std::string_view delays = content_of(delays_, room);  // "ran waited times", in nanoseconds
  used.ready = Duration(static_cast<std::int64_t>(number(words(delays), 1)));
  used.disk_written = value_of(content_of(io_, room), "write_bytes:");
  return used;
}

Usage usage_between(const UsageCounters& before, const UsageCounters& now, Duration elapsed) {
  Usage usage;
  usage.memory = static_cast<double>(now.memory);
  if (elapsed <= Duration(0)) return usage;
  const auto rate = [elapsed](std::uint64_t from, std::uint64_t to) {
    return to > from ? static_cast<double>(to - from) / in_seconds(elapsed) : 0;
  };
  usage.cpu = std::max(0.0, in_seconds(now.cpu - before.cpu) / in_seconds(elapsed));
  usage.disk_read = rate(before.disk_read, now.disk_read);
  usage.disk_write = rate(before.disk_written, now.disk_written);
  usage.network_in = rate(before.received, now.received);
  usage.network_out = rate(before.sent, now.sent);
  return usage;
}

UsageMeter::Reading UsageMeter::read(std::span<const pid_t> processes, TimePoint now) {
  const Duration elapsed = last_ ? now - *last_ : Duration(0);
  last_ = now;
  Reading reading;
  const UsageCounters machine = machine_usage(root_);
  reading.machine = usage_between(std::exchange(machine_, machine), machine, elapsed);
  const auto group = group_usage(root_);
  if (group)
    reading.processes = usage_between(group_.value_or(*group), *group, elapsed);
  else
    reading.processes = of_processes(processes, elapsed);
  group_ = group;
  reading.processes.network_in = reading.machine.network_in;
  reading.processes.network_out = reading.machine.network_out;
  return reading;
}

Usage UsageMeter::of_processes(std::span<const pid_t> processes, Duration elapsed) {
  Usage sum;
  std::map<pid_t, UsageCounters> read;
  for (const pid_t process : processes) {
    const auto used = process_usage(process, root_);
    if (!used) continue;
    const auto known = processes_.find(process);
    sum += usage_between(known == processes_.end() ? UsageCounters{} : known->second, *used, elapsed);
    read[process] = *used;
  }
  processes_ = std::move(read);
  return sum;
}

}  // namespace weft
