#include "base/rpc/channel.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <sys/socket.h>

#include "base/assert.hpp"
#include "base/rpc/peer_user.hpp"
#include "base/rpc/responder.hpp"
#include "base/rpc/socket.hpp"
#include "base/text.hpp"

namespace weft::rpc {
namespace {

constexpr FrameReader::Bounds kHandshakeBounds{4096, 0, 0};
constexpr int kReceivesPerTurn = 16;  // then the loop's other connections have theirs
constexpr Duration kDrainTime = std::chrono::seconds(1);

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

Channel::Channel(Loop& loop, ReceiveBuffer& buffer, Limits limits, Owner owner)
    : loop_(loop),
      limits_(limits),
      owner_(std::move(owner)),
      buffer_(buffer),
      reader_(buffer.bytes.span(), kHandshakeBounds,
              [this](const FrameHead& head) { return head.kind == FrameKind::reply ? pending_.sink(head.request_id) : nullptr; }),
      frame_deadline_(limits.frame_timeout) {}

void Channel::start(Fd socket, Start start) {
  const Duration deadline = start.deadline;
  checks_user_ = start.checks_user;
  is_unix_ = local_address(socket.get()).family() == AF_UNIX;
  peer_ = is_unix_ ? "unix" : peer_address(socket.get()).to_string();
  stream_ = Stream(socket.get(), is_unix_, std::move(start.tls));
  watch_ = loop_.watch(
      std::move(socket), [this] { on_readable(); },
      [this] {
        awaiting_writable_ = false;
        flush();
      });
  end_timer_ = loop_.after(deadline, [this, deadline] {
    // Connections to a process that is stopped are made, by its kernel.
    break_off(Error(Code::deadline_exceeded,
                    heard_ || stream_.heard()
                        ? std::string("the peer did not shake hands in time (is it a weft process?)")
                        : fmt::format("the peer says nothing, for {:.1f} s: its process is stopped or hangs, or is none of weft",
                                      std::chrono::duration<double>(deadline).count())));
  });
  enqueue(FrameKind::hello, 0, 0, {encode_hello(own_hello()), {}, {}});
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

/// Whether messages may go over the stream by now. Ends the channel when they never will.
bool Channel::open_stream() {
  if (stream_open_) return true;
  const auto open = stream_.shake_hands();
  if (!open) {
    break_off(open.error());
    return false;
  }
  if (stream_.keeps_unsent() && !std::exchange(awaiting_writable_, true)) watch_->await_writable();
  if (!*open) return false;
  stream_open_ = true;
  schedule_flush();
  return true;
}

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
  // What an encrypted stream has taken from the socket makes that readable no more.
  if (stream_.peer() == nullptr || std::exchange(receive_deferred_, true)) return;
  loop_.defer([self = shared_from_this(), this] {
    receive_deferred_ = false;
    if (state_ == State::open) receive_what_came();
  });
}

void Channel::check_peer() {
  if (state_ == State::open && stream_.revoked()) break_off(Error(Code::invalid_argument, "the peer's certificate is revoked"));
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
  if (!open_stream()) return false;
  const Turn turn(buffer_);
  const auto space = reader_.space();
  const iovec into[2] = {{space[0].data(), space[0].size()}, {space[1].data(), space[1].size()}};
  auto received = stream_.receive(into);
  if (stream_.keeps_unsent()) schedule_flush();
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
  heard_ = true;
  reader_.received(received->bytes, std::move(received->fds));
  dispatch_all();
  if (state_ == State::open) {
    watch_frame(received->bytes);
    prolong_deadlines(received->bytes);
    tell_of_part();
  }
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
  // Instead of a handshake: the other side refuses this one, and says why.
  if (state_ == State::handshaking && frame.head.kind == FrameKind::error) return break_off(decode_error(frame.header.view()));
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
  auto hello = decode_hello(frame.header.view());
  if (!hello) return break_off(std::move(hello).error());
  if (frame.head.version != kFrameVersion) {
    return break_off(
        Error(Code::version_mismatch,
              fmt::format("the peer is {} and sends frames of version {}, this is {} and sends version {}: use the same release",
                          hello->software, frame.head.version, software_version(), kFrameVersion)));
  }
  if (checks_user_ && !may_talk(user_of_peer(watch_->fd()), Side::dialled)) {
    return break_off(Error(Code::invalid_argument,
                           "another user of this machine runs the process there; use --security with a certificate of its cluster, "
                           "or --insecure to talk to it all the same"));
  }
  peer_hello_ = std::move(*hello);
  if (limits_.common_protocol || (peer_hello_.protocols.highest != 0 && limits_.protocols.highest != 0))
    if (auto common = protocol(); !common) return break_off(std::move(common).error());
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

// ---- ends

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
    const bool at_fault =
        error.code() == Code::corrupt || error.code() == Code::deadline_exceeded || error.code() == Code::invalid_argument;
    if (at_fault && owner_.misbehaved) owner_.misbehaved(error);
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
