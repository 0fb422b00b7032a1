// weft fs ls, stat, mkdir, mv, rm, du, setrep.
#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/tools/cli/fs_commands.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "engine/tools/display/storage_json.hpp"
#include "engine/tools/display/text_table.hpp"
#include "storage/namespace/mode.hpp"
#include "storage/namespace/path.hpp"

namespace weft::tools {

namespace {

using storage::FileStatus;
using storage::files::FileSystem;

/// Times as people read them. Entries of a directory are often of one minute.
class Calendar {
 public:
  const std::string& text(std::int64_t ms) {
    const std::int64_t minute = ms / 60'000;
    if (minute == minute_) return text_;
    minute_ = minute;
    const auto seconds = static_cast<std::time_t>(ms / 1000);
    std::tm parts{};
    localtime_r(&seconds, &parts);
    char text[32] = {};
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
    return text_ = text;
  }

 private:
  std::int64_t minute_ = INT64_MIN;
  std::string text_;
};

}  // namespace

Result<void> fs_list(const FsOptions& options) {
  WEFT_ASSIGN(const bool foreign, names_foreign(options.paths));
  if (foreign) return list_foreign(options);
  std::vector<FileStatus> all;
  WEFT_TRY(for_each_path(options, [&all](FileSystem& files, const std::string& path) -> Result<void> {
    WEFT_ASSIGN(auto some, files.list(path));
    if (all.empty())
      all = std::move(some);
    else
      std::move(some.begin(), some.end(), std::back_inserter(all));
    return {};
  }));
  if (options.json) return print(files_json(all));
  TextTable table({"TYPE", "MODE", "REPLICAS", "USER", "SIZE", "MODIFIED", "PATH"});
  Calendar calendar;
  for (const FileStatus& status : all)
    table.cell(status.directory ? "dir" : "file")
        .cell(storage::mode_text(status.mode))
        .cell(status.directory ? "-" : std::to_string(status.replication))
        .cell(status.user)
        .cell(status.directory ? std::to_string(status.entries) + " entries" : human_bytes(status.bytes))
        .cell(calendar.text(status.modified_ms))
        .cell(status.path);
  return print(table.text());
}

Result<void> fs_stat(const FsOptions& options) {
  std::vector<FileStatus> all;
  Calendar calendar;
  WEFT_TRY(for_each_path(options, [&](FileSystem& files, const std::string& path) -> Result<void> {
    WEFT_ASSIGN(const FileStatus status, files.stat(path));
    all.push_back(status);
    if (options.json) return {};
    if (status.directory)
      fmt::print("{}: directory of {}, mode {}, {} entries, made {}\n", escaped(status.path), status.user,
                 storage::mode_text(status.mode), status.entries, calendar.text(status.modified_ms));
    else
      fmt::print("{}: file of {}, mode {}, {} bytes in {} chunks of up to {}, {} replicas, written {}\n", escaped(status.path),
                 status.user, storage::mode_text(status.mode), status.bytes, status.chunks, human_bytes(status.chunk_bytes),
                 status.replication, calendar.text(status.modified_ms));
    return {};
  }));
  return options.json ? print(files_json(all)) : Result<void>();
}

Result<void> fs_make_directory(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  for (const std::string& path : options.paths) WEFT_TRY(files->make_directory(without_slash(path), options.parents));
  return {};
}

Result<void> fs_move(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const auto sources, expanded(*files, {options.paths.begin(), options.paths.end() - 1}));
  WEFT_ASSIGN(const std::string target, storage::parse_path(without_slash(options.paths.back())));
  const auto there = files->stat(target);
  const bool into = there && there->directory && !options.replace;
  if (sources.size() > 1 && !into)
    return fail(Code::invalid_argument, fmt::format("{} is no directory, and there are several files", escaped(target)));
  for (const std::string& source : sources)
    WEFT_TRY(files->rename(source, into ? storage::joined(target, storage::name_of(source)) : target, options.replace));
  return {};
}

Result<void> fs_remove(const FsOptions& options) {
  return for_each_path(options, [&](FileSystem& files, const std::string& path) { return files.remove(path, options.recursive); });
}

Result<void> fs_usage(const FsOptions& options) {
  std::vector<std::pair<std::string, storage::Usage>> all;
  WEFT_TRY(for_each_path(options, [&all](FileSystem& files, const std::string& path) -> Result<void> {
    WEFT_ASSIGN(const storage::Usage usage, files.usage(path));
    all.emplace_back(path, usage);
    return {};
  }));
  if (options.json)
    return print(json_line(objects(all, [](JsonWriter& json, const auto& one) {
      const auto& [path, usage] = one;
      members(json, "path", path, "bytes", usage.bytes, "stored_bytes", usage.stored_bytes, "files", usage.files, "directories",
              usage.directories, "chunks", usage.chunks);
    })));
  TextTable table({"SIZE", "STORED", "FILES", "DIRECTORIES", "CHUNKS", "PATH"});
  for (const auto& [path, usage] : all)
    table.row(human_bytes(usage.bytes), human_bytes(usage.stored_bytes), usage.files, usage.directories, usage.chunks, path);
  return print(table.text());
}

Result<void> fs_change_mode(const FsOptions& options) {
  return for_each_path(
      options, [&](FileSystem& files, const std::string& path) { return files.set_mode(path, options.mode, options.recursive); });
}

Result<void> fs_change_owner(const FsOptions& options) {
  return for_each_path(
      options, [&](FileSystem& files, const std::string& path) { return files.set_owner(path, options.owner, options.recursive); });
}

Result<void> fs_set_replication(const FsOptions& options) {
  return for_each_path(
      options, [&](FileSystem& files, const std::string& path) { return files.set_replication(path, options.replication); });
}

}  // namespace weft::tools
