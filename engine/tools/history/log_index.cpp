#include "engine/tools/history/log_index.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include "base/crc32c.hpp"
#include "engine/master/log/log_lines.hpp"
#include "engine/tools/history/status.hpp"

namespace weft::history {

namespace {

constexpr std::uint64_t kChecked = 4096;  // of the beginning, and of what lies before the end

/// The part of a status that a list of jobs shows.
master::JobStatus in_few_words(master::JobStatus status) {
  status.stages.clear();
  status.counters.clear();
  return status;
}

/// The piece as it is now, of which `end` bytes of text were read. `tail`: whether that of the text is wanted.
Result<IndexedPiece> look_at(const master::LogPiece& piece, std::uint64_t end, bool tail) {
  struct stat status {};
  if (::stat(piece.path.c_str(), &status) != 0) return fail(errno_error("cannot read " + piece.path, errno));
  IndexedPiece now;
  now.name = piece.name;
  now.compressed = piece.compressed;
  now.size = static_cast<std::uint64_t>(status.st_size);
  now.time = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  now.end = end;
  const std::uint64_t checked = std::min(end, kChecked);
  WEFT_ASSIGN(const std::string head, master::read_text(piece, 0, checked));
  now.head = crc32c(as_bytes(head));
  if (!tail) return now;
  WEFT_ASSIGN(const std::string last, master::read_text(piece, end - checked, checked));
  now.tail = crc32c(as_bytes(last));
  return now;
}

enum class PieceChange : std::uint8_t { none, compressed, grown, other };

PieceChange change_of(const IndexedPiece& was, const IndexedPiece& now) {
  if (was.head != now.head || was.tail != now.tail || (was.compressed && !now.compressed)) return PieceChange::other;
  if (!was.compressed && now.compressed) return was.time == now.time ? PieceChange::compressed : PieceChange::grown;
  if (was.size == now.size) return was.time == now.time ? PieceChange::none : PieceChange::other;
  return !now.compressed && now.size > was.size ? PieceChange::grown : PieceChange::other;
}

struct PieceMatch {
  bool changed = false;  // the index, at all
  bool grown = false;    // the last of its pieces
};

/// What the index knows of pieces that are still there, as the first of `pieces`; false when one of them is another now. Those at
/// the beginning that are gone take their jobs with them.
bool match(const std::vector<master::LogPiece>& pieces, LogIndex& index, PieceMatch& found) {
  const auto first = std::find_if(index.pieces.begin(), index.pieces.end(),
                                  [&](const IndexedPiece& was) { return was.name == pieces.front().name; });
  const auto gone = static_cast<std::uint32_t>(first - index.pieces.begin());
  index.pieces.erase(index.pieces.begin(), first);
  if (index.pieces.empty() || index.pieces.size() > pieces.size() || index.resume.piece < gone) return false;
  for (std::size_t i = 0; i < index.pieces.size(); ++i) {
    IndexedPiece& was = index.pieces[i];
    if (was.name != pieces[i].name) return false;
    auto now = look_at(pieces[i], was.end, !was.compressed);
    if (!now) return false;  // shorter than it was
    const PieceChange change = change_of(was, *now);
    if (change == PieceChange::other || (change == PieceChange::grown && i + 1 < index.pieces.size())) return false;
    found.grown = found.grown || change == PieceChange::grown;
    found.changed = found.changed || change != PieceChange::none || gone > 0;
    was = *now;
    if (was.compressed) was.tail = 0;
  }
  std::erase_if(index.jobs, [&](const auto& job) { return job.second.first.piece < gone; });
  for (auto& [id, job] : index.jobs) {
    job.first.piece -= gone;
    job.last.piece -= gone;
  }
  index.resume.piece -= gone;
  return true;
}

class IndexBuilder {
 public:
  explicit IndexBuilder(LogIndex index)
      : index_(std::move(index)), history_({}, kUnbounded, index_.runs[index_.resume_run]), run_(index_.resume_run) {
    index_.runs.resize(run_ + 1);
  }

  Result<void> apply(const master::LogLines& lines, std::uint32_t piece) {
    end_ = {piece, lines.end()};
    if (const auto event = master::event_of(lines.line()); event == "worker_heartbeat" || event == "timer_fired") return {};
    WEFT_ASSIGN(const auto line, lines.parse());
    if (line.event == "log_started") restart(line);
    history_.apply(line);
    index_.now = line.event == "log_started" ? line.at : std::max(index_.now, line.at);
    if (line.event == "job_submitted") submit(line.job, {piece, lines.begin()});
    if (line.job == 0) return {};
    const auto found = index_.jobs.find(line.job);
    if (found == index_.jobs.end()) return {};
    found->second.last = end_;
    if (line.event == "job_finished" || line.event == "job_failed") finish(line.job);
    return {};
  }

  LogIndex finish_all() {
    index_.runs[run_] = history_.workers();
    index_.resume = end_;
    index_.resume_run = run_;
    for (const std::uint64_t id : running_) {
      IndexedJob& job = index_.jobs[id];
      job.status = in_few_words(status_of(*history_.job(id)));
      if (is_before(job.first, index_.resume)) index_.resume = job.first;
      index_.resume_run = std::min(index_.resume_run, job.run);
    }
    return std::move(index_);
  }

 private:
  static constexpr std::size_t kUnbounded = SIZE_MAX;  // what has ended is dropped at once

  static bool is_before(const IndexPlace& a, const IndexPlace& b) {
    return a.piece != b.piece ? a.piece < b.piece : a.offset < b.offset;
  }

  void submit(std::uint64_t id, const IndexPlace& place) {
    index_.jobs[id] = {{}, place, place, run_};
    running_.insert(id);
  }

  void finish(std::uint64_t id) {
    if (const LoggedJob* job = history_.job(id)) index_.jobs[id].status = in_few_words(status_of(*job));
    history_.drop(id);
    running_.erase(id);
  }

  /// What ran has failed.
  void restart(const master::EventLine& line) {
    if (index_.now > Time(0) || !index_.jobs.empty() || !history_.workers().empty()) {
      index_.runs[run_] = history_.workers();
      index_.runs.emplace_back();
      ++run_;
    }
    history_.apply(line);
    for (const std::uint64_t id : std::set<std::uint64_t>(running_)) finish(id);
  }

  LogIndex index_;
  EventHistory history_;
  std::uint32_t run_;
  IndexPlace end_ = index_.resume;
  std::set<std::uint64_t> running_;
};

/// From the place on where the index ends.
Result<LogIndex> read_on(const std::vector<master::LogPiece>& pieces, LogIndex index) {
  const IndexPlace resume = index.resume;
  std::vector<IndexedPiece> indexed(index.pieces.begin(), index.pieces.begin() + resume.piece);
  IndexBuilder builder(std::move(index));
  for (std::uint32_t i = resume.piece; i < pieces.size(); ++i) {
    WEFT_ASSIGN(master::LogLines lines, master::open_piece(pieces[i], i == resume.piece ? resume.offset : 0));
    while (true) {
      WEFT_ASSIGN(const bool more, lines.next());
      if (!more) break;
      WEFT_TRY(builder.apply(lines, i));
    }
    WEFT_ASSIGN(IndexedPiece piece, look_at(pieces[i], lines.end(), !pieces[i].compressed));
    indexed.push_back(std::move(piece));
    if (lines.next_unended()) WEFT_TRY(builder.apply(lines, i));
  }
  index = builder.finish_all();
  index.pieces = std::move(indexed);
  return index;
}

}  // namespace

Result<LogIndex> index_of(const std::vector<master::LogPiece>& pieces, std::optional<LogIndex> kept, bool& changed) {
  LogIndex index;
  PieceMatch found;
  const bool fits = kept && match(pieces, *kept, found);
  if (fits) index = std::move(*kept);
  changed = !fits || found.changed || index.pieces.size() < pieces.size();
  if (fits && !found.grown && index.pieces.size() == pieces.size()) return index;
  return read_on(pieces, std::move(index));
}

}  // namespace weft::history
