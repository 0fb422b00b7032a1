#include "runtime/worker/last_words.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.hpp"
#include "base/fatal_signal.hpp"
#include "base/rpc/frame.hpp"
#include "base/rpc/socket.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::runtime {
namespace {

constexpr int kPatience = 500;  // milliseconds for the connection, and for the master to read

struct LastWords {
  sockaddr_storage master{};
  socklen_t length = 0;
  std::array<Buffer, kFatalSignals.size()> frames;  // a conversation of each signal
};

// A signal handler can reach nothing but globals.
std::atomic<const LastWords*> spoken{nullptr};

void append(std::string& bytes, rpc::FrameHead head, ByteView header) {
  head.header_length = static_cast<std::uint32_t>(header.size());
  const rpc::FixedPart fixed = rpc::encode_head(head, header);
  bytes.append(reinterpret_cast<const char*>(fixed.data()), fixed.size());
  bytes.append(reinterpret_cast<const char*>(header.data()), header.size());
}

Buffer conversation(NodeId node, int signal) {
  std::string bytes;
  append(bytes, {}, rpc::encode_hello(rpc::Hello()).view());
  rpc::FrameHead head;
  head.kind = rpc::FrameKind::notify;
  head.type = protocol::kDying;
  append(bytes, head, protocol::encode(protocol::Dying{node, static_cast<std::uint8_t>(signal)}).header.view());
  return Buffer::copy_of(as_bytes(bytes));
}

bool ready(int fd, short events) {
  pollfd poll{fd, events, 0};
  return ::poll(&poll, 1, kPatience) == 1 && (poll.revents & events) != 0;
}

/// Async-signal-safe.
void speak(int signal) noexcept {
  const LastWords* words = spoken.exchange(nullptr);
  if (words == nullptr) return;
  const int fd = ::socket(words->master.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const bool asked = ::connect(fd, reinterpret_cast<const sockaddr*>(&words->master), words->length) == 0 || errno == EINPROGRESS;
  if (!asked || !ready(fd, POLLOUT)) return;
  for (std::size_t i = 0; i < kFatalSignals.size(); ++i) {
    const ByteView bytes = words->frames[i].view();
    if (kFatalSignals[i] == signal && ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;
  }
  ::shutdown(fd, SHUT_WR);
  char answer[256];
  while (ready(fd, POLLIN) && ::read(fd, answer, sizeof answer) > 0) {  // until the master has seen the end
  }
}

Result<void> resolve(const std::string& text, LastWords& words) {
  WEFT_ASSIGN(const rpc::EndpointParts parts, rpc::split_endpoint(text));
  const auto address = rpc::Address::numeric(parts.host, parts.port);
  if (!address) return fail(Code::invalid_argument, text + " is no numeric address");
  words.master = address->storage;
  words.length = address->size;
  return {};
}

}  // namespace

Result<void> set_last_words(const std::string& master, NodeId node) {
  auto words = std::make_unique<LastWords>();
  WEFT_TRY(resolve(master, *words));
  for (std::size_t i = 0; i < kFatalSignals.size(); ++i) words->frames[i] = conversation(node, kFatalSignals[i]);
  static std::mutex mutex;
  static std::unique_ptr<const LastWords> current, before;  // a signal may be reading the one that is replaced
  const std::lock_guard lock(mutex);
  spoken = words.get();
  before = std::move(current);
  current = std::move(words);
  set_fatal_signal_hook(speak);
  return {};
}

void drop_last_words() { spoken = nullptr; }

}  // namespace weft::runtime
