#include "base/rpc/late_posts.hpp"

#include <mutex>
#include <utility>

namespace weft::rpc {

struct LatePosts::State {
  std::mutex mutex;
  Reactor* reactor;  // null: closed
};

LatePosts::LatePosts(Reactor& reactor) : state_(std::make_shared<State>()) { state_->reactor = &reactor; }

void LatePosts::post(std::function<void()> task) const {
  const std::lock_guard lock(state_->mutex);
  if (state_->reactor != nullptr) state_->reactor->post(std::move(task));
}

void LatePosts::close() const {
  const std::lock_guard lock(state_->mutex);
  state_->reactor = nullptr;
}

}  // namespace weft::rpc
