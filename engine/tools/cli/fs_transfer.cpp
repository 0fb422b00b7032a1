// weft fs put, get, cat, head, tail: bytes in and out.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/named_file.hpp"
#include "base/print_error.hpp"
#include "base/text.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/cli/fs_commands.hpp"
#include "engine/tools/cli/input_pieces.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "storage/access/file_version.hpp"
#include "storage/namespace/path.hpp"

namespace weft::tools {

namespace {

namespace fs = std::filesystem;
using storage::files::FileReader;
using storage::files::FileSystem;
constexpr std::size_t kPieceBytes = 1u << 20;
constexpr std::size_t kTailBytes = 64u << 10;

/// A line on stderr that is drawn again and again, when that is a terminal.
class ProgressBar {
 public:
  ProgressBar(std::string what, std::uint64_t total)
      : what_(std::move(what)), total_(total), shown_(::isatty(2) != 0), began_(SystemClock().now()), next_(began_ + kFirst) {}
  ~ProgressBar() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }
  void add(std::uint64_t bytes) {
    bytes_ += bytes;
    if (!shown_) return;
    const TimePoint now = SystemClock().now();
    if (now < next_) return;
    next_ = now + kAgain;
    drawn_ = true;
    const double seconds = std::chrono::duration<double>(now - began_).count();
    const std::string rate = human_bytes(static_cast<std::uint64_t>(static_cast<double>(bytes_) / seconds)) + "/s";
    if (total_ == 0) {
      print_error("\r\033[K{}  {}  {}", escaped(what_), human_bytes(bytes_), rate);
    } else {
      constexpr std::uint64_t kWidth = 30;
      const std::uint64_t full = std::min(kWidth, kWidth * bytes_ / total_);
      print_error("\r\033[K{}  [{}{}] {}%  {} of {}  {}", escaped(what_), std::string(full, '#'), std::string(kWidth - full, ' '),
                  100 * bytes_ / total_, human_bytes(bytes_), human_bytes(total_), rate);
    }
    std::fflush(stderr);
  }

 private:
  static constexpr Duration kFirst = std::chrono::milliseconds(300), kAgain = std::chrono::milliseconds(100);
  std::string what_;
  std::uint64_t total_, bytes_ = 0;
  bool shown_, drawn_ = false;
  TimePoint began_, next_;
};

template <class Write>
Result<void> copy_out(FileReader& reader, std::uint64_t offset, std::uint64_t end, Write&& write, ProgressBar* bar) {
  Buffer piece(kPieceBytes);
  while (offset < end) {
    const MutableBytes room = piece.span().first(std::min<std::uint64_t>(piece.size(), end - offset));
    WEFT_ASSIGN(const std::size_t got, reader.read(offset, room));
    if (got == 0) break;
    WEFT_TRY(write(room.first(got)));
    offset += got;
    if (bar != nullptr) bar->add(got);
  }
  return {};
}

/// A file that only grew is copied as far as it went.
Result<void> check_unchanged(int file, const std::string& name, const struct stat& before) {
  struct stat now {};
  if (::fstat(file, &now) != 0) return fail(errno_error("cannot read " + name, errno));
  storage::FileVersion version = storage::version_of(before, false);
  version.may_grow = true;
  return storage::check_same(name, version, storage::version_of(now, false));
}

Result<void> copy_in(int from, const std::string& name, storage::files::FileWriter& writer, ProgressBar& bar) {
  struct stat before {};
  const bool is_file = ::fstat(from, &before) == 0 && S_ISREG(before.st_mode);
  WEFT_TRY(read_in_pieces(from, name, [&](ByteView bytes) {
    bar.add(bytes.size());
    return writer.append(bytes);
  }));
  return is_file ? check_unchanged(from, name, before) : Result<void>();
}

Result<void> put_stream(FileSystem& files, int from, const std::string& name, std::uint64_t size, const std::string& to,
                        const FsOptions& options) {
  WEFT_ASSIGN(const auto writer, files.create(to, options.create));
  writer->expect(size);
  ProgressBar bar(to, size);
  WEFT_TRY(copy_in(from, name, *writer, bar));
  WEFT_TRY(writer->close());
  if (writer->short_chunks() > 0)
    print_error("weft: {}: {} chunks have fewer than {} replicas; the master has more made as soon as workers are there\n",
                escaped(to), writer->short_chunks(), options.create.replication);
  return {};
}

Result<void> put_file(FileSystem& files, const fs::path& from, const std::string& to, const FsOptions& options) {
  const Fd file(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0) return fail(errno_error("cannot read " + from.string(), errno));
  return put_stream(files, file.get(), from, static_cast<std::uint64_t>(info.st_size), to, options);
}

/// A directory, as the file system knows it whatever its names are.
using Place = std::pair<dev_t, ino_t>;

/// `above`: the directories that it is in. What is in a directory must have an end: of a pipe that is named itself all is stored.
Result<void> put_tree(FileSystem& files, const fs::path& from, const std::string& to, const FsOptions& options,
                      std::vector<Place> above = {}) {
  struct stat info {};
  if (::stat(from.c_str(), &info) != 0) return fail(errno_error("cannot read " + from.string(), errno));
  if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode) && !above.empty())
    return fail(Code::invalid_argument,
                fmt::format("{} is neither a file nor a directory; nothing after it was stored", from.string()));
  if (!S_ISDIR(info.st_mode)) return put_file(files, from, to, options);
  const Place place{info.st_dev, info.st_ino};
  if (std::find(above.begin(), above.end(), place) != above.end())
    return fail(Code::invalid_argument,
                fmt::format("{} leads to a directory that it is in; nothing after it was stored", from.string()));
  above.push_back(place);
  std::error_code error;
  if (!options.recursive) return fail(Code::invalid_argument, fmt::format("{} is a directory; say --recursive", from.string()));
  WEFT_TRY(files.make_directory(to, true));
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(from, error), end; !error && at != end; at.increment(error)) entries.push_back(at->path());
  if (error) return fail(Code::io, fmt::format("cannot read {}: {}", from.string(), error.message()));
  std::sort(entries.begin(), entries.end());
  for (const fs::path& entry : entries)
    WEFT_TRY(put_tree(files, entry, storage::joined(to, entry.filename().string()), options, above));
  return {};
}

Result<void> get_file(FileSystem& files, const std::string& from, const fs::path& to, const FsOptions& options) {
  WEFT_ASSIGN(const auto reader, files.open(from));
  WEFT_ASSIGN(NamedFile file, NamedFile::create(to, options.create.overwrite ? IfExists::replace : IfExists::refuse));
  ProgressBar bar(from, reader->status().bytes);
  WEFT_TRY(copy_out(
      *reader, 0, reader->status().bytes, [&](ByteView bytes) { return file.append(bytes); }, &bar));
  return file.close();
}

Result<void> get_tree(FileSystem& files, const std::string& from, const fs::path& to, const FsOptions& options) {
  WEFT_ASSIGN(const auto status, files.stat(from));
  if (!status.directory) return get_file(files, from, to, options);
  if (!options.recursive) return fail(Code::invalid_argument, fmt::format("{} is a directory; say --recursive", escaped(from)));
  std::error_code error;
  fs::create_directories(to, error);
  if (error) return fail(Code::io, fmt::format("cannot create {}: {}", to.string(), error.message()));
  WEFT_ASSIGN(const auto entries, files.list(from));
  for (const auto& entry : entries) WEFT_TRY(get_tree(files, entry.path, to / std::string(storage::name_of(entry.path)), options));
  return {};
}

/// Where the last `lines` lines begin.
Result<std::uint64_t> begin_of_last(FileReader& reader, std::uint64_t lines) {
  const std::uint64_t size = reader.status().bytes;
  Buffer piece(kTailBytes);
  std::uint64_t begin = size;
  while (begin > 0) {
    const std::uint64_t from = begin - std::min<std::uint64_t>(begin, piece.size());
    const MutableBytes room = piece.span().first(begin - from);
    WEFT_ASSIGN(const std::size_t got, reader.read(from, room));
    for (std::size_t i = got; i-- > 0;) {
      if (room[i] != std::byte{'\n'} || from + i + 1 == size) continue;
      if (--lines == 0) return from + i + 1;
    }
    begin = from;
  }
  return 0;
}

}  // namespace

Result<std::shared_ptr<storage::files::FileSystem>> connect(const FsOptions& options) {
  storage::files::FileSystemOptions settings;
  settings.user = options.user;
  settings.patience = options.master.patience;
  settings.at_first = options.master.at_first;
  settings.waiting = tell_waiting;
  return storage::files::FileSystem::connect(options.master.address, settings);
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/') && !path.ends_with("//")) path.pop_back();
  return path;
}

Result<std::vector<std::string>> expanded(storage::files::FileSystem& files, const std::vector<std::string>& written) {
  std::vector<std::string> all;
  for (const std::string& path : written) {
    WEFT_ASSIGN(const auto some, files.glob(without_slash(path)));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

Result<void> for_each_path(const FsOptions& options, const VisitPath& visit) {
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const auto paths, expanded(*files, options.paths));
  for (const std::string& path : paths) WEFT_TRY(visit(*files, path));
  return {};
}

Result<void> fs_put(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  const std::vector<std::string> sources(options.paths.begin(), options.paths.end() - 1);
  WEFT_ASSIGN(const std::string target, storage::parse_path(without_slash(options.paths.back())));
  const auto there = files->stat(target);
  if (!there && there.error().code() != Code::not_found) return fail(there.error());
  const bool into = there && there->directory;
  if (sources.size() > 1 && !into)
    return fail(Code::invalid_argument, fmt::format("{} is no directory, and there are several sources", escaped(target)));
  for (const std::string& source : sources) {
    if (source == "-") {
      if (into)
        return fail(Code::invalid_argument, fmt::format("{} is a directory; name the file for standard input", escaped(target)));
      WEFT_TRY(put_stream(*files, 0, "standard input", 0, target, options));
      continue;
    }
    const fs::path path = fs::path(without_slash(source)).lexically_normal();
    WEFT_TRY(put_tree(*files, path, into ? storage::joined(target, path.filename().string()) : target, options));
  }
  return {};
}

Result<void> fs_get(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const auto sources, expanded(*files, {options.paths.begin(), options.paths.end() - 1}));
  const fs::path target = options.paths.back();
  std::error_code error;
  const bool into = fs::is_directory(target, error);
  if (target != "-" && sources.size() > 1 && !into)
    return fail(Code::invalid_argument, fmt::format("{} is no directory, and there are several files", target.string()));
  for (const std::string& source : sources) {
    if (target == "-") {
      WEFT_ASSIGN(const auto reader, files->open(source));
      WEFT_TRY(copy_out(*reader, 0, reader->status().bytes, print_bytes, nullptr));
    } else {
      WEFT_TRY(get_tree(*files, source, into ? target / std::string(storage::name_of(source)) : target, options));
    }
  }
  return {};
}

namespace {

/// Prints all of the file, zeros in place of what cannot be read. Names these bytes on standard error and returns how many they
/// are.
Result<std::uint64_t> salvage(FileReader& reader) {
  Buffer piece(kPieceBytes);
  std::vector<storage::ByteRange> missing;
  for (std::uint64_t offset = 0; offset < reader.status().bytes;) {
    const storage::Salvaged some = reader.salvage(offset, piece.span());
    for (const storage::ByteRange& range : some.missing) storage::append(missing, range);
    WEFT_TRY(print_bytes(piece.view().first(some.bytes)));
    offset += some.bytes;
  }
  std::uint64_t bytes = 0;
  for (const storage::ByteRange& range : missing) {
    bytes += range.length;
    print_error("weft: {}: {} are missing; zeros are in their place\n", escaped(reader.status().path),
                storage::files::ranges_text({range}, 1));
  }
  return bytes;
}

Result<void> salvage_all(const FsOptions& options) {
  std::uint64_t missing = 0;
  WEFT_TRY(for_each_path(options, [&](FileSystem& files, const std::string& path) -> Result<void> {
    WEFT_ASSIGN(const auto reader, files.open(path));
    WEFT_ASSIGN(const std::uint64_t bytes, salvage(*reader));
    missing += bytes;
    return {};
  }));
  if (missing == 0) return {};
  return fail(Code::corrupt, fmt::format("{} bytes are missing: no worker has an undamaged copy of them", missing));
}

/// As many lines from the beginning, or all of the file.
Result<void> print_first(FileReader& reader, std::uint64_t lines) {
  Buffer piece(kTailBytes);
  for (std::uint64_t offset = 0; lines > 0;) {
    WEFT_ASSIGN(std::size_t got, reader.read(offset, piece.span()));
    if (got == 0) break;
    for (std::size_t i = 0; i < got; ++i)
      if (piece.data()[i] == std::byte{'\n'} && --lines == 0) got = i + 1;
    WEFT_TRY(print_bytes(piece.view().first(got)));
    offset += got;
  }
  return {};
}

}  // namespace

Result<void> fs_cat(const FsOptions& options) {
  WEFT_ASSIGN(const bool foreign, names_foreign(options.paths));
  if (foreign) return print_foreign(options);
  if (options.salvage) return salvage_all(options);
  FsOptions out = options;
  out.paths.emplace_back("-");
  return fs_get(out);
}

Result<void> fs_head(const FsOptions& options) {
  return for_each_path(options, [&options](FileSystem& files, const std::string& path) -> Result<void> {
    WEFT_ASSIGN(const auto reader, files.open(path));
    if (options.bytes == 0) return print_first(*reader, options.lines);
    return copy_out(*reader, 0, std::min(options.bytes, reader->status().bytes), print_bytes, nullptr);
  });
}

Result<void> fs_tail(const FsOptions& options) {
  return for_each_path(options, [&options](FileSystem& files, const std::string& path) -> Result<void> {
    WEFT_ASSIGN(const auto reader, files.open(path));
    const std::uint64_t size = reader->status().bytes;
    std::uint64_t begin = size;
    if (options.bytes != 0) {
      begin -= std::min(options.bytes, size);
    } else if (options.lines != 0) {
      WEFT_ASSIGN(begin, begin_of_last(*reader, options.lines));
    }
    return copy_out(*reader, begin, size, print_bytes, nullptr);
  });
}

}  // namespace weft::tools
