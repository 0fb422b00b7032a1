// A connection: handshake, frames in and out of one socket, outstanding requests, orderly close.
#pragma once

#include <functional>
#include <memory>

#include "base/rpc/frame_reader.hpp"
#include "base/rpc/loop.hpp"
#include "base/rpc/pending.hpp"
#include "base/rpc/send_queue.hpp"

namespace weft::rpc {

/// Life: handshaking → open → (draining →) closed. Loop's thread only.
class Channel final : public Connection {
 public:
  /// Who is told about the life of a channel.
  struct Owner {
    /// Once: the handshake succeeded (give the handler back; then `ready` follows), or the connection failed before that.
    std::function<Handler(const ConnectionPtr&)> opened;
    std::function<void(const ConnectionPtr&)> ready;
    std::function<void(Error)> failed;
    /// Once, last: drop your reference.
    std::function<void(Channel*)> gone;
  };

  Channel(Loop& loop, Limits limits, Owner owner);
  /// Takes a connected non-blocking socket and shakes hands.
  void start(Fd socket, Duration deadline);
  /// The loop ends: drops everything without a callback.
  void abandon();

  void request(MessageType type, Payload payload, Duration deadline, Reply reply, std::shared_ptr<BulkSink> sink) override;
  void notify(MessageType type, Payload payload) override;
  void close() override;
  const std::string& peer() const override { return peer_; }

  /// For Responder.
  void answer(std::uint64_t request_id, Payload payload);
  void answer(std::uint64_t request_id, const Error& error);

 private:
  enum class State { handshaking, open, draining, closed };

  // Receiving.
  void on_readable();
  bool receive_some();
  void dispatch_all();
  void dispatch(Frame frame);
  void on_hello(const Frame& frame);
  void on_request(Frame frame);
  void on_answer(Frame frame);
  void discard_input();

  // Sending.
  Result<void> check_sendable(const Payload& payload) const;
  void enqueue(FrameKind kind, MessageType type, std::uint64_t id, Payload payload);
  void schedule_flush();
  void flush();
  void sent_all();

  // Deadlines and ends.
  void arm_deadline();
  void on_deadline();
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
  bool is_unix_ = false;

  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Timer> end_timer_;       // of the handshake, then of draining
  std::unique_ptr<Timer> deadline_timer_;  // of the earliest request
  TimePoint deadline_armed_;

  FrameReader reader_;
  SendQueue queue_;
  PendingRequests pending_;
  std::uint64_t next_id_ = 1;
  std::size_t serving_ = 0;  // requests of the peer not yet answered
  bool flush_scheduled_ = false;
  bool awaiting_writable_ = false;
};

}  // namespace weft::rpc
