#include "runtime/worker/kept_name.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/core.h>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/private_directory.hpp"
#include "base/text.hpp"
#include "base/unguessable.hpp"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 512;

fs::path file_in(const std::string& directory) { return fs::path(directory) / "tables" / "WORKER"; }

/// not_found: it has none.
Result<std::string> name_in(const std::string& directory) {
  WEFT_ASSIGN(const std::string text, read_file(file_in(directory), 2 * kLongestName));
  std::string name(trim(text));
  const bool printable = std::all_of(name.begin(), name.end(), [](unsigned char c) { return c > ' ' && c != 0x7f; });
  if (name.empty() || name.size() > kLongestName || !printable)
    return fail(Code::corrupt, fmt::format("{} holds no name of a worker; write the right one there, or give --name",
                                           file_in(directory).string()));
  return name;
}

Result<void> keep(const std::string& directory, const std::string& name) {
  WEFT_TRY(make_private_directory(file_in(directory).parent_path()));
  return write_file(file_in(directory), name + "\n");
}

}  // namespace

std::string kept_name(const std::vector<std::string>& directories, const std::string& host) {
  Log log("worker");
  std::string name, from;
  std::vector<std::string> without;
  for (const std::string& directory : directories) {
    const auto found = name_in(directory);
    if (found && !name.empty() && *found != name)
      log.warn("{} is of worker {}, and {} of worker {}: this one goes by the first name; give --name if that is wrong", from, name,
               directory, *found);
    if (found && name.empty()) name = *found, from = directory;
    if (!found && found.error().code() == Code::not_found) without.push_back(directory);
    if (!found && found.error().code() != Code::not_found) log.warn("{}", found.error().to_string());
  }
  bool kept = !name.empty();
  if (!kept) name = fmt::format("{}-{:08x}", host, unguessable_number() >> 32);
  for (const std::string& directory : without) {
    const auto written = keep(directory, name);
    if (!written) log.warn("{}", written.error().to_string());
    kept = kept || written;
  }
  if (!kept)
    log.warn(
        "no chunk directory keeps the name {}: started again, this worker has another one, and its partitions of tables are not "
        "found; give it a --name",
        name);
  return name;
}

}  // namespace weft::runtime
