#include "base/rpc/loop.hpp"

#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <unordered_set>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <fmt/core.h>
#include <pthread.h>
#include <signal.h>

#include "base/assert.hpp"
#include "base/fatal_signal.hpp"
#include "base/rpc/resolver.hpp"

namespace weft::rpc {
namespace {

using Task = std::function<void()>;
constexpr Duration kLongest = std::chrono::hours(24 * 365);  // keeps now + delay from overflowing

/// Everything with a place in the loop; closed by the loop when it ends before its owner does.
class Member {
 public:
  virtual ~Member() = default;
  virtual void end() = 0;
};

}  // namespace

class Loop::Impl {
 public:
  void post(Task task) {
    {
      const std::lock_guard lock(mutex);
      if (ended) return;
      tasks.push_back(std::move(task));
      if (std::exchange(awake, true)) return;
    }
    asio::post(io, [this] { run_tasks(); });
  }

  void run_tasks() {
    std::deque<Task> batch;
    {
      const std::lock_guard lock(mutex);
      batch.swap(tasks);
      awake = false;
    }
    for (auto& task : batch) {
      if (ended_in_loop) return;
      std::exchange(task, nullptr)();
    }
  }

  void end_members() {
    ended_in_loop = true;
    while (!members.empty()) (*members.begin())->end();
  }

  std::thread::id thread_id;  // set before anything runs
  std::unordered_set<Member*> members;
  bool ended_in_loop = false;  // loop's thread
  std::mutex mutex;            // guards the next three
  std::deque<Task> tasks;
  bool awake = false;  // run_tasks() is on its way
  bool ended = false;
  asio::io_context io{1};  // goes first: its queue holds handlers that refer to the rest
  std::optional<Resolver> resolver;
};

namespace {

/// Readiness of one descriptor. Handlers keep it alive; `descriptor` is empty once it is closed.
template <class Owner>
struct Watched final : Member, std::enable_shared_from_this<Watched<Owner>> {
  Watched(Owner& the_owner, Fd fd, Task on_readable, Task on_writable)
      : owner(the_owner), readable(std::move(on_readable)), writable(std::move(on_writable)) {
    descriptor.emplace(owner.io, fd.release());
    owner.members.insert(this);
  }

  void end() override {
    owner.members.erase(this);
    descriptor.reset();
    if (running) return;  // a callback may end its own watch
    readable = nullptr;
    writable = nullptr;
  }

  void await(asio::posix::stream_descriptor::wait_type type, const Task& callback) {
    descriptor->async_wait(type, [self = this->shared_from_this(), &callback](const asio::error_code&) { self->call(callback); });
  }

  void call(const Task& callback) {
    if (!descriptor) return;
    running = true;
    callback();
    running = false;
  }

  Owner& owner;
  Task readable, writable;
  bool running = false;
  std::optional<asio::posix::stream_descriptor> descriptor;
};

template <class Owner>
class WatchHandle final : public Watch {
 public:
  explicit WatchHandle(std::shared_ptr<Watched<Owner>> state) : state_(std::move(state)) {}
  ~WatchHandle() override {
    if (state_->descriptor) state_->end();
  }
  int fd() const override { return state_->descriptor ? state_->descriptor->native_handle() : -1; }
  void await_readable() override {
    if (state_->descriptor) state_->await(asio::posix::stream_descriptor::wait_read, state_->readable);
  }
  void await_writable() override {
    if (state_->descriptor) state_->await(asio::posix::stream_descriptor::wait_write, state_->writable);
  }
  Fd release() override {
    if (!state_->descriptor) return Fd();
    Fd fd(state_->descriptor->release());
    state_->end();
    return fd;
  }

 private:
  std::shared_ptr<Watched<Owner>> state_;
};

template <class Owner>
struct Timed final : Member, std::enable_shared_from_this<Timed<Owner>> {
  Timed(Owner& the_owner, Duration delay, Task on_time) : owner(the_owner), task(std::move(on_time)) {
    timer.emplace(owner.io, std::min(delay, kLongest));
    owner.members.insert(this);
  }

  void start() {
    timer->async_wait([self = this->shared_from_this()](const asio::error_code&) { self->fire(); });
  }

  void fire() {
    if (!timer) return;
    Task due = std::move(task);
    end();
    due();
  }

  void end() override {
    owner.members.erase(this);
    timer.reset();
    Task dropped = std::exchange(task, nullptr);  // its destructor may end other members
  }

  Owner& owner;
  Task task;
  std::optional<asio::steady_timer> timer;
};

template <class Owner>
class TimerHandle final : public Timer {
 public:
  explicit TimerHandle(std::shared_ptr<Timed<Owner>> state) : state_(std::move(state)) {}
  ~TimerHandle() override {
    if (state_ == nullptr || !state_->timer) return;
    WEFT_ASSERT(std::this_thread::get_id() == state_->owner.thread_id);  // cancelling elsewhere would be a race
    state_->end();
  }

 private:
  std::shared_ptr<Timed<Owner>> state_;
};

void name_thread(std::string name) {
  name.resize(std::min<std::size_t>(name.size(), 15));
  ::pthread_setname_np(::pthread_self(), name.c_str());
}

/// Signals belong to the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Loop::Loop(std::string name) : impl_(std::make_shared<Impl>()) {
  impl_->resolver.emplace(
      [loop = std::weak_ptr(impl_)](Task task) {
        if (const auto impl = loop.lock()) impl->post(std::move(task));
      },
      &look_up_host);
  const SignalsBlocked blocked;  // inherited by the thread
  std::promise<void> go;         // the thread's id is known to in_thread() before anything runs
  thread_ = std::thread([impl = impl_, name = std::move(name), start = go.get_future()]() mutable noexcept {
    name_thread(std::move(name));
    const SignalStack stack;  // all signals except the fatal ones are blocked here
    start.wait();
    const auto work = asio::make_work_guard(impl->io);
    impl->io.run();
  });
  thread_id_ = thread_.get_id();
  impl_->thread_id = thread_id_;
  go.set_value();
}

Loop::~Loop() { shut_down({}); }

void Loop::post(Task task) { impl_->post(std::move(task)); }

void Loop::shut_down(Task last) {
  WEFT_ASSERT(!in_thread());
  const std::lock_guard once(shut_down_mutex_);
  if (!thread_.joinable()) return;
  asio::post(impl_->io, [impl = impl_.get(), last = std::move(last)] {
    {
      const std::lock_guard lock(impl->mutex);
      impl->ended = true;
    }
    if (last) last();
    impl->end_members();
    impl->resolver.reset();
    impl->io.stop();
  });
  thread_.join();
  std::deque<Task> dropped;
  {
    const std::lock_guard lock(impl_->mutex);
    dropped.swap(impl_->tasks);
  }
}

void Loop::defer(Task task) {
  asio::post(impl_->io, [impl = impl_.get(), task = std::move(task)] {
    if (!impl->ended_in_loop) task();
  });
}

std::unique_ptr<Watch> Loop::watch(Fd fd, Task readable, Task writable) {
  auto state = std::make_shared<Watched<Impl>>(*impl_, std::move(fd), std::move(readable), std::move(writable));
  return std::make_unique<WatchHandle<Impl>>(std::move(state));
}

std::unique_ptr<Timer> Loop::after(Duration delay, Task task) {
  if (impl_->ended_in_loop) return std::make_unique<TimerHandle<Impl>>(nullptr);
  WEFT_ASSERT(in_thread());
  auto state = std::make_shared<Timed<Impl>>(*impl_, delay, std::move(task));
  state->start();
  return std::make_unique<TimerHandle<Impl>>(std::move(state));
}

void Loop::resolve(const std::string& host, const std::string& port, std::function<void(Result<std::vector<Address>>)> done) {
  if (auto numeric = Address::numeric(host, port)) {
    defer([address = *numeric, done = std::move(done)] { done(std::vector<Address>{address}); });
    return;
  }
  if (!impl_->resolver) return;  // the loop has ended, and drops every callback
  impl_->resolver->resolve(host, port, std::move(done));
}

}  // namespace weft::rpc
