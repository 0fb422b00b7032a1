#include "storage/tables/replica_directories.hpp"

#include <filesystem>
#include <optional>

#include <fmt/core.h>

#include "base/file.hpp"
#include "base/private_directory.hpp"
#include "base/text.hpp"

namespace weft::storage::tables {
namespace {

namespace fs = std::filesystem;

std::optional<PlaceId> place_of(const std::string& name) {
  const auto parts = split(name, '-');
  const auto table = parts.size() == 2 ? parse_number<std::uint64_t>(parts[0]) : std::nullopt;
  const auto partition = parts.size() == 2 ? parse_number<std::uint32_t>(parts[1]) : std::nullopt;
  if (!table || !partition) return std::nullopt;
  return PlaceId{TableId(*table), *partition};
}

/// A copy, or what one replaced. The latter comes back when the copy did not get its name: then its new path.
Result<std::optional<std::string>> clear_away(const std::string& left) {
  std::error_code error;
  const fs::path path = left.substr(0, left.rfind('.'));
  if (left.ends_with(".old") && !fs::exists(path, error) && place_of(path.filename().string())) {
    fs::rename(left, path, error);
    if (error) return fail(Code::io, fmt::format("cannot rename {}: {}", left, error.message()));
    return path.string();
  }
  fs::remove_all(left, error);
  return std::nullopt;
}

}  // namespace

/// The partitions in the directories, all of this cluster.
Result<std::map<PlaceId, std::string>> find_replicas(const std::vector<std::string>& directories, const std::string& cluster) {
  std::map<PlaceId, std::string> found;
  for (const std::string& directory : directories) {
    const fs::path tables = fs::path(directory) / "tables";
    std::error_code error;
    WEFT_TRY(make_private_directory(tables));
    const std::string mark = (tables / "CLUSTER").string();
    if (!fs::exists(mark, error)) WEFT_TRY(write_file(mark, cluster));
    WEFT_ASSIGN(const std::string known, read_file(mark));
    if (trim(known) != cluster)
      return fail(Code::version_mismatch, fmt::format("{} has tables of cluster {}, the master is of {}; name another --chunk-dir",
                                                      tables.string(), escaped(trim(known).substr(0, 64)), cluster));
    std::vector<std::string> left;
    for (fs::directory_iterator at(tables, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (name.ends_with(".copy") || name.ends_with(".old")) {
        left.push_back(at->path().string());
        continue;
      }
      if (const auto place = place_of(name)) found.emplace(*place, at->path().string());
    }
    if (error) return fail(Code::io, fmt::format("cannot read {}: {}", tables.string(), error.message()));
    for (const std::string& path : left) {
      WEFT_ASSIGN(const auto restored, clear_away(path));
      if (restored) found.emplace(*place_of(fs::path(*restored).filename().string()), *restored);
    }
  }
  return found;
}

Result<void> replace_replica(const std::string& path, bool keep_old) {
  std::error_code error;
  if (fs::exists(path, error)) {
    std::string aside = path + ".old";
    for (int number = 1; keep_old; ++number) {
      aside = fmt::format("{}.damaged-{}", path, number);
      if (!fs::exists(aside, error)) break;
    }
    fs::remove_all(path + ".old", error);
    fs::rename(path, aside, error);
    if (error) return fail(Code::io, fmt::format("cannot rename {}: {}", path, error.message()));
  }
  fs::rename(path + ".copy", path, error);
  if (error) return fail(Code::io, fmt::format("cannot rename {}.copy: {}", path, error.message()));
  fs::remove_all(path + ".old", error);
  return {};
}

}  // namespace weft::storage::tables
