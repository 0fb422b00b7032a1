// What stands behind a Responder: the request of a channel that it answers.
#pragma once

#include <memory>

#include "base/rpc/channel.hpp"

namespace weft::rpc {

class Responder::Impl {
 public:
  Impl(std::weak_ptr<Channel> channel, std::uint64_t id) : channel_(std::move(channel)), id_(id) {}

  template <class Answer>
  void answer(Answer&& content) {
    if (const auto channel = channel_.lock()) channel->answer(id_, std::forward<Answer>(content));
  }

 private:
  std::weak_ptr<Channel> channel_;
  std::uint64_t id_;
};

}  // namespace weft::rpc
