#include "engine/master/server/binary_store.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "engine/master/journal/journal_file.hpp"

namespace weft::master {
namespace {
constexpr std::uint64_t kMaxBinaryBytes = std::uint64_t{2} << 30;
}

std::string BinaryStore::path(const Hash128& binary) const { return fmt::format("{}/{}", directory_, to_string(binary)); }

bool BinaryStore::knows(const Hash128& binary) {
  if (sizes_.contains(binary)) return true;
  const std::string file = path(binary);
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) return false;
  auto hash = hash_file(file);
  if (!hash || *hash != binary) return false;
  sizes_[binary] = static_cast<std::uint64_t>(info.st_size);
  return true;
}

void BinaryStore::mention(const Hash128& binary) {
  if (!knows(binary)) return;
  std::error_code ignored;
  std::filesystem::last_write_time(path(binary), std::filesystem::file_time_type::clock::now(), ignored);
  if (on_new_) on_new_(binary);
}

void BinaryStore::clean(const Wanted& wanted, std::uint64_t most) {
  std::set<std::string> keep;
  for (const Hash128& binary : begun_) keep.insert(to_string(binary) + ".partial");
  struct Found {
    std::filesystem::file_time_type used;
    std::filesystem::path path;
    std::uint64_t size = 0;
  };
  std::vector<Found> programs;
  std::uint64_t bytes = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".partial")) {
      if (!keep.contains(name)) std::filesystem::remove(entry.path(), ignored);
    } else if (name.size() == to_string(Hash128{}).size()) {
      programs.push_back({entry.last_write_time(ignored), entry.path(), entry.file_size(ignored)});
      bytes += programs.back().size;
    }
  }
  if (bytes <= most) return;
  for (const Hash128& binary : wanted()) keep.insert(to_string(binary));
  std::sort(programs.begin(), programs.end(), [](const Found& a, const Found& b) { return a.used < b.used; });
  for (const Found& program : programs) {
    if (bytes <= most) return;
    const std::string name = program.path.filename().string();
    if (keep.contains(name) || !std::filesystem::remove(program.path, ignored)) continue;
    bytes -= program.size;
    std::erase_if(sizes_, [&name](const auto& known) { return to_string(known.first) == name; });
  }
}

Result<void> BinaryStore::write(const Hash128& binary, std::uint64_t offset, std::uint64_t total, ByteView bytes) {
  if (knows(binary)) return {};
  if (total > kMaxBinaryBytes || offset > total || bytes.size() > total - offset || bytes.empty())
    return fail(Code::invalid_argument, "a piece of an uploaded program lies outside it, or the program is larger than 2 GiB");
  const std::string partial = path(binary) + ".partial";
  // What lies there before the first piece is of a master that was killed, or a trap.
  const bool first = begun_.insert(binary).second;
  if (first) unlink(partial.c_str());
  const Fd file(open(partial.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC | (first ? O_CREAT | O_EXCL : 0), 0600));
  if (!file.valid()) begun_.erase(binary);
  if (!file.valid()) return fail(errno_error("cannot keep the uploaded program " + partial, errno));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = pwrite(file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (wrote <= 0) return fail(errno_error("cannot keep the uploaded program " + partial, errno));
    done += static_cast<std::size_t>(wrote);
  }
  if (offset + bytes.size() < total) return {};
  if (ftruncate(file.get(), static_cast<off_t>(total)) != 0) return fail(errno_error("cannot keep " + partial, errno));
  WEFT_ASSIGN(const Hash128 hash, hash_file(partial));
  begun_.erase(binary);
  if (hash != binary) {
    unlink(partial.c_str());
    return fail(Code::corrupt, "the uploaded program does not have the content it was announced with; submit again");
  }
  const bool durably = keep_ == Keep::durably;
  if (durably && fdatasync(file.get()) != 0) return fail(errno_error("cannot keep the uploaded program " + partial, errno));
  if (rename(partial.c_str(), path(binary).c_str()) != 0) return fail(errno_error("cannot keep " + path(binary), errno));
  if (durably) WEFT_TRY(sync_directory_of(path(binary)));
  sizes_[binary] = total;
  if (on_new_) on_new_(binary);
  if (!wanted_) return {};
  const auto wanted = [this, &binary] {
    std::set<Hash128> programs = wanted_();
    programs.insert(binary);
    return programs;
  };
  clean(wanted, most_);
  return {};
}

Result<BinaryStore::Piece> BinaryStore::read(const Hash128& binary, std::uint64_t offset, std::uint64_t most) const {
  auto known = sizes_.find(binary);
  if (known == sizes_.end()) return fail(Code::not_found, fmt::format("the master has no program {}", to_string(binary)));
  if (offset > known->second) return fail(Code::invalid_argument, "a piece past the end of the program was asked for");
  const std::string file_path = path(binary);
  const Fd file(open(file_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return fail(errno_error("cannot read " + file_path, errno));
  Piece piece{Buffer(std::min(most, known->second - offset)), known->second};
  std::size_t done = 0;
  while (done < piece.bytes.size()) {
    const ssize_t got = pread(file.get(), piece.bytes.data() + done, piece.bytes.size() - done, static_cast<off_t>(offset + done));
    if (got <= 0) return fail(errno_error("cannot read " + file_path, got < 0 ? errno : EIO));
    done += static_cast<std::size_t>(got);
  }
  return piece;
}

}  // namespace weft::master
