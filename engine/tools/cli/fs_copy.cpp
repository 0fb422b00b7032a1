// weft fs cp, and ls and cat of other stores: whatever a URL or a path means.
#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "base/named_file.hpp"
#include "base/print_error.hpp"
#include "base/text.hpp"
#include "engine/tools/cli/fs_commands.hpp"
#include "engine/tools/cli/input_pieces.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "engine/tools/display/storage_json.hpp"
#include "engine/tools/display/text_table.hpp"
#include "storage/access/input_file.hpp"
#include "storage/files/foreign_stores.hpp"
#include "storage/files/job_files.hpp"
#include "storage/inputs.hpp"
#include "storage/namespace/path.hpp"

namespace weft::tools {

namespace {

namespace fs = std::filesystem;
using storage::InputFile;
using storage::RemoteFiles;
using storage::RemoteViews;
constexpr std::size_t kCopyBytes = 1u << 20;

/// Where bytes go; what was begun and not closed leaves nothing.
class Target {
 public:
  virtual ~Target() = default;
  virtual Result<void> append(ByteView bytes) = 0;
  virtual Result<void> close() = 0;
};

template <class Writer>
class WriterTarget final : public Target {
 public:
  explicit WriterTarget(std::unique_ptr<Writer> writer) : writer_(std::move(writer)) {}
  Result<void> append(ByteView bytes) override { return writer_->append(bytes); }
  Result<void> close() override { return writer_->close(); }

 private:
  const std::unique_ptr<Writer> writer_;
};
template <class Writer>
std::unique_ptr<Target> target_of(std::unique_ptr<Writer> writer) {
  return std::make_unique<WriterTarget<Writer>>(std::move(writer));
}

/// The stores that a copy is between; the cluster is asked only when one of the paths is its own.
class Stores {
 public:
  explicit Stores(const FsOptions& options)
      : options_(options),
        files_(storage::files::job_files(
            {.master = options.master.address, .user = options.user, .at_first = options.master.at_first})) {}

  RemoteFiles& files() { return *files_; }
  Result<std::unique_ptr<Target>> create(const std::string& path) {
    if (storage::is_foreign(path)) return create_foreign(path);
    if (storage::is_remote(path)) return create_in_cluster(path);
    return create_here(path);
  }
  Result<bool> is_directory(const std::string& path) {
    if (path.ends_with('/')) return true;
    std::error_code error;
    if (!storage::is_remote(path)) return fs::is_directory(path, error);
    if (storage::is_foreign(path)) return foreign_.of(path)->is_directory(path);
    WEFT_ASSIGN(const auto cluster, connected());
    const auto status = cluster->stat(path);
    return status && status->directory;
  }

 private:
  Result<std::unique_ptr<Target>> create_here(const std::string& path) {
    std::error_code error;
    fs::create_directories(fs::absolute(path).parent_path(), error);
    WEFT_ASSIGN(NamedFile file, NamedFile::create(path, options_.create.overwrite ? IfExists::replace : IfExists::refuse));
    return target_of(std::make_unique<NamedFile>(std::move(file)));
  }
  Result<std::unique_ptr<Target>> create_foreign(const std::string& path) {
    if (!options_.create.overwrite) {
      WEFT_ASSIGN(const bool exists, files_->exists(path));
      if (exists) return fail(Code::already_exists, escaped(path) + " exists; say --overwrite to replace it");
    }
    WEFT_ASSIGN(auto output, files_->create(path));
    return target_of(std::move(output));
  }
  Result<std::unique_ptr<Target>> create_in_cluster(const std::string& path) {
    WEFT_ASSIGN(const auto cluster, connected());
    WEFT_ASSIGN(const std::string name, storage::parse_path(path));
    WEFT_TRY(cluster->make_directory(name.substr(0, std::max<std::size_t>(name.rfind('/'), 1)), true));
    WEFT_ASSIGN(auto writer, cluster->create(name, options_.create));
    return target_of(std::move(writer));
  }
  Result<std::shared_ptr<storage::files::FileSystem>> connected() {
    if (!cluster_) {
      WEFT_ASSIGN(cluster_, connect(options_));
    }
    return cluster_;
  }

  const FsOptions& options_;
  storage::files::ForeignStores foreign_;
  const std::shared_ptr<RemoteFiles> files_;
  std::shared_ptr<storage::files::FileSystem> cluster_;
};

/// A file to copy and its name below the target, when that is a directory.
struct CopySource {
  std::string path, name;
  storage::FileVersion version;
};

/// ".." behind a symbolic link means the parent of where the link leads, as where inputs are read (storage/inputs.hpp): so that
/// what is found begins with what was written.
std::string without_dots(const std::string& written) {
  const fs::path path(written);
  if (storage::is_remote(written) || std::find(path.begin(), path.end(), "..") == path.end()) return written;
  const auto special = written.find_first_of("*?[{");
  const auto slash = special == std::string::npos ? special : written.rfind('/', special);
  const fs::path fixed = slash == std::string::npos ? fs::path(without_slash(written)) : fs::path(written.substr(0, slash));
  const bool whole = slash != std::string::npos || fixed.filename() == "..";
  std::error_code error;
  const fs::path real = fs::canonical(whole ? fixed : fixed.parent_path(), error);
  if (error) return written;
  return whole ? real.string() + (slash == std::string::npos ? "" : written.substr(slash)) : (real / fixed.filename()).string();
}

/// What comes before the names that a pattern, or a directory, means.
Result<std::string> base_of(RemoteFiles& files, const std::string& written) {
  std::string whole = without_slash(written);
  const bool pattern = whole.find_first_of("*?[{") != std::string::npos;
  if (storage::is_foreign(whole)) {
    WEFT_ASSIGN(whole, files.normal(whole));
  } else if (storage::is_remote(whole)) {
    WEFT_ASSIGN(whole, storage::parse_path(whole));
    whole = "weft:/" + whole;
  } else {
    whole = fs::absolute(whole).lexically_normal();
  }
  if (!pattern) return whole + (whole.ends_with('/') ? "" : "/");
  const auto special = whole.find_first_of("*?[{");
  return whole.substr(0, whole.rfind('/', special) + 1);
}

Result<std::vector<CopySource>> sources_of(RemoteFiles& files, const std::string& written, bool recursive) {
  const std::vector<std::string> inputs{written};
  WEFT_ASSIGN(const auto found, storage::expand_inputs(inputs, &files, storage::Repeats::by_name));
  WEFT_ASSIGN(const std::string base, base_of(files, written));
  std::vector<CopySource> sources;
  for (std::size_t i = 0; i < found.paths.size(); ++i) {
    const std::string& path = found.paths[i];
    const bool below = path.starts_with(base);  // else it is the file itself
    std::string name = below ? path.substr(base.size()) : path.substr(path.rfind('/') + 1);
    const bool deep = below && (written.find_first_of("*?[{") == std::string::npos || name.find('/') != std::string::npos);
    if (deep && !recursive)
      return fail(Code::invalid_argument, fmt::format("{} is a directory; say --recursive", escaped(written)));
    sources.push_back({path, std::move(name), found.versions[i]});
    sources.back().version.may_grow = true;  // a log is copied as far as it goes now
  }
  for (const std::string& skipped : found.skipped)
    print_error("weft: {} is not copied: names that begin with . or _ in directories are left out\n", escaped(skipped));
  return sources;
}

template <class Give>
Result<void> read_file_in_pieces(const std::string& path, const storage::FileVersion& listed, RemoteFiles& files, Give&& give) {
  WEFT_ASSIGN(InputFile file, InputFile::open(path, &files, listed));
  file.will_read(0, file.size());
  Buffer piece(kCopyBytes);
  for (std::uint64_t offset = 0; offset < file.size();) {
    ByteView bytes;
    std::size_t got = 0;
    if (RemoteViews* const views = file.views()) {
      WEFT_ASSIGN(got, views->view(offset, bytes));
    } else {
      WEFT_ASSIGN(got, file.read(offset, piece.span()));
      bytes = piece.view().first(got);
    }
    if (got == 0) return fail(Code::io, escaped(path) + " became shorter while it was read");
    WEFT_TRY(give(bytes));
    offset += got;
  }
  return file.check_unchanged();
}

Result<void> copy_file(Stores& stores, const CopySource& from, const std::string& to) {
  WEFT_ASSIGN(const auto target, stores.create(to));
  WEFT_TRY(read_file_in_pieces(from.path, from.version, stores.files(), [&](ByteView bytes) { return target->append(bytes); }));
  return target->close();
}

}  // namespace

Result<void> fs_copy(const FsOptions& options) {
  Stores stores(options);
  const std::string& target = options.paths.back();
  const std::vector<std::string> written(options.paths.begin(), options.paths.end() - 1);
  if (written == std::vector<std::string>{"-"}) {
    WEFT_ASSIGN(const auto to, stores.create(target));
    WEFT_TRY(read_in_pieces(STDIN_FILENO, "standard input", [&](ByteView bytes) { return to->append(bytes); }));
    return to->close();
  }
  std::vector<CopySource> sources;
  bool one_file = written.size() == 1;
  for (const std::string& argument : written) {
    const std::string path = without_dots(argument);
    WEFT_ASSIGN(auto some, sources_of(stores.files(), path, options.recursive));
    WEFT_ASSIGN(const std::string base, base_of(stores.files(), path));
    one_file = one_file && some.size() == 1 && !some.front().path.starts_with(base);
    std::move(some.begin(), some.end(), std::back_inserter(sources));
  }
  WEFT_ASSIGN(const bool into, stores.is_directory(target));
  for (const CopySource& source : sources)
    WEFT_TRY(copy_file(stores, source, one_file && !into ? target : without_slash(target) + "/" + source.name));
  return {};
}

Result<bool> names_foreign(const std::vector<std::string>& paths) {
  if (std::none_of(paths.begin(), paths.end(), storage::is_foreign)) return false;
  if (std::all_of(paths.begin(), paths.end(), storage::is_foreign)) return true;
  return fail(Code::invalid_argument,
              "paths of the cluster and URLs of other stores cannot be mixed in one command; say them one after the other");
}

Result<void> list_foreign(const FsOptions& options) {
  storage::files::ForeignStores stores;
  std::vector<storage::ForeignEntry> all;
  for (const std::string& path : options.paths) {
    WEFT_ASSIGN(const auto some, stores.of(path)->entries(path));
    all.insert(all.end(), some.begin(), some.end());
  }
  if (options.json)
    return print(json_line(objects(all, [](JsonWriter& json, const storage::ForeignEntry& entry) {
      members(json, "path", entry.url, "type", entry.directory ? "directory" : "file");
      if (!entry.directory) members(json, "bytes", entry.bytes, "modified", entry.modified);
    })));
  TextTable table({"TYPE", "SIZE", "MODIFIED", "PATH"});
  for (const auto& entry : all)
    table.row(entry.directory ? "dir" : "file", entry.directory ? "-" : human_bytes(entry.bytes),
              entry.directory ? "-" : entry.modified, entry.url);
  return print(table.text());
}

Result<void> print_foreign(const FsOptions& options) {
  storage::files::ForeignStores stores;
  for (const std::string& path : options.paths) {
    storage::ForeignFiles& files = *stores.of(path);
    WEFT_ASSIGN(const auto sources, sources_of(files, path, false));
    for (const CopySource& source : sources) WEFT_TRY(read_file_in_pieces(source.path, source.version, files, print_bytes));
  }
  return {};
}

}  // namespace weft::tools
