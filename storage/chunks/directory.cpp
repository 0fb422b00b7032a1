#include "storage/chunks/directory.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/crc32c.hpp"
#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/private_directory.hpp"
#include "base/text.hpp"
#include "storage/chunks/chunk_file.hpp"

namespace weft::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIdentityFile = "weft-chunks";
constexpr std::string_view kFirstLine = "weft chunk directory";
constexpr std::uint32_t kVersion = 1;

std::optional<ChunkId> id_of_file(const std::string& name) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value, 16);
  if (error != std::errc() || end != name.data() + name.size() || value == 0 || name != digits_of(ChunkId(value)))
    return std::nullopt;
  return ChunkId(value);
}

/// Names of a folder's entries, with the sizes of files.
Result<std::map<std::string, std::uint64_t>> entries(const fs::path& folder) {
  std::map<std::string, std::uint64_t> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code not_a_file;
    const auto size = at->file_size(not_a_file);
    found.emplace(at->path().filename().string(), not_a_file ? 0 : size);
  }
  if (error) return fail(errno_error("cannot list " + folder.string(), error.value()));
  return found;
}

Result<Fd> open_folder(const fs::path& path) {
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return fail(errno_error("cannot open " + path.string(), errno));
  return folder;
}

Result<void> sync(const Fd& folder, const fs::path& path) {
  if (::fsync(folder.get()) != 0) return fail(errno_error("cannot sync " + path.string(), errno));
  return {};
}

std::string identity_text(const std::string& cluster_id) {
  std::string text = fmt::format("{}\nversion {}\ncluster {}\n", kFirstLine, kVersion, cluster_id);
  return text + fmt::format("check {:08x}\n", crc32c(as_bytes(text)));
}

struct Identity {
  std::uint32_t version = 0;
  std::string cluster;
};

/// Nothing when the text is damaged.
std::optional<Identity> parse_identity(const std::string& text) {
  const auto check = text.rfind("check ");
  if (check == std::string::npos || text.substr(check) != fmt::format("check {:08x}\n", crc32c(as_bytes(text.substr(0, check)))))
    return std::nullopt;
  const auto lines = split(text, '\n');
  if (lines.size() < 3 || lines[0] != kFirstLine || !lines[1].starts_with("version ")) return std::nullopt;
  Identity identity;
  identity.version = parse_number<std::uint32_t>(lines[1].substr(8)).value_or(0);
  if (lines[2].starts_with("cluster ")) identity.cluster = lines[2].substr(8);
  return identity;
}

}  // namespace

fs::path Directory::unsealed_path(ChunkId id) const { return path_ / "unsealed" / digits_of(id); }
fs::path Directory::chunk_path(ChunkId id) const { return path_ / "chunks" / digits_of(id); }
fs::path Directory::quarantine_path(ChunkId id) const { return path_ / "quarantine" / digits_of(id); }

Result<std::unique_ptr<Directory>> Directory::open(const fs::path& path, const std::string& cluster_id, FoundChunks& found) {
  std::unique_ptr<Directory> directory(new Directory(path, hash64(as_bytes(cluster_id))));
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return fail(errno_error("cannot make the data directory " + path.string(), error.value()));
  WEFT_TRY(keep_others_from_writing(path));
  WEFT_TRY(directory->lock());
  WEFT_TRY(directory->identify(cluster_id));
  WEFT_TRY(directory->make_folders());
  WEFT_ASSIGN(directory->chunks_, open_folder(path / "chunks"));
  WEFT_TRY(directory->recover(found));
  if (directory->taken_) return directory;
  WEFT_TRY(weft::write_file(path / kIdentityFile, identity_text(cluster_id)));
  WEFT_ASSIGN(const Fd folder, open_folder(path));
  WEFT_TRY(sync(folder, path));
  return directory;
}

Result<void> Directory::lock() {
  const fs::path file = path_ / "lock";
  lock_ = Fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_.valid()) return fail(errno_error("cannot open " + file.string(), errno));
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return fail(errno_error("cannot lock " + file.string(), errno));
  return fail(Code::already_exists,
              fmt::format("the data directory {} is in use by another process: give each worker its own", path_.string()));
}

/// A directory that is empty becomes ours; one whose identity is lost or damaged is taken when the chunks in it say that they are
/// ours.
Result<void> Directory::identify(const std::string& cluster_id) {
  const fs::path file = path_ / kIdentityFile;
  auto text = weft::read_file(file, 4096);
  if (!text && text.error().code() != Code::not_found) return fail(std::move(text).error());
  const auto identity = text ? parse_identity(*text) : std::nullopt;
  if (identity && identity->version != kVersion)
    return fail(Code::version_mismatch,
                fmt::format("the data directory {} has format version {}, this release knows {}: use the release "
                            "that wrote it, or another directory",
                            path_.string(), identity->version, kVersion));
  if (identity && identity->cluster != cluster_id)
    return fail(Code::version_mismatch,
                fmt::format("the data directory {} belongs to the cluster '{}', not to '{}': name another directory",
                            path_.string(), escaped(identity->cluster), cluster_id));
  if (identity) return {};
  taken_ = false;
  WEFT_ASSIGN(const auto names, entries(path_));
  const bool ours = text.has_value() || names.contains("chunks");
  const auto foreign = std::find_if(names.begin(), names.end(), [](const auto& entry) {
    return entry.first != "lock" && entry.first != "lost+found" && entry.first != "tables";
  });
  if (!ours && foreign != names.end())
    return fail(Code::invalid_argument,
                fmt::format("{} is not empty ('{}') and no data directory of weft: name another or empty it", path_.string(),
                            escaped(foreign->first)));
  if (ours) log_.warn("{} is missing or damaged; the chunks in it say whose they are", file.string());
  return {};
}

Result<void> Directory::make_folders() const {
  for (const char* name : {"chunks", "unsealed", "quarantine"}) {
    const fs::path folder = path_ / name;
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return fail(errno_error("cannot make " + folder.string(), errno));
  }
  WEFT_ASSIGN(const Fd folder, open_folder(path_));
  return sync(folder, path_);
}

/// The files are the truth; the index saves opening each of them.
Result<void> Directory::recover(FoundChunks& found) {
  WEFT_ASSIGN(const auto unsealed, entries(path_ / "unsealed"));
  for (const auto& [name, size] : unsealed)
    if (::unlink((path_ / "unsealed" / name).c_str()) != 0)
      return fail(errno_error("cannot remove " + (path_ / "unsealed" / name).string(), errno));
  WEFT_ASSIGN(auto files, entries(path_ / "chunks"));
  WEFT_ASSIGN(const auto indexed, load_index());
  for (const ChunkInfo& info : indexed) {
    const auto file = files.find(digits_of(info.id));
    if (file == files.end()) {
      found.lost.push_back(info);
      forget(info.id);
      continue;
    }
    const bool whole = file->second == chunk_file_size(info.length);
    files.erase(file);
    (whole ? found.sealed : found.corrupt).push_back(info);
    if (!whole) quarantine(info.id);
  }
  for (const auto& [name, size] : files) {
    if (const auto id = id_of_file(name)) {
      WEFT_TRY(adopt(*id, found));
    } else {
      log_.warn("{} is no chunk and is left alone", (path_ / "chunks" / name).string());
    }
  }
  WEFT_ASSIGN(const auto aside, entries(path_ / "quarantine"));
  for (const auto& [name, size] : aside)
    if (const auto id = id_of_file(name)) found.quarantined.push_back({*id, size, 0});
  return {};
}

Result<std::vector<ChunkInfo>> Directory::load_index() {
  const fs::path path = path_ / "index";
  const auto load = [&]() -> Result<std::vector<ChunkInfo>> {
    WEFT_TRY(make_private_directory(path));
    WEFT_ASSIGN(index_, ChunkIndex::open(path));
    return index_->load();
  };
  Error why(Code::corrupt, "the directory's identity is new");
  if (taken_) {
    auto loaded = load();
    if (loaded) return loaded;
    why = std::move(loaded).error();
    log_.warn("{}: {}; it is made again from the chunk files", path_.string(), why.to_string());
  }
  index_.reset();
  std::error_code error;
  fs::remove_all(path, error);
  if (auto loaded = load()) return loaded;
  // A disk that is full still has the chunks.
  index_.reset();
  fs::remove_all(path, error);
  log_.warn("{}: it goes on without an index until the next start", path_.string());
  return std::vector<ChunkInfo>();
}

/// A chunk file that the index does not know: sealed just before a crash, or the index was lost.
Result<void> Directory::adopt(ChunkId id, FoundChunks& found) {
  const fs::path path = chunk_path(id);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() && errno == EMFILE) return fail(errno_error("cannot open " + path.string(), errno));
  auto footer = file.valid() ? read_footer(file.get()) : fail(errno_error("cannot open " + path.string(), errno));
  if (footer && footer->cluster != cluster_)
    return fail(Code::version_mismatch,
                fmt::format("{} belongs to another cluster: name another data directory, or move that file away", path.string()));
  if (!footer && footer.error().code() == Code::version_mismatch) return fail(std::move(footer).error().wrap(path.string()));
  if (!footer || footer->info.id != id) {
    log_.warn("{} is set aside: {}", path.string(), footer ? "it is another chunk" : footer.error().to_string());
    found.corrupt.push_back({id, 0, 0});
    quarantine(id);
    return {};
  }
  found.sealed.push_back(footer->info);
  remember(footer->info);
  return {};
}

/// An index that cannot be written is given up: the next open makes it again.
void Directory::note(const Result<void>& index_written) {
  if (index_written || index_ == nullptr) return;
  log_.warn("{}: {}; it will be made again at the next start", path_.string(), index_written.error().to_string());
  index_.reset();
  std::error_code ignored;
  fs::remove_all(path_ / "index", ignored);
}

std::optional<RefusedCall> Directory::publish(const ChunkInfo& info) {
  const fs::path from = unsealed_path(info.id), to = chunk_path(info.id);
  if (::rename(from.c_str(), to.c_str()) != 0) {
    const int error = errno;
    return RefusedCall{"cannot rename " + from.string() + " to " + to.string(), error};
  }
  if (::fsync(chunks_.get()) != 0) {
    const int error = errno;
    ::unlink(to.c_str());
    return RefusedCall{"cannot sync " + (path_ / "chunks").string(), error};
  }
  remember(info);
  return {};
}

void Directory::remember(const ChunkInfo& info) {
  const std::lock_guard lock(index_mutex_);
  if (index_ != nullptr) note(index_->put(info));
}

void Directory::quarantine(ChunkId id) {
  if (::rename(chunk_path(id).c_str(), quarantine_path(id).c_str()) != 0)
    log_.warn("cannot set {} aside: {}", chunk_path(id).string(), errno_error("rename", errno).to_string());
  forget(id);
}

void Directory::erase(ChunkId id) {
  if (::unlink(chunk_path(id).c_str()) != 0 && errno != ENOENT)
    log_.warn("cannot erase {}: {}", chunk_path(id).string(), errno_error("unlink", errno).to_string());
  forget(id);
}

void Directory::forget(ChunkId id) {
  const std::lock_guard lock(index_mutex_);
  if (index_ != nullptr) note(index_->erase(id));
}

void Directory::erase_quarantined(ChunkId id) { ::unlink(quarantine_path(id).c_str()); }

ChunkId Directory::scrubbed() const {
  const std::lock_guard lock(index_mutex_);
  if (index_ == nullptr) return {};
  return index_->scrubbed().value_or(ChunkId{});
}

void Directory::set_scrubbed(ChunkId id) {
  const std::lock_guard lock(index_mutex_);
  if (index_ != nullptr) note(index_->set_scrubbed(id));
}

bool Directory::alive() const { return ::access((path_ / kIdentityFile).c_str(), R_OK) == 0; }

Result<std::pair<std::uint64_t, std::uint64_t>> Directory::file_system() const {
  struct statvfs status {};
  if (::statvfs(path_.c_str(), &status) != 0) return fail(errno_error("cannot look at " + path_.string(), errno));
  return std::pair<std::uint64_t, std::uint64_t>(status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize);
}

}  // namespace weft::storage
