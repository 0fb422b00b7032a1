#include "engine/master/server/binary_store.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "engine/master/journal/journal_file.hpp"

namespace weft::master {
namespace {
constexpr std::uint64_t kMaxBinaryBytes = std::uint64_t{2} << 30;
constexpr std::uint64_t kLeastCounted = 1u << 20;  // a file takes more than its bytes

Error out_of_order() {
  return {Code::invalid_argument, "a piece of an uploaded program comes before those in front of it; submit again"};
}

}  // namespace

std::string BinaryStore::path(const ProgramId& program) const { return fmt::format("{}/{}", directory_, file_name(program)); }

bool BinaryStore::knows(const ProgramId& program) {
  const std::string file = path(program);
  struct stat info {};
  const bool there = stat(file.c_str(), &info) == 0;
  if (const auto known = sizes_.find(program); known != sizes_.end()) {
    if (there && known->second == static_cast<std::uint64_t>(info.st_size)) return true;
    sizes_.erase(known);
  }
  if (!there) return false;
  auto hash = hash_file(file);
  if (!hash || *hash != program.hash) return false;
  sizes_[program] = static_cast<std::uint64_t>(info.st_size);
  return true;
}

bool BinaryStore::recover(const ProgramId& program) {
  if (knows(program)) return true;
  const std::string of_nobody = path({program.hash, ""}), own = path(program);
  // A second name, as other users may need it: nobody writes to a program's file. Not all file systems have that.
  if (link(of_nobody.c_str(), own.c_str()) != 0 && rename(of_nobody.c_str(), own.c_str()) != 0) return false;
  if (keep_ == Keep::durably && !sync_directory_of(own)) return false;
  return knows(program);
}

void BinaryStore::end_recovery(const std::set<ProgramId>& wanted) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, ignored)) {
    const auto program = runtime::protocol::parse_program(entry.path().filename().string());
    if (!program || !program->user.empty() || wanted.contains(*program)) continue;
    std::filesystem::remove(entry.path(), ignored);
    sizes_.erase(*program);
  }
}

void BinaryStore::mention(const ProgramId& program) {
  if (!knows(program)) return;
  std::error_code ignored;
  std::filesystem::last_write_time(path(program), std::filesystem::file_time_type::clock::now(), ignored);
  if (on_new_) on_new_(program);
}

void BinaryStore::clean(const Wanted& wanted, std::uint64_t most) {
  std::set<std::string> keep;
  for (const auto& [of, begun] : begun_) keep.insert(std::filesystem::path(begun.path).filename().string());
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
    } else if (runtime::protocol::parse_program(name)) {
      programs.push_back({entry.last_write_time(ignored), entry.path(), entry.file_size(ignored)});
      bytes += programs.back().size;
    }
  }
  if (bytes <= most) return;
  for (const ProgramId& program : wanted()) keep.insert(file_name(program));
  std::sort(programs.begin(), programs.end(), [](const Found& a, const Found& b) { return a.used < b.used; });
  for (const Found& program : programs) {
    if (bytes <= most) return;
    const std::string name = program.path.filename().string();
    if (keep.contains(name) || !std::filesystem::remove(program.path, ignored)) continue;
    bytes -= program.size;
    std::erase_if(sizes_, [&name](const auto& known) { return file_name(known.first) == name; });
  }
}

void BinaryStore::forget(const void* connection) {
  for (auto at = begun_.begin(); at != begun_.end();) {
    const auto next = std::next(at);
    if (at->second.connections.erase(connection) != 0 && at->second.connections.empty()) drop(at);
    at = next;
  }
}

void BinaryStore::drop(BegunUploads::iterator begun) {
  unlink(begun->second.path.c_str());
  begun_.erase(begun);
}

std::uint64_t BinaryStore::bytes_begun_by(const std::string& user) const {
  std::uint64_t bytes = 0;
  for (auto at = begun_.lower_bound({user, Hash128{}}); at != begun_.end() && at->first.first == user; ++at)
    bytes += std::max(at->second.size, kLeastCounted);
  return bytes;
}

Result<BinaryStore::BegunUploads::iterator> BinaryStore::begun(const Uploader& uploader, const Hash128& binary,
                                                               std::uint64_t total) {
  const auto found = begun_.find({uploader.user, binary});
  if (found != begun_.end()) {
    if (found->second.total == total) return found;
    return fail(Code::invalid_argument, "an uploaded program is announced with another size than before; submit again");
  }
  Begun fresh{fmt::format("{}.{}.partial", path({binary, uploader.user}), ++uploads_), total};
  unlink(fresh.path.c_str());  // of a master that was killed, or a trap
  const Fd file(open(fresh.path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_CREAT | O_EXCL, 0600));
  if (!file.valid()) return fail(errno_error("cannot keep the uploaded program " + fresh.path, errno));
  return begun_.emplace(std::pair(uploader.user, binary), std::move(fresh)).first;
}

Result<void> BinaryStore::append(const Begun& begun, ByteView bytes) const {
  const Fd file(open(begun.path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return fail(errno_error("cannot keep the uploaded program " + begun.path, errno));
  for (std::size_t done = 0; done < bytes.size();) {
    const auto at = static_cast<off_t>(begun.size + done);
    const ssize_t wrote = pwrite(file.get(), bytes.data() + done, bytes.size() - done, at);
    if (wrote <= 0) return fail(errno_error("cannot keep the uploaded program " + begun.path, errno));
    done += static_cast<std::size_t>(wrote);
  }
  // So that little is left to be waited for in the end.
  if (keep_ == Keep::durably)
    (void)sync_file_range(file.get(), static_cast<off_t>(begun.size), static_cast<off_t>(bytes.size()), SYNC_FILE_RANGE_WRITE);
  return {};
}

Result<void> BinaryStore::write(const Uploader& uploader, const Hash128& binary, std::uint64_t offset, std::uint64_t total,
                                ByteView bytes) {
  if (knows({binary, uploader.user})) return {};
  if (total > kMaxBinaryBytes || offset > total || bytes.size() > total - offset || bytes.empty())
    return fail(Code::invalid_argument, "a piece of an uploaded program lies outside it, or the program is larger than 2 GiB");
  if (offset != 0 && !begun_.contains({uploader.user, binary})) return fail(out_of_order());
  WEFT_ASSIGN(const auto upload, begun(uploader, binary, total));
  Begun& begun = upload->second;
  begun.connections.insert(uploader.connection);
  if (offset > begun.size) return fail(out_of_order());
  if (offset + bytes.size() <= begun.size) return {};  // another one of the same user has uploaded it
  const ByteView fresh = bytes.subspan(begun.size - offset);
  Result<void> kept;
  if (bytes_begun_by(uploader.user) + fresh.size() > most_begun_)
    kept = fail(Code::resource_exhausted,
                fmt::format("the programs that are being uploaded for this user take more than {}; try again when they are there",
                            human_bytes(most_begun_)));
  if (kept) kept = append(begun, fresh);
  if (!kept) {
    drop(upload);
    return kept;
  }
  begun.hasher.add(fresh);
  begun.size += fresh.size();
  return begun.size < total ? Result<void>() : complete(upload);
}

Result<void> BinaryStore::complete(BegunUploads::iterator upload) {
  const ProgramId program{upload->first.second, upload->first.first};
  const std::string partial = upload->second.path;
  const std::uint64_t total = upload->second.total;
  const Hash128 hash = upload->second.hasher.hash();
  const auto refuse = [&](Error why) {
    drop(upload);
    return fail(std::move(why));
  };
  if (hash != program.hash)
    return refuse({Code::corrupt, "the uploaded program does not have the content it was announced with; submit again"});
  if (keep_ == Keep::durably) {
    const Fd file(open(partial.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.valid() || fdatasync(file.get()) != 0)
      return refuse(errno_error("cannot keep the uploaded program " + partial, errno));
  }
  if (rename(partial.c_str(), path(program).c_str()) != 0) return refuse(errno_error("cannot keep " + path(program), errno));
  begun_.erase(upload);
  if (keep_ == Keep::durably) WEFT_TRY(sync_directory_of(path(program)));
  sizes_[program] = total;
  if (on_new_) on_new_(program);
  if (!wanted_) return {};
  const auto wanted = [this, &program] {
    std::set<ProgramId> programs = wanted_();
    programs.insert(program);
    return programs;
  };
  clean(wanted, most_);
  return {};
}

Result<BinaryStore::Piece> BinaryStore::read(const ProgramId& program, std::uint64_t offset, std::uint64_t most) const {
  auto known = sizes_.find(program);
  if (known == sizes_.end()) return fail(Code::not_found, fmt::format("the master has no program {}", file_name(program)));
  if (offset > known->second) return fail(Code::invalid_argument, "a piece past the end of the program was asked for");
  const std::string file_path = path(program);
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

Result<ProgramId> BinaryStore::only_with(const Hash128& hash) const {
  const auto first = sizes_.lower_bound({hash, ""});
  if (first == sizes_.end() || first->first.hash != hash)
    return fail(Code::not_found, fmt::format("the master has no program {}", to_string(hash)));
  if (const auto second = std::next(first); second != sizes_.end() && second->first.hash == hash)
    return fail(Code::version_mismatch,
                fmt::format("several users have a program {}, and this release does not say whose it wants: upgrade the worker, "
                            "or the master that follows",
                            to_string(hash)));
  return first->first;
}

}  // namespace weft::master
