#include "tests/support/peak_memory.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::test {
namespace {

constexpr auto kScanInterval = std::chrono::milliseconds(64);  // of all processes, for new ones

struct Member {
  int pid = 0;
  std::string role;   // driver, worker, executor
  std::string group;  // the worker it belongs to
};

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  DIR* handle = ::opendir(directory.c_str());
  if (handle == nullptr) return names;
  while (const dirent* entry = ::readdir(handle))
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') names.emplace_back(entry->d_name);
  ::closedir(handle);
  return names;
}

/// 0 when the process is gone.
int parent_of(const std::string& pid) {
  const std::string stat = contents("/proc/" + pid + "/stat");
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > stat.size()) return 0;
  int parent = 0;
  std::from_chars(stat.data() + name_end + 4, stat.data() + stat.size(), parent);
  return parent;
}

std::string argument(int pid) {
  const std::string line = contents("/proc/" + std::to_string(pid) + "/cmdline");
  return line.substr(0, line.find('\0'));
}

/// A worker of a private cluster calls itself "JOB (weft worker-1)".
std::string worker_name(int pid) {
  const std::string name = argument(pid);
  const auto at = name.find("(weft ");
  return at == std::string::npos ? "" : name.substr(at + 6, name.find(')', at) - at - 6);
}

std::vector<Member> tree_of(int root) {
  std::map<int, std::vector<int>> children;
  for (const std::string& name : names_in("/proc")) children[parent_of(name)].push_back(std::stoi(name));
  std::vector<Member> members{{root, "driver", ""}};
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const int child : children[members[i].pid]) {
      const std::string name = worker_name(child);
      const Member above = members[i];
      members.push_back({child, above.group.empty() && !name.empty() ? "worker" : "executor", name.empty() ? above.group : name});
    }
  }
  return members;
}

std::uint64_t anonymous_bytes(int pid) {
  const std::string status = contents("/proc/" + std::to_string(pid) + "/status");
  const auto at = status.find("RssAnon:");
  if (at == std::string::npos) return 0;
  std::uint64_t kilobytes = 0;
  std::istringstream(status.substr(at + 8, 32)) >> kilobytes;
  return kilobytes << 10;
}

using Memfds = std::map<std::pair<dev_t, ino_t>, std::uint64_t>;

void add_memfds(int pid, Memfds& found) {
  const std::string directory = "/proc/" + std::to_string(pid) + "/fd";
  for (const std::string& name : names_in(directory)) {
    const std::string path = directory + "/" + name;
    char target[64];
    const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
    struct stat info {};
    if (size < 7 || !std::string_view(target, 7).starts_with("/memfd:") || ::stat(path.c_str(), &info) != 0) continue;
    found[{info.st_dev, info.st_ino}] = static_cast<std::uint64_t>(info.st_blocks) * 512;
  }
}

std::uint64_t sum(const Memfds& memfds) {
  std::uint64_t bytes = 0;
  for (const auto& [inode, size] : memfds) bytes += size;
  return bytes;
}

void raise(std::uint64_t& peak, std::uint64_t value) { peak = std::max(peak, value); }

void sample(const std::vector<Member>& members, MemoryPeak& peak) {
  struct Group {
    std::uint64_t anonymous = 0;
    Memfds memfds;
  };
  std::map<std::string, Group> groups;
  Memfds all;
  std::uint64_t anonymous = 0;
  for (const Member& member : members) {
    const std::uint64_t bytes = anonymous_bytes(member.pid);
    anonymous += bytes;
    raise(peak.processes[member.role + (member.group.empty() ? "" : " " + member.group)], bytes);
    Group& group = groups[member.group];
    group.anonymous += bytes;
    add_memfds(member.pid, group.memfds);
  }
  for (const auto& [name, group] : groups) {
    raise(peak.groups[name], group.anonymous + sum(group.memfds));
    all.insert(group.memfds.begin(), group.memfds.end());
  }
  const std::uint64_t shared = sum(all);
  if (anonymous + shared <= peak.total) return;
  std::tie(peak.total, peak.anonymous, peak.shared) = std::tuple(anonymous + shared, anonymous, shared);
}

}  // namespace

MemoryWatch::MemoryWatch(int pid, std::chrono::milliseconds interval)
    : pid_(pid), interval_(interval), thread_([this] { watch(); }) {}

MemoryWatch::~MemoryWatch() { finish(); }

MemoryPeak MemoryWatch::finish() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  return peak_;
}

void MemoryWatch::watch() {
  std::vector<Member> members;
  for (auto since_scan = kScanInterval; !stop_; since_scan += interval_) {
    if (since_scan >= kScanInterval) {
      members = tree_of(pid_);
      since_scan = {};
    }
    sample(members, peak_);
    std::this_thread::sleep_for(interval_);
  }
}

}  // namespace weft::test
