#include "engine/master/log/log_lines.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "storage/access/content.hpp"
#include "storage/compression/decompressor.hpp"

namespace weft::master {

namespace {

constexpr std::size_t kPiece = 1u << 20;
constexpr std::size_t kLongestLine = 256u << 20;
constexpr std::size_t kHead = 256;  // of a line: what it is about stands there

}  // namespace

struct LogLines::Source {
  // Of a file that is not compressed, which may grow.
  Fd file;
  std::uint64_t at = 0;
  // Of one that is.
  std::optional<storage::InputFile> packed;
  std::unique_ptr<storage::Decompressor> text;

  /// 0: no more for now.
  Result<std::size_t> read(const std::string& path, MutableBytes into) {
    if (text) return text->read(into);
    const ssize_t size = ::pread(file.get(), into.data(), into.size(), static_cast<off_t>(at));
    if (size < 0) return fail(errno_error(fmt::format("cannot read the event log {}", path), errno));
    at += static_cast<std::uint64_t>(size);
    return static_cast<std::size_t>(size);
  }

  Result<void> skip(const std::string& path, std::uint64_t bytes) {
    if (!text) {
      at = bytes;
      return {};
    }
    std::string passed(std::min<std::uint64_t>(kPiece, bytes), '\0');
    while (bytes > 0) {
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, passed.size()));
      WEFT_ASSIGN(const std::size_t size, read(path, MutableBytes(reinterpret_cast<std::byte*>(passed.data()), wanted)));
      if (size == 0) return fail(Code::corrupt, fmt::format("{} is shorter than it was", path));
      bytes -= size;
    }
    return {};
  }
};

LogLines::LogLines(std::string path, std::unique_ptr<Source> source, std::uint64_t offset)
    : path_(std::move(path)), source_(std::move(source)), begin_(offset), end_(offset) {}
LogLines::LogLines(LogLines&&) noexcept = default;
LogLines& LogLines::operator=(LogLines&&) noexcept = default;
LogLines::~LogLines() = default;

Result<LogLines> LogLines::open(const std::string& path, std::uint64_t offset) {
  auto source = std::make_unique<Source>();
  source->file = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source->file.valid()) return fail(errno_error(fmt::format("cannot read the event log {}", path), errno));
  std::array<char, storage::kContentBytes> head{};
  const ssize_t size = ::pread(source->file.get(), head.data(), head.size(), 0);
  if (size < 0) return fail(errno_error(fmt::format("cannot read the event log {}", path), errno));
  if (storage::compression_of(std::string_view(head.data(), static_cast<std::size_t>(size)))) {
    WEFT_ASSIGN(source->packed, storage::InputFile::open(path, nullptr));
    WEFT_ASSIGN(const storage::Format format, storage::format_of(*source->packed));
    WEFT_ASSIGN(source->text, storage::decompress(*source->packed, format, 0, source->packed->size()));
  }
  WEFT_TRY(source->skip(path, offset));
  return LogLines(path, std::move(source), offset);
}

/// Appends to the buffer; false when there is no more.
Result<bool> LogLines::fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t had = buffer_.size();
  buffer_.resize(had + kPiece);
  const auto size = source_->read(path_, MutableBytes(reinterpret_cast<std::byte*>(buffer_.data() + had), kPiece));
  buffer_.resize(had + size.value_or(0));
  if (!size) return fail(size.error());
  return *size > 0;
}

Result<bool> LogLines::next() {
  while (true) {
    const std::size_t found = buffer_.find('\n', std::max(at_, searched_));
    if (found != std::string::npos) {
      line_ = std::string_view(buffer_).substr(at_, found - at_);
      begin_ = end_;
      end_ += line_.size() + 1;
      at_ = searched_ = found + 1;
      ++number_;
      if (!line_.empty()) return true;
      continue;
    }
    if (buffer_.size() - at_ > kLongestLine)
      return fail(Code::corrupt, fmt::format("{}: line {} is no line of an event log", path_, number_ + 1));
    searched_ = buffer_.size() - at_;  // where it will be
    WEFT_ASSIGN(const bool more, fill());
    if (!more) return false;
  }
}

bool LogLines::next_unended() {
  const std::string_view rest = std::string_view(buffer_).substr(at_);
  JsonReader json(rest, path_);
  if (rest.empty() || !json.skip() || !json.finish()) return false;
  line_ = rest;
  begin_ = end_;
  end_ += rest.size();
  at_ = buffer_.size();
  ++number_;
  return true;
}

Result<EventLine> LogLines::parse() const { return parse_event_line(line_, path_, std::max<std::uint64_t>(number_, 1)); }

Error LogLines::error(std::string_view reason) const {
  return Error(Code::corrupt, fmt::format("{}:{}: {}", path_, std::max<std::uint64_t>(number_, 1), reason));
}

Result<LogLines> open_piece(const LogPiece& piece, std::uint64_t offset) {
  auto opened = LogLines::open(piece.path, offset);
  if (opened || piece.compressed || piece.live || opened.error().code() != Code::not_found) return opened;
  return LogLines::open(piece.path + ".zst", offset);
}

Result<std::string> read_text(const LogPiece& piece, std::uint64_t offset, std::uint64_t bytes) {
  WEFT_ASSIGN(LogLines lines, open_piece(piece, offset));
  std::string text(bytes, '\0');
  for (std::size_t had = 0; had < bytes;) {
    const MutableBytes into(reinterpret_cast<std::byte*>(text.data()) + had, bytes - had);
    WEFT_ASSIGN(const std::size_t size, lines.source_->read(piece.path, into));
    if (size == 0) return fail(Code::corrupt, fmt::format("{} is shorter than it was", piece.path));
    had += size;
  }
  return text;
}

Result<void> for_each_line(const std::vector<LogPiece>& pieces,
                           const std::function<Result<void>(const LogLines&, std::size_t)>& use) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    WEFT_ASSIGN(LogLines lines, open_piece(pieces[i]));
    while (true) {
      WEFT_ASSIGN(const bool more, lines.next());
      if (!more && !lines.next_unended()) break;
      WEFT_TRY(use(lines, i));
    }
  }
  return {};
}

std::optional<std::uint64_t> job_of(std::string_view line) {
  constexpr std::string_view kKey = "\"job\":";
  const std::string_view head = line.substr(0, kHead);
  const std::size_t key = head.find(kKey);
  if (key == std::string_view::npos) return std::nullopt;
  const std::size_t first = line.find_first_not_of(' ', key + kKey.size());
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t end = line.find_first_not_of("0123456789", first);
  return parse_number<std::uint64_t>(line.substr(first, end == std::string_view::npos ? end : end - first));
}

std::string_view event_of(std::string_view line) {
  constexpr std::string_view kKey = "\"event\":\"";
  const std::string_view head = line.substr(0, kHead);
  const std::size_t key = head.find(kKey);
  if (key == std::string_view::npos) return {};
  const std::size_t begin = key + kKey.size(), end = head.find('"', begin);
  return end == std::string_view::npos ? std::string_view() : head.substr(begin, end - begin);
}

}  // namespace weft::master
