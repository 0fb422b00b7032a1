#include "base/control_group.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cgroup.hpp"
#include "base/file.hpp"
#include "base/text.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "weft-job-";
// The controllers, in the order in which processes enter their hierarchies: measured to be the fastest.
constexpr std::array<const char*, 3> kControllers{"pids", "cpu", "memory"};
constexpr int kRemovals = 1000;  // a millisecond between them

/// In one write, as the kernel wants it.
Result<void> put(const fs::path& file, std::string_view text) {
  const Fd opened(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!opened.valid()) return fail(errno_error("cannot write " + file.string(), errno));
  if (::write(opened.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail(errno_error(fmt::format("cannot write '{}' into {}", text, file.string()), errno));
  return {};
}

std::uint64_t count_in(const fs::path& file, std::string_view name) {
  const auto content = read_file(file);
  for (const std::string_view line : split(content ? std::string_view(*content) : std::string_view(), '\n'))
    if (line.starts_with(name) && line.substr(name.size()).starts_with(' '))
      return parse_number<std::uint64_t>(trim(line.substr(name.size()))).value_or(0);
  return 0;
}

std::vector<pid_t> processes_in(const fs::path& group) {
  std::vector<pid_t> found;
  const auto content = read_file(group / "cgroup.procs");
  for (const std::string_view line : split(content ? std::string_view(*content) : std::string_view(), '\n'))
    if (const auto pid = parse_number<pid_t>(trim(line)); pid && *pid > 0) found.push_back(*pid);
  return found;
}

/// Processes have numbers within a namespace; groups are seen from others, too.
std::string process_namespace() {
  std::error_code error;
  const std::string link = fs::read_symlink("/proc/self/ns/pid", error).string();  // "pid:[4026531836]"
  const auto begin = link.find('[');
  return begin == std::string::npos ? "0" : link.substr(begin + 1, link.size() - begin - 2);
}

bool has_controller(const fs::path& group, std::string_view name) {
  const auto listed = read_file(group / "cgroup.controllers");
  const auto names = split(listed ? trim(*listed) : std::string_view(), ' ');
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Lets groups of version 2 in this one have limits.
Result<void> delegate(const fs::path& group, bool own) {
  std::string wanted;
  for (const char* controller : kControllers)
    if (has_controller(group, controller)) wanted += std::string(wanted.empty() ? "+" : " +") + controller;
  if (wanted.empty()) return {};
  if (own) {
    const fs::path leaf = group / kOwnGroup;
    if (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return fail(errno_error("cannot make " + leaf.string(), errno));
    WEFT_TRY(put(leaf / "cgroup.procs", "0"));
  }
  return put(group / "cgroup.subtree_control", wanted);
}

}  // namespace

ControlGroup::~ControlGroup() {
  if (directories_.empty()) return;
  if (!pids_.empty()) (void)put(pids_ / "pids.max", "0");  // what is killed cannot start another meanwhile
  entries_.clear();
  for (int attempt = 0; attempt < kRemovals && !directories_.empty(); ++attempt) {
    kill_all();
    std::erase_if(directories_, [](const fs::path& directory) { return ::rmdir(directory.c_str()) == 0 || errno == ENOENT; });
    if (!directories_.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void ControlGroup::kill_all() const {
  if (unified_.valid() && put(directories_.front() / "cgroup.kill", "1")) return;
  for (const fs::path& directory : directories_)
    for (const pid_t process : processes_in(directory)) ::kill(process, SIGKILL);
}

std::vector<int> ControlGroup::entries() const {
  std::vector<int> descriptors;
  for (const Fd& entry : entries_) descriptors.push_back(entry.get());
  return descriptors;
}

std::uint64_t ControlGroup::refused_processes() const { return pids_.empty() ? 0 : count_in(pids_ / "pids.events", "max"); }

std::uint64_t ControlGroup::memory_kills() const {
  if (memory_.empty()) return 0;
  return count_in(memory_ / (unified_.valid() ? "memory.events" : "memory.oom_control"), "oom_kill");
}

Result<void> ControlGroup::add(const fs::path& directory, bool unified) {
  if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST)
    return fail(errno_error("cannot make " + directory.string(), errno));
  directories_.push_back(directory);
  // By "tasks" a process without other threads enters a group of version 1; by "cgroup.procs" it would wait for all processors.
  Fd opened(unified ? ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                    : ::open((directory / "tasks").c_str(), O_WRONLY | O_CLOEXEC));
  if (!opened.valid()) return fail(errno_error("cannot open the group " + directory.string(), errno));
  if (unified)
    unified_ = std::move(opened);
  else
    entries_.push_back(std::move(opened));
  return {};
}

Result<void> ControlGroup::limit(const GroupLimits& limits) {
  if (limits.processes != 0 && !pids_.empty()) WEFT_TRY(put(pids_ / "pids.max", std::to_string(limits.processes)));
  if (limits.memory_bytes == 0 || memory_.empty()) return {};
  return put(memory_ / (unified_.valid() ? "memory.max" : "memory.limit_in_bytes"), std::to_string(limits.memory_bytes));
}

Result<GroupParent> GroupParent::open(const std::string& where, const fs::path& root) {
  const bool own = where == "auto";
  GroupParent parent;
  parent.prefix_ = fmt::format("{}{}-{}-", kPrefix, process_namespace(), ::getpid());
  for (const char* controller : kControllers) {
    const auto place = group_place(controller, root);
    if (!place) continue;
    fs::path directory = own ? place->group : place->top / fs::path(where).relative_path();
    if (own && place->unified && directory.filename() == kOwnGroup) directory = directory.parent_path();  // from another time
    auto known = std::find_if(parent.hierarchies_.begin(), parent.hierarchies_.end(),
                              [&](const Hierarchy& hierarchy) { return hierarchy.directory == directory; });
    if (known == parent.hierarchies_.end()) {
      if (!own && ::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST)
        return fail(errno_error("cannot make the control group " + directory.string(), errno));
      if (::access(directory.c_str(), W_OK) != 0)
        return fail(errno_error("cannot make control groups in " + directory.string(), errno));
      if (place->unified) WEFT_TRY(delegate(directory, own));
      known = parent.hierarchies_.insert(parent.hierarchies_.end(), Hierarchy{directory, place->unified, false, false});
    }
    const bool there = !known->unified || has_controller(directory, controller);
    known->pids |= there && std::string_view(controller) == "pids";
    known->memory |= there && std::string_view(controller) == "memory";
  }
  if (parent.hierarchies_.empty()) return fail(Code::not_found, "this system has no control groups");
  parent.sweep();
  return parent;
}

Result<ControlGroup> GroupParent::make(const std::string& name, const GroupLimits& limits) const {
  ControlGroup group;
  for (const Hierarchy& hierarchy : hierarchies_) {
    const fs::path directory = hierarchy.directory / (prefix_ + name);
    WEFT_TRY(group.add(directory, hierarchy.unified));
    if (hierarchy.pids) group.pids_ = directory;
    if (hierarchy.memory) group.memory_ = directory;
  }
  WEFT_TRY(group.limit(limits));
  return group;
}

void GroupParent::sweep() const {
  const std::string ours = fmt::format("{}{}-", kPrefix, process_namespace());
  for (const Hierarchy& hierarchy : hierarchies_) {
    std::error_code error;
    for (fs::directory_iterator at(hierarchy.directory, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (!name.starts_with(ours)) continue;
      const auto process = parse_number<pid_t>(name.substr(ours.size(), name.find('-', ours.size()) - ours.size()));
      if (!process || *process <= 0 || ::kill(*process, 0) == 0 || errno != ESRCH) continue;
      ControlGroup left;
      if (hierarchy.pids) left.pids_ = at->path();
      left.directories_.push_back(at->path());
    }
  }
}

}  // namespace weft
