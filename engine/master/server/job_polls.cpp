#include "engine/master/server/job_polls.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

namespace weft::master {
namespace {

constexpr Duration kLongestPoll = std::chrono::seconds(30);

std::vector<std::vector<Buffer>> copy_of(const std::vector<std::vector<Buffer>>& results) {
  std::vector<std::vector<Buffer>> copy(results.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    for (const Buffer& result : results[i]) copy[i].push_back(Buffer::copy_of(result.view()));
  return copy;
}

}  // namespace

/// The answer that the poll can have now: the results of the action, or the status of the job. Nothing: it waits for more.
std::optional<JobPolls::Answer> JobPolls::answer_to(const client::Poll& poll, bool final) {
  auto status = shell_.core().job(poll.job);
  if (!status) return Answer{fail(std::move(status).error())};
  const bool runs = status->state == JobState::running;
  client::PollReply reply;
  // While nothing can be promised, results may not be written yet: they stay here for a later poll, or for the end of the job.
  if (auto job = jobs_.find(poll.job); job != jobs_.end() && !(runs && recorder_.obstacle())) {
    auto& finished = job->second.finished;
    if (const auto results = finished.find(poll.action); results != finished.end()) {
      reply.finished = true;
      if (job->second.key != 0) {
        reply.results = copy_of(results->second);
      } else {
        reply.results = std::move(finished.extract(results).mapped());
      }
    }
  }
  if (!reply.finished && !final && runs) return std::nullopt;
  const bool is_promise = reply.finished || !runs;
  reply.status = std::move(*status);
  expectations_.add(shell_.core(), shell_.now(), reply.status, log_);
  return Answer{client::encode(std::move(reply)), is_promise};
}

/// That a job still runs is no promise: on a full disk it is sent at once, also to a poll that waits for the disk already.
void JobPolls::send(std::shared_ptr<rpc::Responder> to, Answer answer) {
  if (answer.is_promise) return recorder_.answer(std::move(to), std::move(answer.reply));
  if (recorder_.obstacle()) return to->reply(std::move(*answer.reply));
  recorder_.when_durable_or_full([to = std::move(to), reply = std::make_shared<Result<rpc::Payload>>(std::move(answer.reply))](
                                     const Result<void>& kept) { kept ? to->reply(std::move(**reply)) : to->fail(kept.error()); });
}

void JobPolls::on_poll(const rpc::Message& message, rpc::Responder responder) {
  auto poll = client::decode<client::Poll>(message);
  if (!poll) return responder.fail(poll.error());
  const Duration wait = std::clamp(poll->wait, Duration(0), kLongestPoll);
  auto job = jobs_.find(poll->job);
  auto answered = answer_to(*poll, wait == Duration(0) || job == jobs_.end());
  auto to = std::make_shared<rpc::Responder>(std::move(responder));
  if (answered) return send(std::move(to), std::move(*answered));
  WaitingPoll waiting;
  waiting.id = next_poll_++;
  waiting.poll = *poll;
  waiting.responder = std::move(to);
  waiting.timer = reactor_.after(wait, [this, id = waiting.id, job_id = poll->job] { end(job_id, id); });
  job->second.waiting.push_back(std::move(waiting));
}

void JobPolls::end(JobId job, std::uint64_t poll) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  auto& list = found->second.waiting;
  const auto at = std::find_if(list.begin(), list.end(), [poll](const WaitingPoll& item) { return item.id == poll; });
  if (at == list.end()) return;
  const WaitingPoll over = std::move(*at);
  list.erase(at);
  send(over.responder, *answer_to(over.poll, true));
}

void JobPolls::answer(JobId id, bool final) {
  auto job = jobs_.find(id);
  if (job == jobs_.end()) return;
  std::vector<WaitingPoll> still;
  for (WaitingPoll& waiting : std::exchange(job->second.waiting, {})) {
    if (auto answered = answer_to(waiting.poll, final))
      send(waiting.responder, std::move(*answered));
    else
      still.push_back(std::move(waiting));
  }
  job->second.waiting = std::move(still);
}

void JobPolls::give_up(const Error& why) {
  for (auto& [id, job] : jobs_)
    for (WaitingPoll& waiting : std::exchange(job.waiting, {})) waiting.responder->fail(why);
}

}  // namespace weft::master
