#include "base/rpc/dialer.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <sys/socket.h>

namespace weft::rpc {
namespace {

Error connect_error(int error) { return Error(Code::unavailable, std::generic_category().message(error)); }

}  // namespace

Dialer::Dialer(Loop& loop, Duration deadline, Done done)
    : loop_(loop),
      deadline_(std::chrono::steady_clock::now() + std::clamp(deadline, Duration{0}, Duration(std::chrono::hours(24)))),
      done_(std::move(done)) {}

void Dialer::dial(const std::string& address) {
  const auto self = shared_from_this();
  timer_ = loop_.after(deadline_ - std::chrono::steady_clock::now(),
                       [self] { self->finish(fail(Code::deadline_exceeded, "no answer in time")); });
  auto parts = split_endpoint(address);
  if (!parts) return finish(fail(std::move(parts).error()));
  if (!parts->path.empty()) {
    addresses_.push_back(Address::unix_path(parts->path));
    return try_next();
  }
  loop_.resolve(parts->host, parts->port, [self](Result<std::vector<Address>> addresses) {
    if (!addresses) return self->finish(fail(std::move(addresses).error()));
    self->addresses_ = std::move(addresses).value();
    self->try_next();
  });
}

void Dialer::try_next() {
  if (done_ == nullptr) return;
  if (next_ == addresses_.size()) return finish(fail(last_error_));
  try_address(addresses_[next_++]);
}

void Dialer::try_address(const Address& address) {
  auto socket = open_socket(address.family());
  if (!socket) return finish(fail(std::move(socket).error()));
  if (::connect(socket->get(), address.get(), address.size) == 0) {
    // Names without a file are free to all users of the machine.
    if (address.family() != AF_UNIX || same_user(socket->get())) return finish(std::move(socket));
    last_error_ = Error(Code::invalid_argument, "another user of this machine listens there");
    return try_next();
  }
  if (errno != EINPROGRESS) {
    last_error_ = connect_error(errno);
    return try_next();
  }
  watch_ = loop_.watch(
      std::move(*socket), [] {}, [this] { connected(); });
  watch_->await_writable();
}

void Dialer::connected() {
  const auto self = shared_from_this();
  int error = 0;
  socklen_t size = sizeof error;
  Fd socket = watch_->release();
  watch_.reset();
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error == 0) return finish(std::move(socket));
  last_error_ = connect_error(error);
  try_next();
}

void Dialer::cancel() {
  const auto self = shared_from_this();
  done_ = nullptr;
  timer_.reset();
  watch_.reset();
}

void Dialer::finish(Result<Fd> result) {
  if (done_ == nullptr) return;
  const auto self = shared_from_this();
  const auto done = std::exchange(done_, nullptr);
  timer_.reset();
  watch_.reset();
  done(std::move(result), std::max(deadline_ - std::chrono::steady_clock::now(), Duration{0}));
}

}  // namespace weft::rpc
