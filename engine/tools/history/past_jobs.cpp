#include "engine/tools/history/past_jobs.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/core.h>

#include "base/log.hpp"
#include "engine/master/log/log_lines.hpp"
#include "engine/tools/history/job_lines.hpp"

namespace weft::history {

namespace {

constexpr std::size_t kLatest = 8;

std::string index_beside(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? path + "/weft.index" : path + ".index";
}

}  // namespace

Result<std::unique_ptr<PastJobs>> PastJobs::open(const std::string& path) {
  const Log log("history");
  const std::string at = index_beside(path);
  WEFT_ASSIGN(auto pieces, master::all_pieces(path));
  auto kept = load_index(at);
  if (!kept && kept.error().code() != Code::not_found) log.warn("{}; it is made again", kept.error().to_string());
  bool changed = false;
  WEFT_ASSIGN(LogIndex index, index_of(pieces, kept ? std::optional(std::move(*kept)) : std::nullopt, changed));
  if (changed)
    if (const auto saved = save_index(at, index); !saved)
      log.warn("{}; without an index, all logs are read again next time", saved.error().to_string());
  return std::unique_ptr<PastJobs>(new PastJobs(std::move(pieces), std::move(index)));
}

std::vector<master::JobStatus> PastJobs::statuses() const {
  std::vector<master::JobStatus> statuses;
  for (const auto& [id, job] : index_.jobs) statuses.push_back(job.status);
  return statuses;
}

Result<std::shared_ptr<const EventHistory>> PastJobs::job(std::uint64_t id) const {
  const auto found = index_.jobs.find(id);
  if (found == index_.jobs.end()) return fail(Code::not_found, fmt::format("the event log has no job {}", id));
  const std::lock_guard lock(mutex_);
  const auto read_before = std::find_if(latest_.begin(), latest_.end(), [id](const auto& one) { return one.first == id; });
  if (read_before != latest_.end()) {
    latest_.splice(latest_.begin(), latest_, read_before);
    return latest_.front().second;
  }
  WEFT_ASSIGN(EventHistory history, read(id, found->second));
  latest_.emplace_front(id, std::make_shared<const EventHistory>(std::move(history)));
  if (latest_.size() > kLatest) latest_.pop_back();
  return latest_.front().second;
}

Result<EventHistory> PastJobs::read(std::uint64_t id, const IndexedJob& job) const {
  JobLines reader(id, EventHistory(id, SIZE_MAX, index_.runs[job.run]));
  const auto is_behind = [&](std::uint32_t piece, std::uint64_t end) { return piece == job.last.piece && end >= job.last.offset; };
  for (std::uint32_t i = job.first.piece; i <= job.last.piece; ++i) {
    WEFT_ASSIGN(master::LogLines lines, master::open_piece(pieces_[i], i == job.first.piece ? job.first.offset : 0));
    while (!is_behind(i, lines.end())) {
      WEFT_ASSIGN(const bool more, lines.next());
      if (!more && !lines.next_unended()) break;
      WEFT_TRY(reader.apply(lines));
    }
  }
  EventHistory history = reader.take();
  if (history.job(id) == nullptr)
    return fail(Code::corrupt, "the event logs have changed since they were indexed: start weft history again");
  history.pass_to(index_.now);
  return history;
}

}  // namespace weft::history
