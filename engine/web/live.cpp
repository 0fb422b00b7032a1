#include "engine/web/live.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/json.hpp"
#include "base/text.hpp"

namespace weft::web {

namespace {

constexpr std::size_t kMostWatched = 16;   // by a stream
constexpr std::size_t kMostStreams = 256;  // of a resource
constexpr int kIdlePerBusy = 20;           // the part of the time that questions may take

std::string trouble_json(const std::string& resource, const Error& error) {
  JsonWriter json;
  json.begin_object().member("resource", resource).member("error", error.to_string()).end_object();
  return json.text();
}

bool gone(const std::shared_ptr<http::EventStream>& stream) { return stream->closed(); }

}  // namespace

Live::Live(Ask ask, Duration pause) : ask_(std::move(ask)), pause_(pause), thread_([this] { run(); }) {}

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
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& name : names) {
      Resource& resource = resources_[name];
      if (resource.streams.size() + resource.fresh.size() >= kMostStreams)
        return http::error_response(503, "too many watch that already");
      resource.fresh.push_back(stream);
      resource.due = TimePoint{};  // at once
    }
  }
  changed_.notify_all();
  return {.events = std::move(stream)};
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
  Resource& before = resources_[name];
  std::erase_if(before.streams, gone);
  std::erase_if(before.fresh, gone);
  if (before.streams.empty() && before.fresh.empty()) {
    resources_.erase(name);
    return;
  }
  before.due = TimePoint::max();  // a stream that comes meanwhile sets it again
  auto fresh = std::exchange(before.fresh, {});
  lock.unlock();
  const TimePoint began = SystemClock().now();
  auto asked = ask_(name);
  const TimePoint ended = SystemClock().now();
  lock.lock();
  Resource& resource = resources_[name];
  const std::string text = asked ? std::move(*asked) : trouble_json(name, asked.error());
  const bool changed = text != resource.last || resource.failed == asked.has_value();
  resource.last = text;
  resource.failed = !asked.has_value();
  const auto send = [&](const auto& stream) { stream->send(asked ? name : "trouble", text, name); };
  if (changed) std::for_each(resource.streams.begin(), resource.streams.end(), send);
  std::for_each(fresh.begin(), fresh.end(), send);
  std::move(fresh.begin(), fresh.end(), std::back_inserter(resource.streams));
  resource.due = std::min(resource.due, ended + std::max(pause_, kIdlePerBusy * (ended - began)));
}

}  // namespace weft::web
