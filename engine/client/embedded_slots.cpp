#include "engine/client/embedded_slots.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/fatal_signal.hpp"

namespace weft::client {

Mailbox::Mailbox() : event_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { WEFT_ASSERT(event_fd_.valid()); }

void Mailbox::post(master::Event event) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = events_.empty();
    events_.push_back(std::move(event));
  }
  const std::uint64_t one = 1;
  if (first) [[maybe_unused]]
    const auto ignored = ::write(event_fd_.get(), &one, sizeof one);
}

std::vector<master::Event> Mailbox::take(Duration timeout) {
  pollfd wait{event_fd_.get(), POLLIN, 0};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(std::max(timeout, Duration(0))).count();
  ::poll(&wait, 1, static_cast<int>(std::min<std::int64_t>(milliseconds, 60'000)));
  std::uint64_t count = 0;
  [[maybe_unused]] const auto ignored = ::read(event_fd_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

Slots::Slots(Settings settings, std::unique_ptr<shuffle::Store> store, runtime::JobProgram& program)
    : settings_(std::move(settings)),
      store_(std::move(store)),
      program_(program),
      pages_(settings_.memory_per_task * settings_.count),
      tables_(settings_.memory_per_task * settings_.count, settings_.count, pages_),
      slots_(settings_.count) {}

void Slots::start() {
  for (Slot& slot : slots_) threads_.emplace_back([self = shared_from_this(), &slot] { self->work(slot); });
}

void Slots::launch(master::LaunchTask task) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void Slots::stop(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto queued = std::find_if(queue_.begin(), queue_.end(), [&](const auto& task) { return task.attempt == attempt; });
  if (queued != queue_.end()) {
    queue_.erase(queued);
    mailbox_.post(master::TaskFailed{attempt, settings_.node, runtime::TaskEnd::killed, "killed before it started", {}});
  }
  for (Slot& slot : slots_)
    if (slot.task && slot.task->attempt == attempt) {
      slot.stop = true;
      if (!slot.asked) slot.asked = SystemClock().now();
    }
  more_.notify_all();
}

void Slots::set_outputs(ShuffleId shuffle, shuffle::KnownOutputs outputs) {
  const std::lock_guard lock(mutex_);
  outputs_[shuffle] = std::make_shared<shuffle::KnownOutputs>(std::move(outputs));
  more_.notify_all();
}

void Slots::add_output(ShuffleId shuffle, const shuffle::MapOutput& output, shuffle::Written written) {
  const std::lock_guard lock(mutex_);
  const auto found = outputs_.find(shuffle);
  if (found == outputs_.end()) return;
  if (found->second.use_count() > 1) found->second = std::make_shared<shuffle::KnownOutputs>(*found->second);  // others look at it
  found->second->put(output, std::move(written));
  more_.notify_all();
}

void Slots::release(JobId job, ShuffleId shuffle) {
  {
    const std::lock_guard lock(mutex_);
    outputs_.erase(shuffle);
    more_.notify_all();
    if (idle_ > 0) {
      releases_.emplace_back(job, shuffle);
      changed_.notify_one();
      return;
    }
  }
  store_->release(job, shuffle);
}

std::shared_ptr<const shuffle::KnownOutputs> Slots::outputs(Slot& slot, ShuffleId shuffle, std::optional<std::uint32_t> map) {
  std::unique_lock lock(mutex_);
  std::shared_ptr<const shuffle::KnownOutputs> known;
  const auto settled = [&] {
    const auto found = outputs_.find(shuffle);
    const bool there = found != outputs_.end() && (!map || found->second->find(*map) != nullptr);
    if (there) known = found->second;
    return there || found == outputs_.end() || slot.stop;
  };
  if (settled()) return known;
  slot.waiting_since = SystemClock().now();
  more_.wait(lock, settled);
  slot.waited += SystemClock().now() - *std::exchange(slot.waiting_since, std::nullopt);
  return known;
}

bool Slots::over_time(const Slot& slot, TimePoint now) {
  if (slot.task->timeout <= Duration(0)) return false;
  return slot.waiting_since.value_or(now) - slot.started - slot.waited >= slot.task->timeout;
}

std::optional<Slots::Overdue> Slots::check_stops(TimePoint now, Duration grace) {
  const std::lock_guard lock(mutex_);
  for (Slot& slot : slots_) {
    if (!slot.task) continue;
    if (!slot.asked && over_time(slot, now)) {
      slot.asked = now;
      slot.timed_out = true;
      slot.stop = true;
      more_.notify_all();
    }
    if (!slot.asked || now - *slot.asked < grace) continue;
    std::string position;
    if (slot.context.position_path != nullptr) position = fmt::format(" (reading {})", slot.context.position_path);
    return Overdue{slot.task->attempt, slot.task->stage_name,
                   slot.timed_out ? std::optional<Duration>(slot.task->timeout) : std::nullopt, position};
  }
  return std::nullopt;
}

std::string Slots::stage_name(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  for (const Slot& slot : slots_)
    if (slot.task && slot.task->attempt == attempt) return slot.task->stage_name;
  return {};
}

bool Slots::finish(Duration timeout) {
  std::unique_lock lock(mutex_);
  closing_ = true;
  queue_.clear();
  for (Slot& slot : slots_) slot.stop = true;
  changed_.notify_all();
  more_.notify_all();
  const auto all_ended = [this] { return std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.ended; }); };
  const bool ended = changed_.wait_for(lock, timeout, all_ended);
  lock.unlock();
  for (std::thread& thread : threads_) ended ? thread.join() : thread.detach();
  threads_.clear();
  return ended;
}

void Slots::work(Slot& slot) {
  const SignalStack stack;
  while (next(slot))
    if (slot.task) run(slot);
  {
    const std::lock_guard lock(mutex_);
    slot.ended = true;
  }
  changed_.notify_all();
}

bool Slots::next(Slot& slot) {
  std::unique_lock lock(mutex_);
  ++idle_;
  changed_.wait(lock, [this] { return closing_ || !queue_.empty() || !releases_.empty(); });
  --idle_;
  while (!closing_ && !releases_.empty()) {
    const auto [job, shuffle] = releases_.front();
    releases_.pop_front();
    lock.unlock();
    store_->release(job, shuffle);
    lock.lock();
  }
  if (closing_) return false;
  if (queue_.empty()) return true;
  slot.task = std::move(queue_.front());
  queue_.pop_front();
  slot.started = SystemClock().now();
  slot.waited = Duration(0);
  slot.asked.reset();
  slot.timed_out = false;
  slot.stop = false;
  return true;
}

void Slots::run(Slot& slot) {
  const master::LaunchTask& task = *slot.task;
  runtime::MemoryGrant memory(settings_.memory_per_task);
  shuffle::LocalTaskShuffle shuffle(
      *store_, task.attempt, [&](ShuffleId id, std::optional<std::uint32_t> map) { return outputs(slot, id, map); },
      settings_.shuffle_mode);
  slot.context = runtime::context_of(
      task.attempt, task.spec, {shuffle, settings_.files.get(), memory, pages_, tables_, settings_.spill_directory, slot.stop});
  master::Event event = report(slot, runtime::run_task(program_, task.spec.fingerprint, slot.context));
  {
    const std::lock_guard lock(mutex_);
    slot.task.reset();
  }
  mailbox_.post(std::move(event));
}

master::Event Slots::report(Slot& slot, runtime::protocol::Event ended) {
  master::Event event = master::end_of_attempt(std::move(ended), settings_.node);
  auto* const failed = std::get_if<master::TaskFailed>(&event);
  if (failed == nullptr || failed->kind != runtime::TaskEnd::killed) return event;
  const std::lock_guard lock(mutex_);
  if (slot.timed_out) {
    failed->kind = runtime::TaskEnd::timed_out;
    failed->message = fmt::format("ran longer than --task-timeout {}s", std::chrono::duration<double>(slot.task->timeout).count());
  }
  return event;
}

}  // namespace weft::client
