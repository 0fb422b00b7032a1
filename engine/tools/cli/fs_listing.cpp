// weft fs ls, stat, mkdir, mv, rm, du, setrep.
#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/tools/cli/fs_commands.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/display/storage_json.hpp"
#include "engine/tools/display/table.hpp"
#include "storage/namespace/path.hpp"

namespace weft::tools {

namespace {

using storage::FileStatus;

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
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const auto paths, expanded(*files, options.paths));
  std::vector<FileStatus> all;
  for (const std::string& path : paths) {
    WEFT_ASSIGN(auto some, files->list(path));
    if (all.empty())
      all = std::move(some);
    else
      std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  if (options.json) {
    print(files_json(all));
    return {};
  }
  Table table({"TYPE", "REPLICAS", "USER", "SIZE", "MODIFIED", "PATH"});
  Calendar calendar;
  for (const FileStatus& status : all)
    table.cell(status.directory ? "dir" : "file")
        .cell(status.directory ? "-" : std::to_string(status.replication))
        .cell(status.user)
        .cell(status.directory ? std::to_string(status.entries) + " entries" : human_bytes(status.bytes))
        .cell(calendar.text(status.modified_ms))
        .cell(status.path);
  print(table.text());
  return {};
}

Result<void> fs_stat(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const auto paths, expanded(*files, options.paths));
  std::vector<FileStatus> all;
  Calendar calendar;
  for (const std::string& path : paths) {
    WEFT_ASSIGN(const FileStatus status, files->stat(path));
    all.push_back(status);
    if (options.json) continue;
    if (status.directory)
      fmt::print("{}: directory of {}, {} entries, made {}\n", escaped(status.path), status.user, status.entries,
                 calendar.text(status.modified_ms));
    else
      fmt::print("{}: file of {}, {} bytes in {} chunks of up to {}, {} replicas, written {}\n", escaped(status.path), status.user,
                 status.bytes, status.chunks, human_bytes(status.chunk_bytes), status.replication,
                 calendar.text(status.modified_ms));
  }
  if (options.json) print(files_json(all));
  return {};
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
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const auto paths, expanded(*files, options.paths));
  for (const std::string& path : paths) WEFT_TRY(files->remove(path, options.recursive));
  return {};
}

Result<void> fs_usage(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const auto paths, expanded(*files, options.paths));
  JsonWriter json;
  json.begin_array();
  Table table({"SIZE", "STORED", "FILES", "DIRECTORIES", "CHUNKS", "PATH"});
  for (const std::string& path : paths) {
    WEFT_ASSIGN(const storage::Usage usage, files->usage(path));
    json.begin_object();
    members(json, "path", path, "bytes", usage.bytes, "stored_bytes", usage.stored_bytes, "files", usage.files, "directories",
            usage.directories, "chunks", usage.chunks);
    json.end_object();
    table.add({human_bytes(usage.bytes), human_bytes(usage.stored_bytes), std::to_string(usage.files),
               std::to_string(usage.directories), std::to_string(usage.chunks), path});
  }
  print(options.json ? json.end_array().text() + "\n" : table.text());
  return {};
}

Result<void> fs_set_replication(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const auto paths, expanded(*files, options.paths));
  for (const std::string& path : paths) WEFT_TRY(files->set_replication(path, options.replication));
  return {};
}

}  // namespace weft::tools
