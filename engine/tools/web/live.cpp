#include "engine/tools/web/live.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <time.h>

#include "base/json.hpp"
#include "base/text.hpp"
#include "engine/tools/web/difference.hpp"

namespace weft::web {

namespace {

constexpr std::size_t kMostWatched = 16;   // by a stream
constexpr std::size_t kMostStreams = 256;  // of a resource
constexpr int kIdlePerBusy = 20;           // the part of a processor that questions may take

std::string trouble_json(const std::string& resource, const Error& error) {
  JsonWriter json;
  json.begin_object().member("resource", resource).member("error", error.to_string()).end_object();
  return json.text();
}

/// How much of a processor somebody has used since, at most: no more than has passed, and no more than the whole process has used.
/// On a machine that is busy with something else the first is far more.
class Used {
 public:
  Duration so_far() const { return std::min(SystemClock().now() - began_, of_process() - before_); }

 private:
  static Duration of_process() {
    timespec time{};
    (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }

  TimePoint began_ = SystemClock().now();
  Duration before_ = of_process();
};

}  // namespace

Live::Live(Ask ask, Duration pause, Duration longest)
    : ask_(std::move(ask)), pause_(pause), longest_(longest), thread_([this] { run(); }) {}

Live::~Live() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

http::Response Live::watch(const http::Request& request) {
  const std::string wanted = request.parameter("watch");
  std::set<std::string> names;
  for (const std::string_view name : split(wanted, ','))
    if (!name.empty()) names.emplace(name);
  if (names.empty() || names.size() > kMostWatched)
    return http::error_response(400, "watch=/jobs,/jobs/7 names 1 to 16 resources of this interface");
  if (std::any_of(names.begin(), names.end(),
                  [](const std::string& name) { return name[0] != '/' || name.find_first_of("\r\n") != std::string::npos; }))
    return http::error_response(400, "a resource is written as it stands behind /api/v1: /jobs");
  auto stream = std::make_shared<http::EventStream>();
  const bool changes = request.parameter("changes") == "1";
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& name : names) {
      Resource& resource = resources_[name];
      if (resource.watchers.size() + resource.fresh.size() >= kMostStreams)
        return http::error_response(503, "too many watch that already");
      resource.fresh.push_back({stream, changes});
      resource.due = TimePoint{};  // at once
    }
  }
  changed_.notify_all();
  return {.events = std::move(stream)};
}

bool Live::watched() {
  const std::lock_guard lock(mutex_);
  return !resources_.empty();
}

void Live::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const TimePoint now = SystemClock().now();
    TimePoint next = now + std::chrono::hours(1);
    std::string due;
    for (auto& [name, resource] : resources_) {
      if (resource.due <= now) due = name;
      next = std::min(next, resource.due);
    }
    if (!due.empty())
      refresh(due, lock);
    else
      changed_.wait_until(lock, next);
  }
}

/// Asks without the lock: what is watched may change meanwhile.
void Live::refresh(const std::string& name, std::unique_lock<std::mutex>& lock) {
  const auto gone = [](const Watcher& watcher) { return watcher.stream->closed(); };
  Resource& before = resources_[name];
  std::erase_if(before.watchers, gone);
  std::erase_if(before.fresh, gone);
  if (before.watchers.empty() && before.fresh.empty()) {
    resources_.erase(name);
    return;
  }
  before.due = TimePoint::max();  // a stream that comes meanwhile sets it again
  auto fresh = std::exchange(before.fresh, {});
  lock.unlock();
  const Used used;
  auto asked = ask_(name);
  lock.lock();
  Resource& resource = resources_[name];
  const std::string text = asked ? std::move(*asked) : trouble_json(name, asked.error());
  const bool failed = !asked.has_value(), refused = failed && asked.error().code() == Code::permission_denied;
  if (failed || resource.failed) {
    if (text != resource.last)
      for (const Watcher& watcher : resource.watchers) watcher.stream->send(failed ? "trouble" : name, text, name);
  } else if (text != resource.last) {
    send(name, text, resource);
  }
  for (const Watcher& watcher : fresh) watcher.stream->send(failed ? "trouble" : name, text, name);
  resource.last = text;
  resource.failed = failed;
  if (refused) {  // once for each stream: each question is a line of the audit log
    resource.watchers.clear();
    if (resource.fresh.empty()) resources_.erase(name);
    return;
  }
  std::move(fresh.begin(), fresh.end(), std::back_inserter(resource.watchers));
  resource.took = used.so_far();
  Duration all{};
  for (const auto& [other, of] : resources_) all += of.took;
  const Duration idle = std::max(pause_, std::min(kIdlePerBusy * all, longest_));
  resource.due = std::min(resource.due, SystemClock().now() + idle);
}

/// `text` instead of resource.last.
void Live::send(const std::string& name, const std::string& text, Resource& resource) {
  const bool compare =
      std::any_of(resource.watchers.begin(), resource.watchers.end(), [](const Watcher& one) { return one.changes; });
  const auto changes = compare ? difference(resource.last, text) : std::nullopt;
  for (const Watcher& watcher : resource.watchers)
    if (!changes || !watcher.changes || watcher.stream->waits(name))
      watcher.stream->send(name, text, name);
    else if (!changes->empty())
      watcher.stream->send("changes " + name, *changes, name);
}

}  // namespace weft::web
