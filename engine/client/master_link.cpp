#include "engine/client/master_link.hpp"

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/rpc/watched_call.hpp"
#include "storage/acting_user.hpp"

namespace weft::client {

namespace {

constexpr Duration kConnectDeadline = std::chrono::seconds(5);
constexpr Duration kAttachDeadline = std::chrono::seconds(30);
constexpr Duration kFirstPause = std::chrono::milliseconds(20);
constexpr Duration kLongestPause = std::chrono::seconds(1);
constexpr Duration kTick = std::chrono::milliseconds(20);  // how soon a signal is noticed

/// The result of `begin`, which calls what it is given exactly once, from the reactor's thread; nothing when a signal came first.
template <class T, class Begin>
std::optional<Result<T>> unless_stopped(rpc::Reactor& reactor, const StopSignal& stop, Begin begin) {
  const auto promise = std::make_shared<std::promise<Result<T>>>();
  auto result = promise->get_future();
  reactor.post([promise, begin = std::move(begin)] { begin([promise](Result<T> got) { promise->set_value(std::move(got)); }); });
  while (result.wait_for(kTick) != std::future_status::ready)
    if (stop.requested()) return std::nullopt;
  return result.get();
}

bool is_overdue(const Result<rpc::Message>& answer) { return !answer && answer.error().code() == Code::deadline_exceeded; }

}  // namespace

MasterLink::MasterLink(Options options, const StopSignal& stop)
    : options_(std::move(options)), stop_(stop), reactor_(rpc::Reactor::start("driver", options_.security)) {}

MasterLink::~MasterLink() {
  close();
  reactor_->stop();
}

bool MasterLink::is_lost(const Error& error) {
  return error.code() == Code::unavailable || error.code() == Code::deadline_exceeded;
}

Result<void> MasterLink::connect() {
  close();
  WEFT_ASSIGN(connection_, rpc::connect(*reactor_, options_.master.of(rpc::Role::master), kConnectDeadline));
  introduce();
  return {};
}

/// Says first whose requests follow.
void MasterLink::introduce() {
  if (!options_.user.empty())
    reactor_->post([connection = connection_, user = options_.user] { storage::act_for(*connection, user); });
}

void MasterLink::close() {
  if (connection_) reactor_->run([this] { connection_->close(); });
}

/// The master does not lead any more, it hangs, or the link is cut.
void MasterLink::leave() {
  if (std::exchange(overdue_, false))
    overdue_connections_.push_back(connection_);
  else
    close();
}

void MasterLink::belongs_to(const Attach& job, bool kept) {
  job_ = job;
  kept_ = kept;
}

Result<rpc::Message> MasterLink::call_once(rpc::MessageType type, rpc::Payload payload, Duration deadline) {
  auto answer = options_.master.alternatives.empty()
                    ? rpc::call(*reactor_, connection_, type, std::move(payload), deadline)
                    : rpc::watched_call(*reactor_, connection_, type, std::move(payload), deadline);
  overdue_ = is_overdue(answer);
  if (answer || !is_lost(answer.error())) return answer;
  return fail(std::move(answer).error().wrap(fmt::format("lost the master at {}", options_.master.text)));
}

Result<rpc::Message> MasterLink::call(rpc::MessageType type, const Request& request, Duration deadline) {
  Outage outage;
  for (bool attached = false;; attached = true) {
    auto answer = call_once(type, request(), deadline);
    if (answer || !kept_ || !is_lost(answer.error())) return answer;
    // A master that answers, but not this, waits for room on its disk.
    if (attached && overdue_) outage.pause = Duration(0);
    WEFT_TRY(attach_again(outage, std::move(answer).error()));
  }
}

Result<Submitted> MasterLink::attach() {
  auto attached = attach_once();
  Outage outage;
  if (attached || !is_lost(attached.error())) return attached;
  return attach_again(outage, std::move(attached).error());
}

Result<Submitted> MasterLink::attach_again(Outage& outage, Error why) {
  if (outage.pause == Duration(0)) outage = {SystemClock().now(), kFirstPause, outage.said};
  if (!std::exchange(outage.said, true) && options_.say)
    options_.say(fmt::format("the master at {} is away; the job goes on when it is back", options_.master.text));
  while (true) {
    const Duration away = SystemClock().now() - outage.began;
    if (away >= options_.away) {
      gave_up_ = true;
      return fail(std::move(why).wrap(fmt::format("gave up: job {} waited {:.1f} s for its master at {}", job_.job.value(),
                                                  in_seconds(away), options_.master.text)));
    }
    if (!wait(std::min(outage.pause, options_.away - away))) return stopped();  // the last try is made when the time is over
    outage.pause = std::min(2 * outage.pause, kLongestPause);
    auto attached = attach_once();
    if (attached || gave_up_ || !is_lost(attached.error())) return attached;
    why = std::move(attached).error();
  }
}

Result<Submitted> MasterLink::attach_once() {
  leave();
  auto connected = unless_stopped<rpc::ConnectionPtr>(
      *reactor_, stop_, [&reactor = *reactor_, master = options_.master.of(rpc::Role::master)](auto done) {
        reactor.connect(master, kConnectDeadline, {}, {}, std::move(done));
      });
  if (!connected) return stopped();
  if (!*connected) {
    const Code code = connected->error().code();
    if (code == Code::version_mismatch || code == Code::invalid_argument) return fail(connected->error());  // it will stay so
    return fail(Error(Code::unavailable, connected->error().to_string()));  // its name may be unknown while it is away
  }
  connection_ = std::move(**connected);
  introduce();
  auto answer = unless_stopped<rpc::Message>(*reactor_, stop_, [connection = connection_, job = job_](auto done) {
    connection->request(kAttachJob, encode(job), kAttachDeadline, std::move(done));
  });
  if (!answer) return stopped();
  overdue_ = is_overdue(*answer);
  if (*answer) {
    reactor_->run([left = std::exchange(overdue_connections_, {})] {
      for (const rpc::ConnectionPtr& connection : left) connection->close();
    });
    return decode<Submitted>(**answer);
  }
  if (is_lost(answer->error())) return fail(std::move(*answer).error());
  return fail(why_refused(std::move(*answer).error()));
}

/// A job that is over has an error, which says more than that nobody can attach to it.
Error MasterLink::why_refused(Error refusal) {
  const auto answer = rpc::call(*reactor_, connection_, kJobStatus, encode(JobRequest{job_.job}), kAttachDeadline);
  auto list = answer ? decode<JobList>(*answer) : Result<JobList>(fail(answer.error()));
  if (!list || list->jobs.size() != 1 || list->jobs.front().state == master::JobState::running) {
    gave_up_ = list ? !list->jobs.empty() : is_lost(list.error());  // it has another driver, as far as is known
    return refusal;
  }
  ended_ = std::move(list->jobs.front());
  return ended_->error.empty() ? refusal : Error(Code::user_code, ended_->error);
}

/// False when a signal came.
bool MasterLink::wait(Duration pause) const {
  for (const TimePoint end = SystemClock().now() + pause; SystemClock().now() < end && !stop_.requested();)
    std::this_thread::sleep_for(std::min(kTick, pause));
  return !stop_.requested();
}

tl::unexpected<Error> MasterLink::stopped() {
  gave_up_ = true;
  if (options_.succeeded)
    return fail(Code::cancelled, fmt::format("stopped by a signal; job {} goes on with another driver", job_.job.value()));
  return fail(Code::cancelled, fmt::format("stopped by a signal while the master at {} is away, so job {} could not be killed; "
                                           "weft job kill {} does it when the master is back",
                                           options_.master.text, job_.job.value(), job_.job.value()));
}

}  // namespace weft::client
