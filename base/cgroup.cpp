#include "base/cgroup.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// Version 1 knows no "max": a limit that no machine reaches is none.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;

/// A hierarchy of a controller, and where the process is in it.
struct Hierarchy {
  bool unified = false;  // version 2
  fs::path top;          // as mounted
  fs::path group;        // top, or below it
};

std::string content_of(const fs::path& file) { return read_file(file).value_or(std::string()); }

/// "\040" for a blank and the like, as mountinfo has them.
std::string unescaped(std::string_view text) {
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) && octal(text[i + 3])) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool lists(std::string_view comma_separated, std::string_view word) {
  const auto words = split(comma_separated, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Lines "ID:CONTROLLERS:PATH": the path in the hierarchy of version 2 (no controllers), or of the controller.
std::optional<std::string> path_in_hierarchy(std::string_view cgroups, std::string_view controller, bool unified) {
  for (const std::string_view line : split(cgroups, '\n')) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (unified ? controllers.empty() && line.starts_with("0:") : lists(controllers, controller))
      return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

/// `path` below what is mounted; the mount itself when that is not above the group (a container that sees other names).
fs::path below(const fs::path& top, const std::string& mounted, const std::string& path) {
  std::string_view rest = path;
  if (mounted != "/") {
    if (!rest.starts_with(mounted) || (rest.size() > mounted.size() && rest[mounted.size()] != '/')) return top;
    rest.remove_prefix(mounted.size());
  }
  while (rest.starts_with('/')) rest.remove_prefix(1);
  if (rest.empty() || rest.starts_with("..")) return top;
  const fs::path group = top / rest;
  std::error_code error;
  return fs::is_directory(group, error) ? group : top;
}

/// Of a line of mountinfo: "ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS [TAGS …] - TYPE SOURCE SUPEROPTIONS".
std::optional<Hierarchy> hierarchy_of(std::string_view line, std::string_view cgroups, std::string_view controller,
                                      const fs::path& root) {
  const auto dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  const auto before = split(line.substr(0, dash), ' '), after = split(line.substr(dash + 3), ' ');
  if (before.size() < 5 || after.size() < 3) return std::nullopt;
  const bool unified = after[0] == "cgroup2";
  if (!unified && (after[0] != "cgroup" || !lists(after[2], controller))) return std::nullopt;
  const auto path = path_in_hierarchy(cgroups, controller, unified);
  if (!path) return std::nullopt;
  Hierarchy found;
  found.unified = unified;
  found.top = root / fs::path(unescaped(before[4])).relative_path();
  found.group = below(found.top, unescaped(before[3]), *path);
  return found;
}

std::vector<Hierarchy> hierarchies(const fs::path& root, std::string_view controller = "memory") {
  const std::string cgroups = content_of(root / "proc/self/cgroup");
  const std::string mounts = content_of(root / "proc/self/mountinfo");
  std::vector<Hierarchy> all;
  for (const std::string_view line : split(mounts, '\n'))
    if (auto found = hierarchy_of(line, cgroups, controller, root)) all.push_back(std::move(*found));
  return all;
}

/// The group and those above it, as far as they can be seen.
std::vector<fs::path> upwards(const Hierarchy& hierarchy) {
  std::vector<fs::path> groups{hierarchy.group};
  while (groups.back() != hierarchy.top && groups.back().has_relative_path()) groups.push_back(groups.back().parent_path());
  return groups;
}

std::uint64_t limit_in(const fs::path& file) {
  return parse_number<std::uint64_t>(trim(content_of(file))).value_or(kNoLimit);  // "max", or no such file
}

/// The value of a line "NAME VALUE".
std::optional<std::uint64_t> value_in(const fs::path& file, std::string_view name) {
  const std::string content = content_of(file);
  for (const std::string_view line : split(content, '\n'))
    if (line.starts_with(name) && line.substr(name.size()).starts_with(' '))
      return parse_number<std::uint64_t>(trim(line.substr(name.size())));
  return std::nullopt;
}

/// A group's own limit of processors.
std::optional<double> own_processors(const fs::path& group, bool unified) {
  std::string quota = content_of(group / "cpu.cfs_quota_us"), period = content_of(group / "cpu.cfs_period_us");
  if (unified) {  // "QUOTA PERIOD", "max PERIOD" without a limit
    const std::string both = content_of(group / "cpu.max");
    const auto words = split(trim(both), ' ');
    if (words.size() != 2) return std::nullopt;
    quota = words[0];
    period = words[1];
  }
  const auto used = parse_number<std::uint64_t>(trim(quota)), of = parse_number<std::uint64_t>(trim(period));  // -1: no limit
  if (!used || !of || *used == 0 || *of == 0) return std::nullopt;
  return static_cast<double>(*used) / static_cast<double>(*of);
}

/// A group's own limit of memory.
std::uint64_t own_limit(const fs::path& group, bool unified) {
  if (!unified) return limit_in(group / "memory.limit_in_bytes");
  return std::min(limit_in(group / "memory.max"), limit_in(group / "memory.high"));
}

MemoryLimit tightest(const Hierarchy& hierarchy) {
  MemoryLimit limit{kNoLimit, {}};
  for (const fs::path& group : upwards(hierarchy)) {
    const std::uint64_t bytes = own_limit(group, hierarchy.unified);
    if (bytes < limit.bytes) limit = {bytes, group.string()};
  }
  if (hierarchy.unified) return limit;
  // What counts in version 1: it knows of groups above what is mounted, and of groups whose limit does not bind those below.
  const auto counts = value_in(hierarchy.group / "memory.stat", "hierarchical_memory_limit");
  if (counts && *counts != limit.bytes) limit = {*counts, hierarchy.group.string()};
  return limit;
}

}  // namespace

std::optional<MemoryLimit> memory_limit(const fs::path& root) {
  MemoryLimit limit{kNoLimit, {}};
  for (const Hierarchy& hierarchy : hierarchies(root))
    if (MemoryLimit found = tightest(hierarchy); found.bytes < limit.bytes) limit = std::move(found);
  if (limit.bytes >= kNoLimit) return std::nullopt;
  return limit;
}

std::optional<double> processor_limit(const fs::path& root) {
  std::optional<double> limit;
  for (const Hierarchy& hierarchy : hierarchies(root, "cpu")) {
    for (const fs::path& group : upwards(hierarchy)) {
      if (const auto own = own_processors(group, hierarchy.unified)) limit = std::min(limit.value_or(*own), *own);
    }
  }
  return limit;
}

std::uint64_t memory_kills(const fs::path& root) {
  std::uint64_t kills = 0;
  for (const Hierarchy& hierarchy : hierarchies(root))
    kills += value_in(hierarchy.group / (hierarchy.unified ? "memory.events" : "memory.oom_control"), "oom_kill").value_or(0);
  return kills;
}

std::optional<fs::path> unified_group(const fs::path& root) {
  for (const Hierarchy& hierarchy : hierarchies(root)) {
    std::error_code error;
    const fs::path group = hierarchy.group.filename() == kOwnGroup ? hierarchy.group.parent_path() : hierarchy.group;
    if (hierarchy.unified && fs::exists(group / "memory.max", error)) return group;
  }
  return std::nullopt;
}

std::optional<GroupPlace> group_place(std::string_view controller, const fs::path& root) {
  std::optional<GroupPlace> unified;
  for (Hierarchy& hierarchy : hierarchies(root, controller)) {
    GroupPlace place{hierarchy.unified, std::move(hierarchy.top), std::move(hierarchy.group)};
    if (!place.unified) return place;
    const std::string listed = content_of(place.group / "cgroup.controllers");
    const auto names = split(trim(listed), ' ');
    if (std::find(names.begin(), names.end(), controller) != names.end()) unified = std::move(place);
  }
  return unified;
}

}  // namespace weft
