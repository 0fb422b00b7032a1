// What the scheduler does and why, for the command line.
#include "engine/client/protocol.hpp"
#include "engine/client/wire.hpp"

namespace weft::client {

rpc::Payload encode(const Explanation& explanation) {
  const master::JobExplanation& job = explanation.job;
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Explanation>();
  out.setJob(job.id.value());
  out.setName(text(job.name));
  out.setState(static_cast<std::uint8_t>(job.state));
  out.setSummary(text(job.summary));
  out.setRunning(job.running);
  out.setFinished(job.finished);
  out.setNow(explanation.now.count());
  auto waiting = out.initWaiting(count(job.waiting.size()));
  for (unsigned i = 0; i < waiting.size(); ++i) {
    const master::WaitingTasks& group = job.waiting[i];
    waiting[i].setStage(group.stage.value());
    waiting[i].setName(text(group.stage_name));
    waiting[i].setTasks(group.tasks);
    waiting[i].setWhy(static_cast<std::uint8_t>(group.why));
    waiting[i].setReason(text(group.reason));
    waiting[i].setHasSince(group.since.has_value());
    waiting[i].setSince(group.since.value_or(Duration(0)).count());
  }
  return payload(builder);
}

Result<Explanation> decode_explanation(const rpc::Message& message) {
  return rpc::read_message<wire::Explanation>(message.header.view(), "explanation of a job", [](auto in) -> Result<Explanation> {
    Explanation made;
    made.job.id = JobId(in.getJob());
    made.job.name = string(in.getName());
    if (in.getState() > static_cast<std::uint8_t>(master::JobState::killed)) return fail(Code::corrupt, "unknown state of a job");
    made.job.state = static_cast<master::JobState>(in.getState());
    made.job.summary = string(in.getSummary());
    made.job.running = in.getRunning();
    made.job.finished = in.getFinished();
    made.now = Duration(in.getNow());
    for (auto group : in.getWaiting()) {
      using Why = master::WaitingTasks::Why;
      if (group.getWhy() > static_cast<std::uint8_t>(Why::placed)) return fail(Code::corrupt, "unknown reason to wait");
      std::optional<Duration> since;
      if (group.getHasSince()) since = Duration(group.getSince());
      made.job.waiting.push_back({StageId(group.getStage()), string(group.getName()), group.getTasks(),
                                  static_cast<Why>(group.getWhy()), string(group.getReason()), since});
    }
    return made;
  });
}

}  // namespace weft::client
