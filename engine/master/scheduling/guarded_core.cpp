#include "engine/master/scheduling/guarded_core.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "engine/master/scheduling/bounded_call.hpp"

namespace weft::scheduling {

/// Owned by both threads, so that one that never returns has nothing to stumble over.
struct GuardedCore::Shared {
  std::unique_ptr<master::Core> core;
  std::thread thread;

  std::mutex mutex;  // everything below
  std::condition_variable changed;
  bool ending = false;
  struct Call {
    master::Time now{0};
    master::Event event;
    std::vector<master::Command> commands{};
    Result<void> result{};
    bool done = false;
  };
  std::shared_ptr<Call> call;  // to be carried out

  void serve() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ending || call != nullptr; });
      if (ending) return;
      const std::shared_ptr<Call> mine = std::exchange(call, nullptr);
      lock.unlock();
      Result<void> result = core->apply(mine->now, std::move(mine->event), mine->commands);
      lock.lock();
      mine->result = std::move(result);
      mine->done = true;
      changed.notify_all();
    }
  }
};

GuardedCore::GuardedCore(std::unique_ptr<master::Core> core, std::optional<Duration> timeout)
    : shared_(std::make_shared<Shared>()), timeout_(timeout) {
  shared_->core = std::move(core);
  if (timeout_) shared_->thread = std::thread([shared = shared_] { shared->serve(); });
}

GuardedCore::~GuardedCore() {
  if (!shared_->thread.joinable()) return;
  if (stuck_) {
    shared_->thread.detach();
    end_without_destructors();
    return;
  }
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
  }
  shared_->changed.notify_all();
  shared_->thread.join();
}

const master::Core* GuardedCore::core() const {
  WEFT_ASSERT(!stuck_);
  return shared_->core.get();
}

Result<void> GuardedCore::apply(master::Time now, master::Event&& event, std::vector<master::Command>& commands) {
  if (stuck_) return fail(*stuck_);
  if (!timeout_) return shared_->core->apply(now, std::move(event), commands);
  auto call = std::make_shared<Shared::Call>();
  const auto* configured = std::get_if<master::SchedulerConfigured>(&event);
  scheduler_ = configured != nullptr ? configured->spec : shared_->core->configuration().spec;
  call->now = now;
  call->event = std::move(event);
  std::unique_lock lock(shared_->mutex);
  shared_->call = call;
  shared_->changed.notify_all();
  if (!shared_->changed.wait_for(lock, *timeout_, [&] { return call->done; })) {
    stuck_ = Error(Code::internal,
                   fmt::format("the scheduler {} has not returned for {}; repair it, or start again with another --scheduler",
                               scheduler_, format_duration(*timeout_)));
    return fail(*stuck_);
  }
  commands.insert(commands.end(), std::make_move_iterator(call->commands.begin()), std::make_move_iterator(call->commands.end()));
  return std::move(call->result);
}

}  // namespace weft::scheduling
