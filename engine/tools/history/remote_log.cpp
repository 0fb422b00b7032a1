#include "engine/tools/history/remote_log.hpp"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "engine/master/log/log_pieces.hpp"
#include "engine/tools/history/log_follower.hpp"

namespace weft::history {

namespace {

/// Copies a file of the log, which may be compressed meanwhile: then it begins again.
class PieceCopy {
 public:
  PieceCopy(const ReadEvents& master, std::string log, std::uint32_t piece, std::uint64_t job)
      : master_(master), log_(std::move(log)), job_(job), piece_(piece) {}

  /// The number of the piece; nothing when the master does not have it.
  Result<std::optional<std::uint32_t>> run() {
    while (true) {
      auto part = master_({piece_, offset_, job_});
      if (!part && part.error().code() == Code::not_found && piece_ != 0) return std::optional<std::uint32_t>();
      if (!part) return fail(std::move(part).error());
      if (!file_.valid() || part->compressed != compressed_) {
        const bool begins = offset_ == 0;
        WEFT_TRY(begin(*part));
        if (!begins) continue;
      }
      const bool lines = part->next != 0;
      if (lines ? part->next == offset_ : part->bytes.empty()) return std::optional(piece_);
      WEFT_TRY(write_all(file_.get(), part->bytes.view()));
      offset_ = lines ? part->next : offset_ + part->bytes.size();
    }
  }

 private:
  Result<void> begin(const client::Events& part) {
    if (!path_.empty()) ::unlink(path_.c_str());
    piece_ = part.piece;
    compressed_ = part.compressed;
    offset_ = 0;
    path_ = master::rotated_name(log_, piece_) + (compressed_ ? ".zst" : "");
    file_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file_.valid()) return fail(errno_error(fmt::format("cannot write {}", path_), errno));
    return {};
  }

  const ReadEvents& master_;
  const std::string log_;
  const JobId job_;
  std::uint32_t piece_;
  bool compressed_ = false;
  std::uint64_t offset_ = 0;
  std::string path_;
  Fd file_;
};

}  // namespace

Result<EventHistory> fetch_job(const ReadEvents& master, std::uint64_t job) {
  WEFT_ASSIGN(const TempDir directory, TempDir::create("weft-events-"));
  const std::string log = directory.path() / "events";
  std::uint32_t next = 0;  // the piece that is written
  do {
    WEFT_ASSIGN(const auto piece, PieceCopy(master, log, next, job).run());
    if (!piece) break;
    auto history = read_job(log, job);
    if (history || history.error().code() != Code::not_found) return history;
    next = *piece - 1;
  } while (next > 0);
  return fail(Code::not_found,
              fmt::format("the master's event log has no job {}: it is unknown, or older than what the log keeps", job));
}

}  // namespace weft::history
