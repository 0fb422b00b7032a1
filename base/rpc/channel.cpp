#include "base/rpc/channel.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <sys/socket.h>

#include "base/assert.hpp"
#include "base/rpc/socket.hpp"
#include "base/text.hpp"

namespace weft::rpc {
namespace {

constexpr FrameReader::Bounds kHandshakeBounds{4096, 0, 0};
constexpr int kReceivesPerTurn = 16;  // then the loop's other connections have theirs
constexpr int kSendsPerTurn = 16;
constexpr Duration kDrainTime = std::chrono::seconds(1);
constexpr Duration kLongestDeadline = std::chrono::hours(24 * 365);

TimePoint now() { return std::chrono::steady_clock::now(); }

/// While a channel uses the loop's buffer.
class Turn {
 public:
  explicit Turn(ReceiveBuffer& buffer) : buffer_(buffer) { WEFT_ASSERT(!std::exchange(buffer_.in_use, true)); }
  ~Turn() { buffer_.in_use = false; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  ReceiveBuffer& buffer_;
};

Error closed_error() { return Error(Code::unavailable, "the connection is closed"); }

}  // namespace

class Responder::Impl {
 public:
  Impl(std::weak_ptr<Channel> channel, std::uint64_t id) : channel_(std::move(channel)), id_(id) {}

  template <class Answer>
  void answer(Answer&& content) {
    if (const auto channel = channel_.lock()) channel->answer(id_, std::forward<Answer>(content));
  }

 private:
  std::weak_ptr<Channel> channel_;
  std::uint64_t id_;
};

Responder::Responder(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Responder::Responder(Responder&&) noexcept = default;
Responder& Responder::operator=(Responder&& other) noexcept {
  Responder replaced(std::exchange(impl_, std::move(other.impl_)));
  return *this;
}
Responder::~Responder() {
  if (impl_ != nullptr) fail(Error(Code::internal, "the request was dropped without an answer"));
}
void Responder::reply(Payload payload) {
  WEFT_ASSERT(impl_ != nullptr);
  std::exchange(impl_, nullptr)->answer(std::move(payload));
}
void Responder::fail(const Error& error) {
  WEFT_ASSERT(impl_ != nullptr);
  std::exchange(impl_, nullptr)->answer(error);
}

Channel::Channel(Loop& loop, ReceiveBuffer& buffer, Limits limits, Owner owner)
    : loop_(loop),
      limits_(limits),
      owner_(std::move(owner)),
      buffer_(buffer),
      reader_(buffer.bytes.span(), kHandshakeBounds,
              [this](const FrameHead& head) { return head.kind == FrameKind::reply ? pending_.sink(head.request_id) : nullptr; }),
      frame_deadline_(limits.frame_timeout) {}

void Channel::start(Fd socket, Duration deadline) {
  is_unix_ = local_address(socket.get()).family() == AF_UNIX;
  peer_ = is_unix_ ? "unix" : peer_address(socket.get()).to_string();
  watch_ = loop_.watch(
      std::move(socket), [this] { on_readable(); },
      [this] {
        awaiting_writable_ = false;
        flush();
      });
  end_timer_ = loop_.after(deadline, [this] {
    break_off(Error(Code::deadline_exceeded, "the peer did not shake hands in time (is it a weft process?)"));
  });
  enqueue(FrameKind::hello, 0, 0, {encode_hello(software_version()), {}, {}});
  watch_->await_readable();
}

void Channel::abandon() {
  // A loop that ends right after a close() would otherwise overtake the goodbye, and the peer take order for an accident.
  if (state_ == State::draining && !awaiting_writable_) flush();
  state_ = State::closed;
  release();
  const auto dropped = pending_.take_all();
  const auto handler = std::exchange(handler_, {});
  const auto owner = std::exchange(owner_, {});
}

// ---- receiving

void Channel::on_readable() {
  const auto self = shared_from_this();
  if (state_ == State::draining) return discard_input();
  receive_what_came();
  if (watch_ != nullptr) watch_->await_readable();
}

void Channel::receive_what_came() {
  for (int turn = 0; turn < kReceivesPerTurn; ++turn) {
    if (!receive_some()) return;
  }
}

bool Channel::make_way(Error why) {
  const auto self = shared_from_this();
  const auto steps = [this] { return std::pair(state_, owner_.spoke == nullptr); };
  const auto before = steps();
  if (state_ != State::draining) receive_what_came();
  if (state_ == State::closed) return true;
  if (steps() != before) return false;
  break_off(std::move(why));
  return true;
}

/// False when the socket has no more for now, or the channel has ended.
bool Channel::receive_some() {
  const Turn turn(buffer_);
  const auto space = reader_.space();
  const iovec into[2] = {{space[0].data(), space[0].size()}, {space[1].data(), space[1].size()}};
  auto received = receive(watch_->fd(), into, is_unix_);
  if (!received) {
    break_off(std::move(received).error());
    return false;
  }
  if (received->state == Received::State::would_block) return false;
  if (received->state == Received::State::end) {
    break_off(Error(Code::unavailable, state_ == State::handshaking ? "the peer closed the connection before the handshake"
                                       : reader_.within_frame()     ? "the peer is gone (connection closed within a message)"
                                                                    : "the peer is gone (connection closed)"));
    return false;
  }
  reader_.received(received->bytes, std::move(received->fds));
  dispatch_all();
  if (state_ == State::open) watch_frame(received->bytes);
  const bool filled = received->bytes == space[0].size() + space[1].size();
  return filled && (state_ == State::handshaking || state_ == State::open);
}

void Channel::dispatch_all() {
  while (state_ == State::handshaking || state_ == State::open) {
    auto frame = reader_.next();
    if (!frame) return break_off(std::move(frame).error());
    if (!frame->has_value()) return;
    frame_ended_ = true;
    dispatch(std::move(**frame));
  }
}

void Channel::dispatch(Frame frame) {
  if ((frame.head.kind == FrameKind::hello) != (state_ == State::handshaking)) {
    return break_off(Error(Code::corrupt, "frame out of order (handshake expected exactly once, first)"));
  }
  if (state_ == State::open && owner_.spoke) std::exchange(owner_.spoke, nullptr)();
  switch (frame.head.kind) {
    case FrameKind::hello:
      return on_hello(frame);
    case FrameKind::request:
      return on_request(std::move(frame));
    case FrameKind::reply:
    case FrameKind::error:
      return on_answer(std::move(frame));
    case FrameKind::notify:
      if (handler_.on_notify) {
        const auto on_notify = handler_.on_notify;  // survives a close() from within
        on_notify(shared_from_this(), {frame.head.type, std::move(frame.header), std::move(frame.bulk), std::move(frame.fds)});
      }
      return;
    case FrameKind::goodbye:
      settle(Error(Code::unavailable, "the peer closed the connection"), Error(Code::cancelled, "the peer closed the connection"));
      return release();
  }
}

void Channel::on_hello(const Frame& frame) {
  auto software = decode_hello(frame.header.view());
  if (!software) return break_off(std::move(software).error());
  if (frame.head.version != kProtocolVersion) {
    return break_off(
        Error(Code::version_mismatch,
              fmt::format("the peer is {} and speaks protocol {}, this is {} and speaks protocol {}: use the same release",
                          *software, frame.head.version, software_version(), kProtocolVersion)));
  }
  state_ = State::open;
  end_timer_.reset();
  reader_.set_bounds({limits_.max_header, limits_.max_bulk, limits_.max_fds});
  owner_.failed = nullptr;
  const auto opened = std::exchange(owner_.opened, nullptr);
  const auto ready = std::exchange(owner_.ready, nullptr);
  Handler handler = opened(shared_from_this());
  if (state_ == State::open) {
    handler_ = std::move(handler);
    if (ready) ready(shared_from_this());
  } else if (handler.on_close) {  // closed by `opened` itself
    loop_.defer(
        [self = shared_from_this(), handler] { handler.on_close(self, Error(Code::cancelled, "the connection was closed")); });
  }
}

void Channel::on_request(Frame frame) {
  const std::uint64_t id = frame.head.request_id;
  ++serving_;
  if (serving_ > limits_.max_requests) {
    return answer(id, Error(Code::resource_exhausted, fmt::format("more than {} requests at once", limits_.max_requests)));
  }
  const auto self = std::static_pointer_cast<Channel>(shared_from_this());
  Responder responder(std::make_shared<Responder::Impl>(self, id));
  if (!handler_.on_request) return responder.fail(Error(Code::invalid_argument, "this peer serves no requests"));
  const auto on_request = handler_.on_request;
  on_request(self, {frame.head.type, std::move(frame.header), std::move(frame.bulk), std::move(frame.fds)}, std::move(responder));
}

void Channel::on_answer(Frame frame) {
  auto reply = pending_.take(frame.head.request_id);
  if (!reply) return;  // its deadline has passed
  if (frame.head.kind == FrameKind::error) return (*reply)(weft::fail(decode_error(frame.header.view())));
  (*reply)(Message{frame.head.type, std::move(frame.header), std::move(frame.bulk), std::move(frame.fds)});
}

/// What the peer still sends is read so that the kernel doesn't answer it with a reset, which could destroy our last frames.
void Channel::discard_input() {
  Buffer scrap(64u << 10);
  const iovec into[1] = {{scrap.data(), scrap.size()}};
  const auto received = receive(watch_->fd(), into, is_unix_);
  if (!received || received->state == Received::State::end) return release();
  watch_->await_readable();
}

// ---- sending

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
  if (state_ != State::open) return fail_later(std::move(reply), closed_error());
  WEFT_ASSERT(loop_.in_thread());
  if (auto sendable = check_sendable(payload); !sendable) return fail_later(std::move(reply), std::move(sendable).error());
  const std::uint64_t id = next_id_++;
  pending_.add(id, now() + std::clamp(deadline, Duration{0}, kLongestDeadline), std::move(reply), std::move(sink));
  arm_deadline();
  enqueue(FrameKind::request, type, id, std::move(payload));
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
  for (int turn = 0; turn < kSendsPerTurn && watch_ != nullptr && !queue_.empty(); ++turn) {
    const auto batch = queue_.batch();
    const auto put = send(watch_->fd(), batch.pieces, batch.fds);
    if (!put) return break_off(put.error());
    if (*put == 0) {
      awaiting_writable_ = true;
      return watch_->await_writable();
    }
    queue_.sent(*put);
  }
  if (watch_ == nullptr) return;
  if (!queue_.empty()) return schedule_flush();
  if (state_ == State::draining) ::shutdown(watch_->fd(), SHUT_WR);  // then the peer closes, or end_timer_ does
}

// ---- deadlines and ends

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

void Channel::fail_later(Reply reply, Error error) {
  if (!loop_.in_thread()) return;  // the loop has ended: callbacks are dropped
  loop_.defer([reply = std::move(reply), error = std::move(error)] { reply(weft::fail(error)); });
}

void Channel::close() {
  if (state_ == State::handshaking) return break_off(Error(Code::cancelled, "closed during the handshake"));
  if (state_ != State::open) return;
  WEFT_ASSERT(loop_.in_thread());
  enqueue(FrameKind::goodbye, 0, 0, {});
  settle(closed_error(), Error(Code::cancelled, "the connection was closed"));
  state_ = State::draining;
  end_timer_ = loop_.after(kDrainTime, [this] { release(); });
}

/// Ends the connection for its users: soon, every outstanding request fails, then on_close is called.
void Channel::settle(Error for_requests, Error for_owner) {
  state_ = State::closed;
  deadline_timer_.reset();
  struct Ending {
    ConnectionPtr self;
    std::vector<Reply> replies;
    Handler handler;
    Error for_requests, for_owner;
  };
  auto ending = std::make_shared<Ending>(
      Ending{shared_from_this(), pending_.take_all(), std::exchange(handler_, {}), std::move(for_requests), std::move(for_owner)});
  loop_.defer([ending = std::move(ending)] {
    for (auto& reply : ending->replies) std::exchange(reply, nullptr)(weft::fail(ending->for_requests));
    if (ending->handler.on_close) ending->handler.on_close(ending->self, ending->for_owner);
  });
}

void Channel::break_off(Error error) {
  const auto self = shared_from_this();
  const auto before = state_;
  if (before == State::closed) return;
  if (before == State::open) {
    const bool told = error.code() == Code::corrupt || error.code() == Code::deadline_exceeded;
    if (told && owner_.misbehaved) owner_.misbehaved(error);
    const Code code = error.code() == Code::corrupt ? Code::corrupt : Code::unavailable;
    Error for_requests = Error(error).wrap(code, fmt::format("connection to {} lost", peer_));
    settle(std::move(for_requests), std::move(error));
  } else if (before == State::handshaking && owner_.failed) {
    state_ = State::closed;
    loop_.defer([failed = std::exchange(owner_.failed, nullptr), error = std::move(error)] { failed(error); });
  }
  release();
}

void Channel::release() {
  const auto self = weak_from_this().lock();
  state_ = State::closed;
  watch_.reset();
  end_timer_.reset();
  deadline_timer_.reset();
  frame_timer_.reset();
  owner_.opened = nullptr;
  owner_.ready = nullptr;
  owner_.spoke = nullptr;
  owner_.misbehaved = nullptr;
  if (const auto gone = std::exchange(owner_.gone, nullptr)) gone();
}

}  // namespace weft::rpc
