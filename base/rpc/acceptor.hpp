// A listening socket in the loop.
#pragma once

#include <functional>
#include <memory>

#include "base/rpc/loop.hpp"

namespace weft::rpc {

class Acceptor final : public Listener {
 public:
  /// `accepted` takes each connected non-blocking socket.
  Acceptor(Loop& loop, std::function<void(Fd)> accepted);
  ~Acceptor() override { close(); }

  Result<void> open(const Endpoint& endpoint);
  const Endpoint& endpoint() const override { return endpoint_; }
  void close() override;

 private:
  void on_readable();

  Loop& loop_;
  std::function<void(Fd)> accepted_;
  Endpoint endpoint_;
  std::string unix_path_;  // removed on close
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Timer> pause_;  // while the process has no more descriptors
};

}  // namespace weft::rpc
