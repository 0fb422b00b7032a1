// Server-sent events: a client that watches a resource of the REST interface receives it again whenever it has changed.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/http/event_stream.hpp"
#include "base/http/request.hpp"

namespace weft::web {

/// Asks for each watched resource once, however many watch it, and only while somebody does. Any thread.
class Live {
 public:
  /// Gives the JSON of a resource, "/jobs/7" or "/files?path=/a"; called on the thread of this object.
  using Ask = std::function<Result<std::string>(const std::string& resource)>;
  /// `pause`: between two questions about a resource, at least. What takes much processor time, to ask or to compare, is done less
  /// often, so that all of them together take a twentieth of a processor, and after `longest` at the latest.
  explicit Live(Ask ask, Duration pause = std::chrono::seconds(1), Duration longest = std::chrono::seconds(10));
  ~Live();

  /// The stream that answers GET /events?watch=/jobs,/jobs/7. Each event has the resource as its name and its JSON as its data;
  /// what is wrong with it comes as an event `trouble` {"resource":…,"error":…}. After permission_denied a resource is not asked
  /// for again for that stream. With changes=1, lists come whole once, and then as events `changes NAME` with difference() as their
  /// data; whole again when the client has not taken what was sent before. At most 16 resources; invalid_argument otherwise.
  http::Response watch(const http::Request& request);
  /// Whether somebody does, as far as is known.
  bool watched();

 private:
  struct Watcher {
    std::shared_ptr<http::EventStream> stream;
    bool changes = false;  // takes differences
  };
  struct Resource {
    std::vector<Watcher> watchers, fresh;  // fresh: have got nothing yet
    std::string last;                      // what was sent
    bool failed = false;                   // and that it was an error
    TimePoint due{};
    Duration took{};  // of a processor, the last time
  };

  void run();
  void refresh(const std::string& name, std::unique_lock<std::mutex>& lock);
  static void send(const std::string& name, const std::string& text, Resource& resource);

  const Ask ask_;
  const Duration pause_;
  const Duration longest_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::map<std::string, Resource> resources_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace weft::web
