// The other end of a connection, for what asks only who it is.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/rpc/rpc.hpp"

namespace weft::master {

/// Somebody with that certificate, or with none.
class Peer final : public rpc::Connection {
 public:
  explicit Peer(std::optional<rpc::Identity> identity) : identity_(std::move(identity)) {}
  void request(rpc::MessageType, rpc::Payload, rpc::Duration, rpc::Reply, std::shared_ptr<rpc::BulkSink>) override {}
  void notify(rpc::MessageType, rpc::Payload) override {}
  void close() override {}
  const std::string& peer() const override { return name_; }
  Result<rpc::Protocol> protocol() const override { return rpc::Protocol{1}; }
  const std::string& peer_software() const override { return name_; }
  const rpc::Identity* identity() const override { return identity_ ? &*identity_ : nullptr; }

 private:
  const std::optional<rpc::Identity> identity_;
  const std::string name_ = "peer";
};

}  // namespace weft::master
