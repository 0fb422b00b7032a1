// What the commands of `weft fs` do. Their options are declared in fs.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/tools/cli/options.hpp"
#include "storage/files/file_system.hpp"

namespace weft::tools {

struct FsOptions {
  MasterOption master;
  std::string user;                // empty: the user of this process
  std::vector<std::string> paths;  // as written
  storage::CreateOptions create;
  bool recursive = false, parents = false, replace = false, json = false;
  bool salvage = false, blocks = false, locations = false, wait = false;
  std::uint64_t lines = 10;
  std::uint64_t bytes = 0;  // instead of lines, when not 0
  std::uint32_t replication = 0;
  double threshold = 0.1;
  storage::Quota quota;
  std::uint32_t mode = 0;
  std::string owner;
};

// Each connects, does it, and prints to stdout. "-" is stdin or stdout.
Result<void> fs_put(const FsOptions& options);
Result<void> fs_get(const FsOptions& options);
Result<void> fs_cat(const FsOptions& options);
Result<void> fs_copy(const FsOptions& options);
Result<void> fs_head(const FsOptions& options);
Result<void> fs_tail(const FsOptions& options);
Result<void> fs_list(const FsOptions& options);
Result<void> fs_stat(const FsOptions& options);
Result<void> fs_make_directory(const FsOptions& options);
Result<void> fs_move(const FsOptions& options);
Result<void> fs_remove(const FsOptions& options);
Result<void> fs_usage(const FsOptions& options);
Result<void> fs_set_replication(const FsOptions& options);
Result<void> fs_change_mode(const FsOptions& options);
Result<void> fs_change_owner(const FsOptions& options);
/// An error when a file cannot be read whole.
Result<void> fs_check(const FsOptions& options);
Result<void> fs_balance(const FsOptions& options);
Result<void> fs_report(const FsOptions& options);
Result<void> fs_quota(const FsOptions& options);
Result<void> fs_leave_safe_mode(const FsOptions& options);
Result<void> node_drain(const FsOptions& options, bool on);

/// For the files of fs_*.cpp.
Result<std::shared_ptr<storage::files::FileSystem>> connect(const FsOptions& options);
/// All paths that the written ones and their patterns mean, in the order they were written. A / at the end is fine.
Result<std::vector<std::string>> expanded(storage::files::FileSystem& files, const std::vector<std::string>& written);
/// Connects, and calls visit(files, path) for each of these paths until one fails.
using VisitPath = std::function<Result<void>(storage::files::FileSystem& files, const std::string& path)>;
Result<void> for_each_path(const FsOptions& options, const VisitPath& visit);
std::string without_slash(std::string path);
/// Whether the paths are URLs of other stores (s3://, hdfs://); an error when only some are.
Result<bool> names_foreign(const std::vector<std::string>& paths);
/// What fs_list and fs_cat do with these.
Result<void> list_foreign(const FsOptions& options);
Result<void> print_foreign(const FsOptions& options);

}  // namespace weft::tools
