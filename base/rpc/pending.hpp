// Requests waiting for their replies, and their deadlines.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::rpc {

/// Constant time per request: deadlines of answered requests stay in the heap until they pass or outnumber the living.
class PendingRequests {
 public:
  /// `silence`: how long its deadline is at least after a sign of life (prolong(), heard()). `asks_presence`: any such sign counts.
  void add(std::uint64_t id, TimePoint deadline, Reply reply, std::shared_ptr<BulkSink> sink = {}, Duration silence = {},
           bool asks_presence = false);
  /// Bytes of the reply to `id` came, whether that still waits or not. It is not given up for silence, nor are requests with sinks
  /// that wait for replies behind it. Linear in the requests, where any has a sink.
  void prolong(std::uint64_t id, TimePoint now);
  /// The peer is there: what asks just that goes on waiting for its answer, which may stand behind much else.
  void heard(TimePoint now);
  /// The reply function of an answered request; nothing when it is unknown (too late, or never was).
  std::optional<Reply> take(std::uint64_t id);
  /// Of a request still waiting; null when it has none.
  BulkSink* sink(std::uint64_t id) const;
  std::vector<Reply> take_expired(TimePoint now);
  std::vector<Reply> take_all();
  /// Of a request still waiting, unless it was prolonged since: then nothing may expire at that time. Nothing when there is none.
  std::optional<TimePoint> earliest_deadline();

 private:
  struct Due {
    TimePoint at;
    std::uint64_t id;
    bool operator<(const Due& other) const { return at > other.at; }  // earliest on top
  };

  struct Waiting {
    Reply reply;
    std::shared_ptr<BulkSink> sink;
    Duration silence{};
    TimePoint deadline{};  // later than in the heap where it was prolonged
  };

  void drop_answered();
  void pop();

  std::unordered_map<std::uint64_t, Waiting> waiting_;
  std::size_t sinks_ = 0;                // of them
  std::vector<std::uint64_t> presence_;  // of them, or answered
  std::vector<Due> heap_;
};

}  // namespace weft::rpc
