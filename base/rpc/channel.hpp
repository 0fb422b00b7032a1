// A connection: handshake, frames in and out of one socket, outstanding requests, orderly close.
#pragma once

#include <functional>
#include <memory>

#include "base/rpc/frame_deadline.hpp"
#include "base/rpc/frame_reader.hpp"
#include "base/rpc/loop.hpp"
#include "base/rpc/pending.hpp"
#include "base/rpc/send_queue.hpp"
#include "base/rpc/stream.hpp"

namespace weft::rpc {

/// What the channels of a loop receive into, one at a time: a connection that waits needs no buffer.
struct ReceiveBuffer {
  Buffer bytes{FrameReader::kReceiveBuffer};
  bool in_use = false;
};

/// Life: handshaking → open → (draining →) closed. Loop's thread only.
class Channel final : public Connection {
 public:
  /// Receives the events of a channel.
  struct Owner {
    /// Once: the handshake succeeded (give the handler back; then `ready` follows), or the connection failed before that.
    std::function<Handler(const ConnectionPtr&)> opened;
    std::function<void(const ConnectionPtr&)> ready;
    std::function<void(Error)> failed;
    /// At most once: the peer sent its first message after the handshake.
    std::function<void()> spoke;
    /// At most once: an open connection ends because of what the peer sent, or did not go on to send.
    std::function<void(const Error&)> misbehaved;
    /// Once, last: drop your reference.
    std::function<void()> gone;
  };

  /// `buffer` outlives the channel and is used by no other channel while a callback of this one runs.
  Channel(Loop& loop, ReceiveBuffer& buffer, Limits limits, Owner owner);
  /// What the channel does besides its messages.
  struct Start {
    Duration deadline{};         // of the handshake
    std::unique_ptr<Tls> tls{};  // null: it does not encrypt
    bool checks_user = false;    // it refuses a peer of another user of this machine, once that has answered
  };
  /// Takes a connected non-blocking socket, which `start.tls` is for, and shakes hands.
  void start(Fd socket, Start start);
  /// The loop ends: drops everything without a callback.
  void abandon();
  /// Ends the channel for `why` unless what the peer has already sent takes it a step further (the handshake, its first message).
  /// True when it has ended. Not from within a callback of a channel.
  bool make_way(Error why);
  /// Ends the channel when its peer's certificate was revoked since. Not from within a callback of a channel.
  void check_peer();

  void request(MessageType type, Payload payload, Duration deadline, Reply reply, std::shared_ptr<BulkSink> sink) override;
  void notify(MessageType type, Payload payload) override;
  void close() override;
  const std::string& peer() const override { return peer_; }
  Result<Protocol> protocol() const override { return common_protocol(peer_hello_, own_hello()); }
  const std::string& peer_software() const override { return peer_hello_.software; }
  const Identity* identity() const override { return stream_.peer(); }

  /// For Responder.
  void answer(std::uint64_t request_id, Payload payload);
  void answer(std::uint64_t request_id, const Error& error);

 private:
  enum class State { handshaking, open, draining, closed };

  // Receiving.
  bool open_stream();
  void on_readable();
  bool receive_some();
  void receive_what_came();
  void dispatch_all();
  void dispatch(Frame frame);
  Hello own_hello() const { return {software_version(), limits_.protocols}; }
  void on_hello(const Frame& frame);
  void on_request(Frame frame);
  void on_answer(Frame frame);
  void discard_input();

  // Sending.
  Result<void> check_sendable(const Payload& payload) const;
  void enqueue(FrameKind kind, MessageType type, std::uint64_t id, Payload payload);
  void schedule_flush();
  void flush();
  void unsendable(Error error);

  // Deadlines and ends.
  void arm_deadline();
  void on_deadline();
  void watch_frame(std::size_t bytes);
  void prolong_deadlines(std::size_t bytes);
  void tell_of_part();
  void arm_frame_timer();
  void on_frame_timer();
  void fail_later(Reply reply, Error error);
  void settle(Error for_requests, Error for_owner);
  void break_off(Error error);
  void release();

  Loop& loop_;
  const Limits limits_;
  Owner owner_;
  Handler handler_;
  State state_ = State::handshaking;
  std::string peer_;
  Hello peer_hello_;
  bool is_unix_ = false;
  bool checks_user_ = false;
  Stream stream_;
  bool stream_open_ = false;
  bool receive_deferred_ = false;

  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Timer> end_timer_;       // of the handshake, then of draining
  std::unique_ptr<Timer> deadline_timer_;  // of the earliest request
  TimePoint deadline_armed_;
  std::unique_ptr<Timer> frame_timer_;  // may find that frame_deadline_ has moved

  ReceiveBuffer& buffer_;
  FrameReader reader_;
  FrameDeadline frame_deadline_;
  bool heard_ = false;        // a byte, of whatever kind
  bool frame_ended_ = false;  // at least one did since the last receive
  std::size_t of_bulk_ = 0;   // received of the bulk of a reply since deadlines were prolonged
  TimePoint part_told_{};     // Handler::on_part was last called
  SendQueue queue_;
  std::uint64_t sent_ = 0, presence_ends_ = 0;  // bytes; and with them, the last question whether the peer is there
  PendingRequests pending_;
  std::uint64_t next_id_ = 1;
  std::size_t serving_ = 0;  // requests of the peer not yet answered
  bool flush_scheduled_ = false;
  bool awaiting_writable_ = false;
};

}  // namespace weft::rpc
