#include "engine/master/server/event_requests.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "engine/master/log/log_lines.hpp"
#include "engine/master/log/log_pieces.hpp"

namespace weft::master {

namespace {

Error not_there(std::uint32_t piece) {
  return {Code::not_found, fmt::format("the master's event log has no part {} any more", piece)};
}

Result<LogPiece> piece_of(const std::string& log, std::uint32_t number) {
  WEFT_ASSIGN(const auto pieces, pieces_of(log));
  if (number == 0) return pieces.back();
  const auto found = std::find_if(pieces.begin(), pieces.end(), [number](const LogPiece& piece) { return piece.number == number; });
  if (found == pieces.end()) return fail(not_there(number));
  return *found;
}

constexpr std::uint64_t kMostLookedThrough = 8u << 20;  // bytes of text

/// Whether a user may read the line who may read about this job only. Lines that are about no job are those of workers and of the
/// log.
bool is_of(std::string_view line, JobId wanted) {
  if (const auto job = job_of(line)) return *job == wanted.value();
  const std::string_view event = event_of(line);
  return event.starts_with("worker_") || event.starts_with("log_") || event == "capacity_changed";
}

/// A piece of a line would not say whose it is.
Result<void> check_begin(const LogPiece& piece, std::uint64_t offset) {
  const auto before = offset == 0 ? Result<std::string>("\n") : read_text(piece, offset - 1, 1);
  if (before && *before == "\n") return {};
  return fail(Code::invalid_argument, fmt::format("no line of {} begins at {}", piece.name, offset));
}

Result<client::Events> lines_of_job(const LogPiece& piece, const client::EventsWanted& wanted, const LogPlace& from) {
  if (piece.number < from.piece) return fail(not_there(piece.number));
  const std::uint64_t begin = piece.number == from.piece ? std::max(wanted.offset, from.offset) : wanted.offset;
  WEFT_TRY(check_begin(piece, begin));
  WEFT_ASSIGN(LogLines lines, open_piece(piece, begin));
  std::string text;
  std::uint64_t next = begin;
  while (text.size() < client::kEventsChunkBytes && next - begin < kMostLookedThrough) {
    WEFT_ASSIGN(const bool more, lines.next());
    if (!more) break;
    next = lines.end();
    if (is_of(lines.line(), wanted.job)) (text += lines.line()) += '\n';
  }
  return client::Events{piece.number, false, Buffer::copy_of(as_bytes(text)), next};
}

}  // namespace

Result<client::Events> read_events(const std::string& log, const client::EventsWanted& wanted, LogPlace from) {
  if (log.empty()) return fail(Code::not_found, "this master keeps no event log: it was started with --event-log none");
  if (wanted.offset > std::numeric_limits<off_t>::max()) return fail(Code::invalid_argument, "no file is that long");
  WEFT_ASSIGN(const LogPiece piece, piece_of(log, wanted.piece));
  const Fd file(::open(piece.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // which may be a pipe
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0)
    return fail(errno_error(fmt::format("cannot read {}", piece.path), errno));
  if (!S_ISREG(status.st_mode)) return fail(Code::not_found, fmt::format("the master's event log {} is no file", log));
  if (wanted.job != JobId{}) return lines_of_job(piece, wanted, from);
  Buffer bytes(client::kEventsChunkBytes);
  const ssize_t size = ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(wanted.offset));
  if (size < 0) return fail(errno_error(fmt::format("cannot read {}", piece.path), errno));
  return client::Events{piece.number, piece.compressed, Buffer::copy_of(bytes.view().first(static_cast<std::size_t>(size))), 0};
}

void answer_events(const std::string& log, const client::EventsWanted& wanted, LogPlace from, rpc::Reactor& background,
                   rpc::Reactor& reactor, rpc::Responder responder) {
  const auto to = std::make_shared<rpc::Responder>(std::move(responder));
  const auto answer = [to](Result<client::Events> events) {
    events ? to->reply(client::encode(std::move(*events))) : to->fail(events.error());
  };
  if (wanted.job == JobId{}) return answer(read_events(log, wanted));
  background.post([answer, log, wanted, from, &reactor] {
    auto events = std::make_shared<Result<client::Events>>(read_events(log, wanted, from));
    reactor.post([answer, events] { answer(std::move(*events)); });
  });
}

Result<rpc::Payload> read_past(const Server::Past& past, const rpc::Message& message) {
  WEFT_ASSIGN(const auto wanted, client::decode<client::PastWanted>(message));
  if (!past) return fail(Code::not_found, "this master has no page (--http none), which keeps what the cluster did");
  WEFT_ASSIGN(const std::string json, past(wanted.span));
  return client::encode(client::Past{Buffer::copy_of(as_bytes(json))});
}

}  // namespace weft::master
