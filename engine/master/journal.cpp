#include "engine/master/journal.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/crc32c.hpp"
#include "base/fd.hpp"
#include "base/file.hpp"

namespace weft::master {

namespace {

constexpr std::string_view kMagic = "WEFTJRNL";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 16;
constexpr std::size_t kRecordHeaderBytes = 12;
constexpr std::uint32_t kMaxRecordBytes = 1u << 30;
constexpr std::uint64_t kMaxJournalBytes = std::uint64_t{16} << 30;

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift & 0xff));
}

std::uint32_t get_u32(ByteView bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(bytes[offset + i]) << (8 * i);
  return value;
}

std::string header() {
  std::string text(kMagic);
  put_u32(text, kVersion);
  put_u32(text, 0);
  return text;
}

/// Record header and payload as they are in the file.
std::string record(ByteView payload) {
  std::string text;
  text.reserve(kRecordHeaderBytes + payload.size());
  put_u32(text, static_cast<std::uint32_t>(payload.size()));
  put_u32(text, crc32c(payload));
  put_u32(text, crc32c(as_bytes(text)));
  text.append(as_chars(payload));
  return text;
}

Result<void> check_size(ByteView payload) {
  if (payload.size() <= kMaxRecordBytes) return {};
  return fail(Code::resource_exhausted, fmt::format("an event of {} bytes is too large for the journal", payload.size()));
}

class MemoryJournal final : public Journal {
 public:
  explicit MemoryJournal(std::string& bytes) : bytes_(bytes) {
    if (bytes_.empty()) bytes_ = header();
  }
  Result<void> append(ByteView payload) override {
    WEFT_TRY(check_size(payload));
    bytes_ += record(payload);
    return {};
  }
  Result<void> sync() override { return {}; }
  std::uint64_t size() const override { return bytes_.size(); }

 private:
  std::string& bytes_;
};

class FileJournal final : public Journal {
 public:
  FileJournal(Fd fd, std::string path, SyncPolicy policy, std::uint64_t size)
      : fd_(std::move(fd)), path_(std::move(path)), policy_(policy), size_(size) {}

  Result<void> append(ByteView payload) override {
    WEFT_TRY(check_size(payload));
    return write(record(payload));
  }
  Result<void> sync() override {
    if (broken_) return fail(Code::io, fmt::format("journal {} failed before", path_));
    if (policy_ == SyncPolicy::never) return {};
    if (::fdatasync(fd_.get()) == 0) return {};
    broken_ = true;
    return fail(errno_error(fmt::format("cannot sync journal {}", path_), errno));
  }
  std::uint64_t size() const override { return size_; }

  Result<void> write(const std::string& bytes) {
    if (broken_) return fail(Code::io, fmt::format("journal {} failed before", path_));
    if (auto written = write_all(fd_.get(), as_bytes(bytes)); !written) {
      broken_ = true;
      return fail(std::move(written).error().wrap(fmt::format("cannot append to journal {}", path_)));
    }
    size_ += bytes.size();
    return policy_ == SyncPolicy::each ? sync() : Result<void>();
  }

 private:
  Fd fd_;
  std::string path_;
  SyncPolicy policy_;
  std::uint64_t size_;
  bool broken_ = false;
};

tl::unexpected<Error> damaged(std::size_t offset, std::string_view what) {
  return fail(Code::corrupt, fmt::format("the journal is damaged at byte {}: {}", offset, what));
}

Result<void> check_header(ByteView bytes) {
  if (as_chars(bytes.first(kMagic.size())) != kMagic) return damaged(0, "this is no weft journal");
  if (get_u32(bytes, 8) != kVersion) {
    return fail(Code::version_mismatch,
                fmt::format("the journal has version {}; this program reads {}", get_u32(bytes, 8), kVersion));
  }
  if (get_u32(bytes, 12) != 0) return damaged(12, "reserved bytes are not zero");
  return {};
}

}  // namespace

std::unique_ptr<Journal> memory_journal(std::string& bytes) { return std::make_unique<MemoryJournal>(bytes); }

Result<std::unique_ptr<Journal>> file_journal(const std::string& path, SyncPolicy policy, std::uint64_t valid_bytes) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return fail(errno_error(fmt::format("cannot open journal {}", path), errno));
  const auto end = static_cast<off_t>(valid_bytes);
  if (::ftruncate(fd.get(), end) != 0 || ::lseek(fd.get(), end, SEEK_SET) != end) {
    return fail(errno_error(fmt::format("cannot continue journal {}", path), errno));
  }
  auto journal = std::make_unique<FileJournal>(std::move(fd), path, policy, valid_bytes);
  if (valid_bytes == 0) WEFT_TRY(journal->write(header()));
  return journal;
}

Result<Recovered> read_journal(ByteView bytes) {
  Recovered recovered;
  if (bytes.empty()) return recovered;
  if (bytes.size() < kHeaderBytes) {
    if (header().compare(0, bytes.size(), as_chars(bytes)) != 0) return damaged(0, "this is no weft journal");
    recovered.warning = "the journal ends within its header";
    return recovered;
  }
  WEFT_TRY(check_header(bytes));
  std::size_t offset = kHeaderBytes;
  while (offset < bytes.size()) {
    const std::size_t rest = bytes.size() - offset;
    if (rest >= kRecordHeaderBytes && crc32c(bytes.subspan(offset, 8)) != get_u32(bytes, offset + 8)) {
      return damaged(offset, "the checksum of a record's header is wrong");
    }
    if (rest < kRecordHeaderBytes || rest - kRecordHeaderBytes < get_u32(bytes, offset)) {
      recovered.warning = fmt::format("the journal's last record (at byte {}) is cut short and left out", offset);
      break;
    }
    const ByteView payload = bytes.subspan(offset + kRecordHeaderBytes, get_u32(bytes, offset));
    if (crc32c(payload) != get_u32(bytes, offset + 4)) return damaged(offset, "the checksum of a record is wrong");
    auto entry = decode_event(payload);
    if (!entry) return fail(std::move(entry).error().wrap(fmt::format("journal record at byte {}", offset)));
    recovered.entries.push_back(std::move(*entry));
    offset += kRecordHeaderBytes + payload.size();
  }
  recovered.valid_bytes = offset;
  return recovered;
}

Result<Recovered> read_journal_file(const std::string& path) {
  WEFT_ASSIGN(const std::string bytes, read_file(path, kMaxJournalBytes));
  auto read = read_journal(as_bytes(bytes));
  if (!read) return fail(std::move(read).error().wrap(path));
  return read;
}

Result<void> apply_journaled(Core& core, Journal& journal, Time now, Event event, std::vector<Command>& commands) {
  const Buffer payload = encode_event(now, event);
  const std::size_t before = commands.size();
  WEFT_TRY(core.apply(now, std::move(event), commands));
  auto appended = journal.append(payload.view());
  if (!appended) commands.erase(commands.begin() + static_cast<std::ptrdiff_t>(before), commands.end());
  return appended;
}

Result<void> replay(std::vector<JournalEntry> entries, Core& core, std::vector<Command>& commands) {
  std::size_t number = 0;
  for (auto& entry : entries) {
    if (auto applied = core.apply(entry.at, std::move(entry.event), commands); !applied) {
      return fail(std::move(applied).error().wrap(Code::corrupt, fmt::format("event {} of the journal does not apply", number)));
    }
    ++number;
  }
  return {};
}

}  // namespace weft::master
