// Request/response messages over TCP and Unix sockets. The frame is documented in docs/formats/frame.md.
//
// One Reactor is one thread running one event loop; every callback of its connections, listeners and timers runs there, so
// the state they share needs no lock. All member functions of Connection and Listener are called on the reactor's thread;
// post() brings other threads in. This header does not include Asio.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft::rpc {

using Duration = std::chrono::nanoseconds;

/// Message numbers are assigned by the protocols above (runtime/protocol); 0 is reserved for the handshake.
using MessageType = std::uint16_t;

/// What a certificate says about the process that has it. Numbers are positions in sets of roles.
enum class Role : std::uint8_t { user, worker, master };
/// "user", "worker", "master".
std::string_view name_of(Role role);

/// What a certificate says about a peer.
struct Identity {
  Role role = Role::user;
  std::string name;  // of the user, the worker or the master; fit to be shown
  friend bool operator==(const Identity&, const Identity&) = default;
};

class Credentials;  // base/rpc/credentials.hpp

/// How the TCP connections of a reactor are protected. By default they are plain text; then listeners are on loopback only, and
/// both sides refuse peers there that run as another user of the machine (root is nobody's other user).
struct Security {
  std::shared_ptr<Credentials> credentials;  // not null: TLS 1.3, and both sides show certificates of one authority
  bool insecure = false;                     // plain text on every address, with everybody

  bool encrypted() const { return credentials != nullptr; }
  /// Whether listeners may be reached from other machines.
  bool beyond_loopback() const { return encrypted() || insecure; }
};

/// Where to listen or connect: "host:port", "unix:/path", or "unix:@name" for a name without a file that only this machine sees.
/// Unix sockets take connections of the same user (and root) only.
struct Endpoint {
  std::string text;
  /// Of a list: its addresses, two or more. Reactor::connect() connects to one of them; nobody listens on a list.
  std::vector<std::string> alternatives{};
  /// What the certificate of the process there must say, where connections are encrypted. Nothing: that it is a worker or a master.
  std::optional<Role> role{};

  /// The same address, where a process of that role listens.
  Endpoint of(Role expected) const {
    Endpoint copy = *this;
    copy.role = expected;
    return copy;
  }
  static Result<Endpoint> parse(std::string_view text);  // invalid_argument with the expected form
  /// One address, or up to kMostAlternatives of them separated by commas, where one process answers at a time: the masters of a
  /// cluster. Blanks around an address and repeated addresses are dropped. invalid_argument names the one that is wrong.
  static Result<Endpoint> parse_list(std::string_view text);
};
inline constexpr std::size_t kMostAlternatives = 16;

/// A number for what messages and their fields mean, and for which of them there are. Releases that speak a protocol in common work
/// together (docs/formats/frame.md says when a change needs the next number).
using Protocol = std::uint16_t;

/// The protocols that a side speaks. 0 and 0: of a release before there were any, whose messages to workers and executors no other
/// release reads.
struct ProtocolRange {
  Protocol lowest = 0, highest = 0;
  friend bool operator==(const ProtocolRange&, const ProtocolRange&) = default;
};
/// Those of this release.
#ifdef WEFT_LATER_RELEASE
inline constexpr ProtocolRange kProtocols{1, 3};  // of a program that stands for the next release (scripts/upgrade-test)
#else
inline constexpr ProtocolRange kProtocols{1, 2};
#endif

/// What one message carries. `header` is a flat Cap'n Proto message; `bulk` pieces follow the frame raw, sent
/// straight from their owners' memory; descriptors travel on Unix sockets only.
struct Payload {
  Buffer header;
  std::vector<SharedBytes> bulk;
  std::vector<Fd> fds;
};

/// The payload, followed by these bytes; by nothing more when there are none.
inline Payload with_bulk(Payload payload, SharedBytes bytes) {
  if (!bytes.bytes.empty()) payload.bulk.push_back(std::move(bytes));
  return payload;
}

/// A received message. The bulk bytes were read straight into one fresh buffer, or went to the request's BulkSink.
struct Message {
  MessageType type = 0;
  Buffer header;
  Buffer bulk;
  std::vector<Fd> fds;
};

/// Bounds on what a peer may send, and on what is sent. A peer that exceeds one of the first three is disconnected (Code::corrupt);
/// a message of ours that does is refused (Code::resource_exhausted).
struct Limits {
  std::size_t max_header = 64u << 20;
  std::size_t max_bulk = 1u << 30;
  std::size_t max_fds = 64;
  std::size_t max_queued =
      256u << 20;                   // bytes waiting to be sent; more fails a request or reply, and ends the connection on a notify
  std::size_t max_requests = 4096;  // requests of the peer being served at once; more are answered with resource_exhausted
  Duration handshake_timeout = std::chrono::seconds(10);
  Duration frame_timeout = std::chrono::seconds(20);  // for a message once begun; a long one gets as much again with every 16 KiB
  ProtocolRange protocols = kProtocols;               // that this side speaks
  bool common_protocol = false;  // a peer of before there were protocols is refused, too (Connection::protocol())
};

class Connection;
using ConnectionPtr = std::shared_ptr<Connection>;

/// Answers one request exactly once. Dropped, it answers with unavailable, as a peer that ends. May outlive the connection (the
/// answer is then discarded). Reactor thread only.
class Responder {
 public:
  class Impl;  // base/rpc/responder.hpp
  explicit Responder(std::shared_ptr<Impl> impl);
  Responder(Responder&&) noexcept;
  Responder& operator=(Responder&&) noexcept;
  ~Responder();
  void reply(Payload payload);
  void fail(const Error& error);

 private:
  std::shared_ptr<Impl> impl_;
};

/// What a connection does with what arrives. Reactor thread; must not block.
struct Handler {
  std::function<void(const ConnectionPtr&, Message, Responder)> on_request;
  std::function<void(const ConnectionPtr&, Message)> on_notify;
  /// Part of a message came whose rest is still to come: at most once a second. What the peer says meanwhile stands behind it.
  std::function<void(const ConnectionPtr&)> on_part{};
  /// Called once, after every outstanding request failed. The error says why: Code::cancelled when either side called close(),
  /// unavailable when the peer is gone, corrupt when it sent nonsense.
  std::function<void(const ConnectionPtr&, const Error&)> on_close;
};

using Reply = std::function<void(Result<Message>)>;

/// Takes the bulk of a reply piece by piece, where its owner wants it and while it is still in the cache, instead of in a fresh
/// buffer. Reactor thread; must not block; nothing of it is called from the moment on at which the request's Reply is.
class BulkSink {
 public:
  virtual ~BulkSink() = default;
  /// The reply's header came whole, as the peer sent it, and `bytes` bytes (not 0, within the limits) follow.
  virtual void begin(ByteView header, std::uint64_t bytes) = 0;
  /// Where the next of the `left` bytes belong; they are filled in order, with one receive or several. Empty: what is left is
  /// dropped.
  virtual MutableBytes room(std::uint64_t left) = 0;
  /// The first `bytes` bytes of the last room() were filled, not 0.
  virtual void filled(std::size_t bytes) = 0;
};

/// A symmetrical, ordered channel: both sides may send requests and notifications at any time. It lives until one side closes
/// it or the reactor stops, whoever holds the pointer.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  virtual ~Connection() = default;
  /// `reply` is called exactly once: with the answer, the peer's error, deadline_exceeded, or unavailable when the connection ends;
  /// never from within request() itself. A reply that is coming is not late, however long it is (frame_timeout bounds that). The
  /// bulk of the answer goes to `sink` when there is one, and is not in the message then.
  virtual void request(MessageType type, Payload payload, Duration deadline, Reply reply, std::shared_ptr<BulkSink> sink = {}) = 0;
  /// One way. Silently dropped when the connection is already closed.
  virtual void notify(MessageType type, Payload payload) = 0;
  /// Sends what is queued (bounded by a second), then closes. Idempotent.
  virtual void close() = 0;
  /// "127.0.0.1:4711" or "unix".
  virtual const std::string& peer() const = 0;
  /// The highest protocol that both sides speak: what the peer does not know must not be sent to it. version_mismatch, naming both
  /// sides and what to do, when the peer is of a release before there were protocols. (One that speaks only others is
  /// disconnected.)
  virtual Result<Protocol> protocol() const = 0;
  /// "weft 0.1.0": what the peer says it is. Fit to be shown.
  virtual const std::string& peer_software() const = 0;
  /// The peer by its certificate; null where connections are not encrypted. Lives as long as the connection.
  virtual const Identity* identity() const { return nullptr; }
  /// Anything the owner wants to keep with the connection.
  std::shared_ptr<void> context;
};

class Listener {
 public:
  virtual ~Listener() = default;
  /// The bound address with the real port when 0 was asked for.
  virtual const Endpoint& endpoint() const = 0;
  virtual void close() = 0;
};

/// A timer handle; destroying or cancelling it stops the callback. Reactor thread only.
class Timer {
 public:
  virtual ~Timer() = default;
};

/// One thread, one event loop.
class Reactor {
 public:
  /// Starts the thread. `security` is that of all its TCP connections.
  static std::unique_ptr<Reactor> start(std::string name, Security security = {});
  virtual ~Reactor() = default;  // stop()s

  /// Runs `task` on the reactor's thread soon. Any thread.
  virtual void post(std::function<void()> task) = 0;
  /// Runs `task` on the reactor's thread and waits for it. Not from the reactor's thread.
  void run(std::function<void()> task);
  virtual bool in_thread() const = 0;
  /// Ends the loop and joins the thread; pending callbacks are dropped. Any thread but the reactor's; idempotent.
  virtual void stop() = 0;

  // Reactor thread only from here on.

  virtual std::unique_ptr<Timer> after(Duration delay, std::function<void()> task) = 0;
  /// Connects and shakes hands (magic, version of the frame, software, protocols; version_mismatch names both sides). Of a list it
  /// is the first address that shakes hands (base/rpc/race.hpp), and the others are closed. When none does, the error has the
  /// reason of each, and is version_mismatch when it is that of one of them. invalid_argument: one side refuses who the other is.
  virtual void connect(const Endpoint& endpoint, Duration deadline, Handler handler, Limits limits,
                       std::function<void(Result<ConnectionPtr>)> done) = 0;
  /// A connection over an already connected socket (socketpair of a child process). Shakes hands like connect().
  virtual void adopt(Fd socket, Duration deadline, Handler handler, Limits limits,
                     std::function<void(Result<ConnectionPtr>)> done) = 0;
  /// Accepts and shakes hands; `accepted` gives each new connection its handler. Strangers cannot keep others out: at most 512
  /// connections may handshake, the oldest is closed for the next; and when the process's descriptors run short, those go that
  /// have never sent a message, oldest first (see descriptors.hpp). invalid_argument, with what to do, when the address is not
  /// loopback and connections are neither encrypted nor insecure.
  virtual Result<std::unique_ptr<Listener>> listen(const Endpoint& endpoint, Limits limits,
                                                   std::function<Handler(const ConnectionPtr&)> accepted) = 0;
};

/// An address that is kept for a later listen(): it is bound, and as nothing listens there, connections to it are refused at once.
/// It may stay while this process listens there.
struct ReservedAddress {
  Fd socket;
  Endpoint endpoint;  // with the real port when 0 was asked for
};
/// Of a TCP address, on which a reactor with that security may listen. Errors as of listen(): in use, not an address of this
/// machine. Blocks while the name is looked up.
Result<ReservedAddress> reserve_address(const Endpoint& endpoint, const Security& security);

/// Blocking calls for threads that are not the reactor's (drivers, command line, tasks).
Result<ConnectionPtr> connect(Reactor& reactor, const Endpoint& endpoint, Duration deadline, Handler handler = {},
                              Limits limits = {});
Result<Message> call(Reactor& reactor, const ConnectionPtr& connection, MessageType type, Payload payload, Duration deadline);

}  // namespace weft::rpc
