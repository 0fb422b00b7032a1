#include "base/rpc/acceptor.hpp"

#include <cerrno>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rpc/peer_user.hpp"
#include "base/text.hpp"

namespace weft::rpc {
namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr Duration kPause = std::chrono::milliseconds(100);

std::string with_real_port(const EndpointParts& parts, int fd) {
  const auto text = local_address(fd).to_string();
  const bool v6 = parts.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", parts.host, v6 ? "]" : "", text.substr(text.rfind(':') + 1));
}

bool worth_another_accept(int error) { return error == EINTR || error == ECONNABORTED || error == EPROTO; }
bool out_of_resources(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

Error needs_identity(const Endpoint& endpoint) {
  return {Code::invalid_argument,
          fmt::format("{} can be reached from other machines, and whoever reaches it could run programs: give --security DIR "
                      "(`weft security init` makes one), or --insecure on a network that nobody else reaches",
                      escaped(endpoint.text))};
}

}  // namespace

Result<ReservedAddress> reserve_address(const Endpoint& endpoint, const Security& security) {
  WEFT_ASSIGN(const auto parts, split_endpoint(endpoint.text));
  if (!parts.path.empty()) return fail(Code::invalid_argument, fmt::format("{} is no HOST:PORT", endpoint.text));
  WEFT_ASSIGN(const auto addresses, resolve_blocking(parts));
  Result<Fd> bound = fail(Code::unavailable, fmt::format("{} has no address", endpoint.text));
  for (const auto& address : addresses) {
    if (!security.beyond_loopback() && !is_loopback(address)) return fail(needs_identity(endpoint));
    bound = bind_socket(address);
    if (!bound) continue;
    Endpoint real{with_real_port(parts, bound->get())};
    return ReservedAddress{std::move(*bound), std::move(real)};
  }
  return fail(std::move(bound).error());
}

Acceptor::Acceptor(Loop& loop, Reach reach, Owner owner) : loop_(loop), reach_(reach), owner_(std::move(owner)) {}

Result<void> Acceptor::open(const Endpoint& endpoint) {
  if (!endpoint.alternatives.empty())
    return fail(Code::invalid_argument, fmt::format("'{}' are several addresses; listen on one", endpoint.text));
  WEFT_ASSIGN(const auto parts, split_endpoint(endpoint.text));
  WEFT_ASSIGN(const auto addresses, resolve_blocking(parts));
  Result<Fd> listening = fail(Code::unavailable, fmt::format("{} has no address", endpoint.text));
  for (const auto& address : addresses) {
    if (reach_ == Reach::loopback && address.family() != AF_UNIX && !is_loopback(address)) return fail(needs_identity(endpoint));
    listening = listen_on(address);
    if (listening) break;
  }
  if (!listening) return fail(std::move(listening).error());
  unix_path_ = parts.path;
  endpoint_.text = parts.path.empty() ? with_real_port(parts, listening->get()) : endpoint.text;
  watch_ = loop_.watch(
      std::move(*listening), [this] { on_readable(); }, [] {});
  watch_->await_readable();
  return {};
}

void Acceptor::close() {
  if (watch_ == nullptr) return;
  watch_.reset();
  pause_.reset();
  if (!unix_path_.empty() && !is_abstract(unix_path_)) ::unlink(unix_path_.c_str());
}

void Acceptor::on_readable() {
  for (int turn = 0; turn < kAcceptsPerTurn; ++turn) {
    Fd socket(::accept4(watch_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) {
      if (!unix_path_.empty() && !same_user(socket.get())) continue;
      disable_delay(socket.get());
      notice_dead_peers(socket.get());
      owner_.accepted(std::move(socket));
      continue;
    }
    const int error = errno;
    if (worth_another_accept(error)) continue;
    if (!out_of_resources(error)) break;
    if (owner_.make_room()) continue;
    owner_.warn(fmt::format("{}: cannot accept connections: {}", endpoint_.text, errno_error("accept", error).message()));
    pause_ = loop_.after(kPause, [this] { watch_->await_readable(); });
    return;
  }
  watch_->await_readable();
}

}  // namespace weft::rpc
