// What a channel sends, and the deadlines of what it waits for.
#include <algorithm>

#include <fmt/core.h>
#include <sys/socket.h>

#include "base/assert.hpp"
#include "base/rpc/channel.hpp"
#include "base/rpc/socket.hpp"
#include "base/rpc/watched_call.hpp"
#include "base/text.hpp"

namespace weft::rpc {
namespace {

constexpr int kSendsPerTurn = 16;
constexpr Duration kTellOfParts = std::chrono::seconds(1);
constexpr Duration kLongestDeadline = std::chrono::hours(24 * 365);

TimePoint now() { return std::chrono::steady_clock::now(); }
Error closed_before_sending() { return Error(Code::unavailable, "the connection is closed"); }

}  // namespace

Result<void> Channel::check_sendable(const Payload& payload) const {
  const std::size_t bulk = bulk_size(payload);
  if (payload.header.size() > limits_.max_header || bulk > limits_.max_bulk) {
    return weft::fail(Code::resource_exhausted,
                      fmt::format("message of {} and {} is larger than the {} and {} allowed", human_bytes(payload.header.size()),
                                  human_bytes(bulk), human_bytes(limits_.max_header), human_bytes(limits_.max_bulk)));
  }
  if (payload.fds.size() > std::min(limits_.max_fds, kMaxFdsPerFrame)) {
    return weft::fail(Code::resource_exhausted, fmt::format("{} descriptors in one message", payload.fds.size()));
  }
  if (!payload.fds.empty() && !is_unix_) return weft::fail(Code::invalid_argument, "descriptors travel on Unix sockets only");
  const bool valid = std::all_of(payload.fds.begin(), payload.fds.end(), [](const Fd& fd) { return fd.valid(); });
  if (!valid) return weft::fail(Code::invalid_argument, "invalid descriptor in a message");
  if (!queue_.empty() && queue_.bytes() + payload.header.size() + bulk > limits_.max_queued) {
    return weft::fail(Code::resource_exhausted,
                      fmt::format("{} wait to be sent: the peer does not keep up", human_bytes(queue_.bytes())));
  }
  return {};
}

void Channel::request(MessageType type, Payload payload, Duration deadline, Reply reply, std::shared_ptr<BulkSink> sink) {
  if (state_ != State::open) return fail_later(std::move(reply), closed_before_sending());
  WEFT_ASSERT(loop_.in_thread());
  if (auto sendable = check_sendable(payload); !sendable) return fail_later(std::move(reply), std::move(sendable).error());
  const std::uint64_t id = next_id_++;
  const Duration limited = std::clamp(deadline, Duration{0}, kLongestDeadline);
  pending_.add(id, now() + limited, std::move(reply), std::move(sink), limited, type == kPresence);
  arm_deadline();
  enqueue(FrameKind::request, type, id, std::move(payload));
  if (type == kPresence) presence_ends_ = sent_ + queue_.bytes();
}

void Channel::notify(MessageType type, Payload payload) {
  if (state_ != State::open) return;
  WEFT_ASSERT(loop_.in_thread());
  if (auto sendable = check_sendable(payload); !sendable) return break_off(std::move(sendable).error());
  enqueue(FrameKind::notify, type, 0, std::move(payload));
}

void Channel::answer(std::uint64_t request_id, Payload payload) {
  if (state_ != State::open) return;
  if (auto sendable = check_sendable(payload); !sendable) {
    return answer(request_id, std::move(sendable).error().wrap("cannot send the reply"));
  }
  WEFT_ASSERT(loop_.in_thread());
  --serving_;
  enqueue(FrameKind::reply, 0, request_id, std::move(payload));
}

void Channel::answer(std::uint64_t request_id, const Error& error) {
  if (state_ != State::open) return;
  WEFT_ASSERT(loop_.in_thread());
  --serving_;
  if (queue_.bytes() / 2 > limits_.max_queued) {
    return break_off(Error(Code::resource_exhausted, "the peer sends requests and does not read the answers"));
  }
  enqueue(FrameKind::error, 0, request_id, {encode_error(error), {}, {}});
}

void Channel::enqueue(FrameKind kind, MessageType type, std::uint64_t id, Payload payload) {
  FrameHead head;
  head.kind = kind;
  head.type = type;
  head.request_id = id;
  queue_.push(head, std::move(payload));
  schedule_flush();
}

/// Frames queued by one callback leave together.
void Channel::schedule_flush() {
  if (flush_scheduled_ || awaiting_writable_) return;
  flush_scheduled_ = true;
  loop_.defer([self = shared_from_this(), this] {
    flush_scheduled_ = false;
    flush();
  });
}

void Channel::flush() {
  const auto self = shared_from_this();
  if (watch_ == nullptr || awaiting_writable_ || !open_stream()) return;
  const auto left = [this] { return !queue_.empty() || stream_.keeps_unsent(); };
  for (int turn = 0; turn < kSendsPerTurn && watch_ != nullptr && left(); ++turn) {
    const auto batch = queue_.batch();
    const auto put = stream_.send(batch.pieces, batch.fds);
    if (!put) return unsendable(put.error());
    queue_.sent(put->bytes);
    sent_ += put->bytes;
    // A question that the peer has not got yet, since it takes what stands before it.
    if (put->bytes != 0 && sent_ < presence_ends_) pending_.heard(now());
    if (put->blocked) {
      awaiting_writable_ = true;
      return watch_->await_writable();
    }
  }
  if (watch_ == nullptr) return;
  if (left()) return schedule_flush();
  if (state_ == State::draining) ::shutdown(watch_->fd(), SHUT_WR);  // then the peer closes, or end_timer_ does
}

/// The peer has closed. What it sent before says why: a goodbye, though the kernel resets a connection that has something unread.
void Channel::unsendable(Error error) {
  if (state_ == State::open) receive_what_came();
  break_off(std::move(error));
}

// ---- deadlines

void Channel::arm_deadline() {
  const auto earliest = pending_.earliest_deadline();
  if (!earliest || (deadline_timer_ != nullptr && deadline_armed_ <= *earliest)) return;
  deadline_armed_ = *earliest;
  deadline_timer_ = loop_.after(*earliest - now(), [this] { on_deadline(); });
}

void Channel::on_deadline() {
  const auto self = shared_from_this();
  deadline_timer_.reset();
  auto expired = pending_.take_expired(now());
  arm_deadline();
  for (auto& reply : expired) reply(weft::fail(Code::deadline_exceeded, fmt::format("{} did not answer in time", peer_)));
}

/// A peer that begins a message and does not go on would hold its connection, and the message's memory, for ever.
void Channel::watch_frame(std::size_t bytes) {
  frame_deadline_.received(now(), bytes, std::exchange(frame_ended_, false), reader_.within_frame());
  arm_frame_timer();
}

/// A reply may be as long as its peer likes and the link be slow, and the replies to later requests come behind it: as long as it
/// goes on, as fast as a frame must, none of those to sinks is late. Whatever comes says that the peer is there.
void Channel::prolong_deadlines(std::size_t bytes) {
  pending_.heard(now());
  const auto id = reader_.partly_answered();
  of_bulk_ = id ? of_bulk_ + bytes : 0;
  if (of_bulk_ < FrameDeadline::kStep) return;
  pending_.prolong(*id, now());
  of_bulk_ = 0;
}

void Channel::tell_of_part() {
  if (!handler_.on_part || !reader_.within_frame() || now() - part_told_ < kTellOfParts) return;
  part_told_ = now();
  const auto on_part = handler_.on_part;  // survives a close() from within
  on_part(shared_from_this());
}

void Channel::arm_frame_timer() {
  if (!frame_deadline_.due() || frame_timer_ != nullptr) return;
  frame_timer_ = loop_.after(*frame_deadline_.due() - now(), [this] { on_frame_timer(); });
}

void Channel::on_frame_timer() {
  const auto self = shared_from_this();
  frame_timer_.reset();
  const auto late = [this] { return state_ == State::open && frame_deadline_.due() && *frame_deadline_.due() <= now(); };
  if (late()) receive_what_came();  // this process may have been stopped meanwhile
  if (late()) {
    const auto seconds = std::chrono::duration<double>(limits_.frame_timeout).count();
    return break_off(
        Error(Code::deadline_exceeded, fmt::format("the peer began a message and did not go on with it for {:g} s", seconds)));
  }
  if (state_ == State::open) arm_frame_timer();
}

}  // namespace weft::rpc
