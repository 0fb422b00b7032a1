// Server-sent events to one client.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace weft::http {

/// Events wait here until the client takes them. Of each name only the newest waits, so a client that is slow misses steps, not the
/// state, and costs no more memory than one event of each name. Any thread.
class EventStream {
 public:
  /// `data` has no line ends inside; one at its end is removed. `about`: what the newest replaces; without, the name.
  void send(const std::string& name, std::string_view data, const std::string& about = "");
  /// Whether something about that waits: the client has not taken the newest, then.
  bool waits(const std::string& about) const;
  /// A line that clients ignore: whether the client is still there is noticed by writing.
  void keep_alive();
  /// The client sees the end of the stream.
  void close();
  /// The client is gone, or close() was called.
  bool closed() const;

  // For the server, on its thread.

  enum class Took { some, nothing, end };
  /// Puts what is to be sent into `into`, at most `room` bytes, and sets `taken` to their number. When there is nothing, `wait` is
  /// called under the lock, and `wake` once when there is something again.
  Took take(char* into, std::size_t room, std::size_t& taken, const std::function<void()>& wait, std::function<void()> wake);
  /// The connection is no more: wakes nobody any longer.
  void abandon();

 private:
  void wake_reader();

  mutable std::mutex mutex_;
  std::map<std::string, std::string> waiting_;  // by what they are about, as they are sent
  std::string sending_;
  std::size_t sent_ = 0;
  std::function<void()> wake_;  // empty: nobody waits
  bool closed_ = false;
};

}  // namespace weft::http
