#include "engine/tools/history/log_follower.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/tools/history/job_lines.hpp"

namespace weft::history {

/// The pieces are listed before the open one is read to its end: so it has ended when there is a later one.
Result<void> LogFollower::read() {
  while (true) {
    WEFT_ASSIGN(const auto pieces, master::pieces_of(log_));
    if (!lines_) WEFT_TRY(open(pieces));
    if (!lines_) return {};
    WEFT_TRY(read_piece());
    if (pieces.back().number <= piece_) return {};
    next_ = {piece_ + 1, 0};
    lines_.reset();
  }
}

/// The next piece that is there; none when it is not there yet.
Result<void> LogFollower::open(const std::vector<master::LogPiece>& pieces) {
  const auto next = std::find_if(pieces.begin(), pieces.end(), [&](const auto& piece) { return piece.number >= next_.piece; });
  if (next == pieces.end()) return {};
  WEFT_ASSIGN(lines_, master::open_piece(*next, next->number == next_.piece ? next_.offset : 0));
  piece_ = next->number;
  if (!next->live) return {};
  WEFT_ASSIGN(const auto now, master::pieces_of(log_));
  if (now.back().number != piece_) lines_.reset();  // it was rotated in between: which one is open is not known
  return {};
}

Result<void> LogFollower::read_piece() {
  while (true) {
    WEFT_ASSIGN(const bool more, lines_->next());
    if (!more) return {};
    WEFT_ASSIGN(const auto event, lines_->parse());
    history_.apply(event);
  }
}

Result<EventHistory> read_job(const std::string& log, std::uint64_t job) {
  WEFT_ASSIGN(const auto pieces, master::pieces_of(log));
  JobLines reader(job, EventHistory(job));
  WEFT_TRY(master::for_each_line(pieces, [&](const master::LogLines& lines, std::size_t) { return reader.apply(lines); }));
  EventHistory history = reader.take();
  if (history.job(job) == nullptr) return fail(Code::not_found, fmt::format("{} has no job {}", log, job));
  return history;
}

}  // namespace weft::history
