#include "engine/tools/web/sampler.hpp"

#include <utility>

namespace weft::web {

Sampler::Sampler(std::function<void()> look, Duration pause)
    : thread_([this, look = std::move(look), pause](const std::stop_token& ended) {
        std::unique_lock lock(mutex_);
        while (!ended.stop_requested()) {
          lock.unlock();
          look();
          lock.lock();
          stopped_.wait_for(lock, ended, pause, [] { return false; });
        }
      }) {}

}  // namespace weft::web
