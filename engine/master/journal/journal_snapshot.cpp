// The records of a journal, for a follower.
#include <fcntl.h>
#include <fmt/format.h>

#include "engine/master/journal/journal_file.hpp"
#include "engine/master/journal/journal_reader.hpp"

namespace weft::master {

namespace {

class JournalSnapshot final : public StoreSnapshot {
 public:
  JournalSnapshot(Fd fd, JournalReader reader) : fd_(std::move(fd)), reader_(std::move(reader)) {}

  Result<std::vector<LogEntry>> next(std::size_t bytes) override {
    std::string frames;
    while (frames.size() < bytes) {
      WEFT_ASSIGN(const auto record, reader_.next());
      if (!record) break;
      frames += as_chars(reader_.frame());
    }
    std::vector<LogEntry> entries;
    if (!frames.empty()) entries.push_back({Store::journal, SharedBytes(Buffer::copy_of(as_bytes(frames)))});
    return entries;
  }

 private:
  const Fd fd_;
  JournalReader reader_;
};

}  // namespace

Result<std::unique_ptr<StoreSnapshot>> JournalFile::snapshot() const {
  Fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));  // a descriptor without the lock
  if (!fd.valid()) return fail(errno_error(fmt::format("cannot open the journal {}", path_), errno));
  WEFT_ASSIGN(JournalReader reader, JournalReader::start(fd.get()));
  return std::unique_ptr<StoreSnapshot>(std::make_unique<JournalSnapshot>(std::move(fd), std::move(reader)));
}

}  // namespace weft::master
