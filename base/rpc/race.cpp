#include "base/rpc/race.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"

namespace weft::rpc {
namespace {

constexpr Duration kHeadStart = std::chrono::milliseconds(250);
constexpr Duration kAgain = std::chrono::milliseconds(250);
constexpr Duration kLongestDeadline = std::chrono::hours(24);

Duration within_bounds(Duration deadline) { return std::clamp(deadline, Duration{0}, kLongestDeadline); }

/// The last one of many has half of the time for itself, even when none before it says anything.
Duration head_start(Duration deadline, std::size_t addresses) {
  return std::min(kHeadStart, deadline / (2 * static_cast<std::int64_t>(addresses)));
}

}  // namespace

Race::Race(Loop& loop, std::vector<std::string> addresses, Duration deadline, Try one, Done done)
    : loop_(loop),
      addresses_(std::move(addresses)),
      deadline_(std::chrono::steady_clock::now() + within_bounds(deadline)),
      head_start_(head_start(within_bounds(deadline), addresses_.size())),
      try_(std::move(one)),
      done_(std::move(done)),
      runners_(addresses_.size()) {}

void Race::start_next() {
  const auto self = shared_from_this();
  timer_.reset();
  const std::size_t index = started_++;
  if (started_ < addresses_.size()) timer_ = loop_.after(head_start_, [self] { self->start_next(); });
  run(index);
}

void Race::run(std::size_t index) {
  const Duration left = std::max(deadline_ - std::chrono::steady_clock::now(), Duration{0});
  runners_[index].abandon = try_(addresses_[index], left, [self = shared_from_this(), index](Result<ConnectionPtr> result) {
    self->ended(index, std::move(result));
  });
}

void Race::try_again(std::size_t index) {
  runners_[index].failure.reset();
  --failed_;
  run(index);
}

void Race::ended(std::size_t index, Result<ConnectionPtr> result) {
  if (done_ == nullptr) return;
  if (result) return won(index, *std::move(result));
  runners_[index].failure = std::move(result).error();
  ++failed_;
  if (failed_ == addresses_.size()) return decide()(fail(failure()));
  if (runners_[index].failure->code() == Code::unavailable)
    runners_[index].again = loop_.after(kAgain, [self = shared_from_this(), index] { self->try_again(index); });
  // When an earlier one fails, the latest keeps its head start.
  if (index + 1 == started_ && started_ < addresses_.size()) start_next();
}

void Race::won(std::size_t index, ConnectionPtr connection) {
  const Done done = decide();
  for (std::size_t i = 0; i < started_; ++i)
    if (i != index && !runners_[i].failure) runners_[i].abandon();
  done(std::move(connection));
}

Race::Done Race::decide() {
  timer_.reset();
  for (Runner& runner : runners_) runner.again.reset();
  return std::exchange(done_, nullptr);
}

Error Race::failure() const {
  const auto has = [](Code code) { return [code](const Runner& runner) { return runner.failure->code() == code; }; };
  Code code = runners_.front().failure->code();
  if (!std::all_of(runners_.begin(), runners_.end(), has(code))) code = Code::unavailable;
  if (std::any_of(runners_.begin(), runners_.end(), has(Code::version_mismatch))) code = Code::version_mismatch;
  std::string reasons;
  for (std::size_t i = 0; i < runners_.size(); ++i)
    reasons += fmt::format("{}{} ({})", i == 0 ? "" : ", nor to ", escaped(addresses_[i]), runners_[i].failure->to_string());
  return {code, "cannot connect to " + reasons};
}

}  // namespace weft::rpc
