// Questions that a system call answers, perhaps never: to a file system or a name server of others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "base/guarded.hpp"
#include "base/result.hpp"
#include "base/rpc/late_posts.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::runtime {

/// Each is asked in a thread of its own, which what does not answer keeps for ever. Reactor thread only, construction and
/// destruction too. After its end no answer comes, and nobody waits for the threads.
template <class Answer>
class Lookups {
 public:
  struct Kind {
    std::string name;  // "searches for files"
    std::string hint;  // what to look at when they do not end
    Duration deadline;
  };
  Lookups(rpc::Reactor& reactor, Kind kind) : kind_(std::move(kind)), reactor_(reactor), from_threads_(reactor) {}
  ~Lookups() { from_threads_.close(); }
  Lookups(const Lookups&) = delete;
  Lookups& operator=(const Lookups&) = delete;

  /// Calls `then`, at once or later. resource_exhausted: too many have not ended; deadline_exceeded: this one has not.
  void find(std::function<Answer()> look, std::function<void(Result<Answer>)> then) {
    if (waiting_.size() >= kMost) return then(not_ended(Code::resource_exhausted, fmt::format("{} {}", kMost, kind_.name)));
    const std::uint64_t number = next_++;
    auto late = guarded(alive_, [this, number] { answer(number, not_ended(Code::deadline_exceeded, kind_.name)); });
    waiting_[number] = {std::move(then), reactor_.after(kind_.deadline, std::move(late))};
    auto found = guarded(alive_, [this, number](Answer result) {
      answer(number, std::move(result));
      waiting_.erase(number);
    });
    try {
      std::thread([there = from_threads_, look = std::move(look), found = std::move(found)] {
        there.post([found, result = look()]() mutable { found(std::move(result)); });
      }).detach();
    } catch (const std::system_error& error) {
      answer(number, fail(Code::resource_exhausted, fmt::format("no thread can be made: {}", error.what())));
      waiting_.erase(number);
    }
  }

 private:
  static constexpr std::size_t kMost = 128;
  struct Waiting {
    std::function<void(Result<Answer>)> then;  // null: it was given something
    std::unique_ptr<rpc::Timer> late;
  };

  tl::unexpected<Error> not_ended(Code code, const std::string& which) const {
    return fail(code, fmt::format("{} have not ended; {}", which, kind_.hint));
  }
  void answer(std::uint64_t number, Result<Answer> answer) {
    if (auto then = std::exchange(waiting_.at(number).then, nullptr)) then(std::move(answer));
  }

  const Kind kind_;
  rpc::Reactor& reactor_;
  const rpc::LatePosts from_threads_;
  std::map<std::uint64_t, Waiting> waiting_;  // whose threads have not ended
  std::uint64_t next_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weft::runtime
