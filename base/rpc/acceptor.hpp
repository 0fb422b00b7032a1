// A listening socket in the loop.
#pragma once

#include <functional>
#include <memory>

#include "base/rpc/loop.hpp"

namespace weft::rpc {

class Acceptor final : public Listener {
 public:
  /// Receives what comes.
  struct Owner {
    /// Takes each connected non-blocking socket.
    std::function<void(Fd)> accepted;
    /// The process can open no more descriptors: closes a connection that it can do without. False when there is none.
    std::function<bool()> make_room;
    /// A line for the log.
    std::function<void(std::string)> warn;
  };

  /// Which addresses it listens on.
  enum class Reach { loopback, all };

  Acceptor(Loop& loop, Reach reach, Owner owner);
  ~Acceptor() override { close(); }

  Result<void> open(const Endpoint& endpoint);
  const Endpoint& endpoint() const override { return endpoint_; }
  void close() override;

 private:
  void on_readable();

  Loop& loop_;
  const Reach reach_;
  const Owner owner_;
  Endpoint endpoint_;
  std::string unix_path_;  // removed on close
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Timer> pause_;  // while the process has no more descriptors
};

}  // namespace weft::rpc
