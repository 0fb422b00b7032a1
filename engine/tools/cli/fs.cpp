// weft fs, weft node drain: the options. What the commands do is in fs_transfer.cpp, fs_copy.cpp and fs_listing.cpp.
#include <tuple>

#include "engine/tools/cli/command.hpp"
#include "engine/tools/cli/fs_commands.hpp"
#include "storage/namespace/mode.hpp"

namespace weft::tools {

namespace {

using FsRun = Result<void> (*)(const FsOptions&);

/// One command of `weft fs` and the options it shares with others.
class FsCommand : public Command<FsOptions> {
 public:
  FsCommand(CLI::App& fs, Action& action, const std::string& name, const std::string& help, FsRun run)
      : Command(fs, action, name, help, run) {
    master();
  }
  FsCommand& paths(int fewest, const std::string& help, const char* name = "PATH") {
    app().add_option(name, options().paths, help)->required()->expected(fewest, 1 << 20);
    return *this;
  }
  FsCommand& path_or_root(const std::string& help) {
    options().paths = {"/"};
    app().add_option("PATH", options().paths, help)->expected(0, 1 << 20);
    return *this;
  }
  FsCommand& user() {
    value("--user", &FsOptions::user, "NAME", "Owner of what is made (default: the user of this process)");
    return *this;
  }
};

constexpr const char* kRecursively = "Directories with all in them";

void add_transfers(CLI::App& fs, Action& action) {
  FsCommand put(fs, action, "put", "Copy local files (- is standard input) to a file or directory of the cluster", fs_put);
  put.paths(2, "Local files, then the target", "FILE").user().flag("-r,--recursive", &FsOptions::recursive, kRecursively);
  put.app().add_option("--replication", put.options().create.replication, "Replicas of each chunk")->capture_default_str();
  add_size_option(put.app(), "--chunk-size", put.options().create.chunk_bytes, "Size of chunks (default: 64MiB)");
  add_overwrite_flag(put.app(), put.options().create.overwrite);
  FsCommand get(fs, action, "get", "Copy files of the cluster to a local file or directory (- is standard output)", fs_get);
  get.paths(2, "Files or patterns, then the local target").flag("-r,--recursive", &FsOptions::recursive, kRecursively);
  add_overwrite_flag(get.app(), get.options().create.overwrite);
  FsCommand copy(fs, action, "cp", "Copy files between this machine, the cluster (weft://), S3 services (s3://) and HDFS (hdfs://)",
                 fs_copy);
  copy.paths(2, "Paths, URLs or patterns (or - for standard input), then the target; a / at its end makes it a directory")
      .user()
      .flag("-r,--recursive", &FsOptions::recursive, "What is in directories, except names that begin with . or _");
  add_overwrite_flag(copy.app(), copy.options().create.overwrite);
  FsCommand(fs, action, "cat", "Print files of the cluster, of S3 services (s3://) or of HDFS (hdfs://)", fs_cat)
      .paths(1, "Files or patterns")
      .flag("--salvage", &FsOptions::salvage, "Of damaged files what can be read, zeros in place of the rest; exit code 1 then");
  for (const auto& [name, help, run] : {std::tuple("head", "Print the beginning of files", FsRun(fs_head)),
                                        std::tuple("tail", "Print the end of files", FsRun(fs_tail))}) {
    FsCommand command(fs, action, name, help, run);
    add_size_option(command.paths(1, "Files or patterns").app(), "-c,--bytes", command.options().bytes,
                    "This many bytes instead of lines");
    command.value("-n,--lines", &FsOptions::lines, "This many lines");
  }
}

void add_tree(CLI::App& fs, Action& action) {
  FsCommand(fs, action, "ls", "List directories and files of the cluster, of S3 services (s3://) or of HDFS (hdfs://)", fs_list)
      .path_or_root("Paths, URLs or patterns (default: /)")
      .json();
  FsCommand(fs, action, "stat", "Show files and directories", fs_stat).paths(1, "Paths or patterns").json();
  FsCommand(fs, action, "mkdir", "Make directories", fs_make_directory)
      .paths(1, "Paths")
      .user()
      .flag("-p,--parents", &FsOptions::parents, "Missing parents as well; what exists is fine");
  FsCommand(fs, action, "mv", "Rename, or move into a directory; each in one step", fs_move)
      .paths(2, "Paths or patterns, then the target")
      .flag("--replace", &FsOptions::replace, "Replace what exists in the same step");
  FsCommand(fs, action, "rm", "Remove files; their chunks go after a delay", fs_remove)
      .paths(1, "Paths or patterns")
      .flag("-r,--recursive", &FsOptions::recursive, kRecursively);
  FsCommand(fs, action, "du", "What files and directories take", fs_usage).path_or_root("Paths or patterns (default: /)").json();
}

void add_care(CLI::App& fs, Action& action) {
  FsCommand setrep(fs, action, "setrep", "Change how many replicas files have", fs_set_replication);
  setrep.argument("REPLICAS", &FsOptions::replication, "How many");
  setrep.paths(1, "Paths or patterns; of directories, all files below");
  FsCommand chmod(fs, action, "chmod", "Change who may read and write files and directories", fs_change_mode);
  add_parsed(chmod.app(), "MODE", chmod.options().mode, "TEXT", storage::parse_mode,
             "Octal digits of the owner, of a group that nobody is in, and of all others: 644, 600, 755; with 1 before them\n"
             "only owners remove names from a directory")
      ->required();
  chmod.paths(1, "Paths or patterns").flag("-R,--recursive", &FsOptions::recursive, kRecursively);
  FsCommand chown(fs, action, "chown", "Give files and directories to another user; for administrators", fs_change_owner);
  chown.argument("USER", &FsOptions::owner, "The new owner");
  chown.paths(1, "Paths or patterns").flag("-R,--recursive", &FsOptions::recursive, kRecursively);
  FsCommand(fs, action, "fsck", "Check that every chunk has its replicas; fails when a file cannot be read", fs_check)
      .path_or_root("Paths or patterns (default: /)")
      .flag("--blocks", &FsOptions::blocks, "Every chunk, not only those that lack something")
      .flag("--locations", &FsOptions::locations, "And which workers have it")
      .json();
  FsCommand(fs, action, "balance", "Move chunks until the workers are about equally full", fs_balance)
      .value("--threshold", &FsOptions::threshold, "How far from the average a worker may be, as a share of its space");
  FsCommand(fs, action, "report", "The cluster's files, workers and users at a glance", fs_report).json();
  FsCommand quota(fs, action, "quota", "Limit what a user's files take; without options: no limit", fs_quota);
  quota.app().add_option("USER", quota.options().paths, "Whose")->required()->expected(1);
  add_size_option(quota.app(), "--bytes", quota.options().quota.bytes, "Bytes, replicas counted");
  quota.app().add_option("--entries", quota.options().quota.entries, "Files and directories");
  FsCommand(fs, action, "leave-safe-mode", "Repair although not all chunks were reported since the master's start",
            fs_leave_safe_mode);
}

}  // namespace

void add_fs(CLI::App& app, Action& action) {
  CLI::App& fs = add_group(app, "fs", "The files of the cluster");
  add_transfers(fs, action);
  add_tree(fs, action);
  add_care(fs, action);
}

void add_drain(CLI::App& node, Action& action) {
  FsCommand drain(node, action, "drain", "Write nothing new to a worker and copy its chunks to others; see `weft fs report`",
                  [](const FsOptions& options) { return node_drain(options, !options.replace); });
  drain.app().add_option("WORKER", drain.options().paths, "Its name")->required()->expected(1);
  drain.flag("--stop", &FsOptions::replace, "Use it again").flag("--wait", &FsOptions::wait, "Return when nothing is left to copy");
}

}  // namespace weft::tools
