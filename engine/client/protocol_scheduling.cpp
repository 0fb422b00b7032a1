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
  out.setRacing(job.racing);
  out.setStraggling(job.straggling);
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
    made.job.racing = in.getRacing();
    made.job.straggling = in.getStraggling();
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

rpc::Payload encode(const std::vector<GroupInfo>& groups) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Groups>().initGroups(count(groups.size()));
  for (unsigned i = 0; i < out.size(); ++i) {
    const schedulers::GroupStatus& status = groups[i].status;
    out[i].setName(text(status.name));
    out[i].setParent(text(status.parent));
    out[i].setWeight(status.weight);
    out[i].setGuaranteed(status.guaranteed);
    out[i].setFairShare(status.fair_share);
    out[i].setHasLimit(status.limit.has_value());
    out[i].setLimit(status.limit.value_or(0));
    out[i].setUsed(status.used);
    out[i].setDemand(status.demand);
    out[i].setJobs(status.jobs);
    out[i].setPending(groups[i].pending);
    out[i].setRunning(groups[i].running);
    out[i].setResources(text(to_string(groups[i].used)));
    out[i].setUnknown(groups[i].unknown);
  }
  return payload(builder);
}

Result<std::vector<GroupInfo>> decode_groups(const rpc::Message& message) {
  return rpc::read_message<wire::Groups>(message.header.view(), "list of pools", [](auto in) -> Result<std::vector<GroupInfo>> {
    std::vector<GroupInfo> groups;
    for (auto group : in.getGroups()) {
      GroupInfo& made = groups.emplace_back();
      made.status.name = string(group.getName());
      made.status.parent = string(group.getParent());
      made.status.weight = group.getWeight();
      made.status.guaranteed = group.getGuaranteed();
      made.status.fair_share = group.getFairShare();
      if (group.getHasLimit()) made.status.limit = group.getLimit();
      made.status.used = group.getUsed();
      made.status.demand = group.getDemand();
      made.status.jobs = group.getJobs();
      made.pending = group.getPending();
      made.running = group.getRunning();
      WEFT_ASSIGN(made.used, schedulers::parse_resources(string(group.getResources())));
      made.unknown = group.getUnknown();
    }
    return groups;
  });
}

rpc::Payload encode(const SchedulerInfo& info) {
  capnp::MallocMessageBuilder builder;
  auto out = builder.initRoot<wire::Scheduler>();
  out.setSpec(text(info.spec));
  auto files = out.initFiles(count(info.files.size()));
  for (unsigned i = 0; i < files.size(); ++i) files.set(i, text(info.files[i]));
  auto known = out.initKnown(count(info.known.size()));
  unsigned i = 0;
  for (const auto& [name, description] : info.known) {
    known[i].setName(text(name));
    known[i++].setValue(text(description));
  }
  out.setRefused(info.trouble.refused);
  out.setFaults(info.trouble.faults);
  out.setFault(text(info.trouble.fault));
  out.setFaultAt(info.trouble.at.count());
  out.setNow(info.now.count());
  return payload(builder);
}

Result<SchedulerInfo> decode_scheduler(const rpc::Message& message) {
  return rpc::read_message<wire::Scheduler>(message.header.view(), "scheduler", [](auto in) -> Result<SchedulerInfo> {
    SchedulerInfo info;
    info.spec = string(in.getSpec());
    for (auto file : in.getFiles()) info.files.push_back(string(file));
    for (auto known : in.getKnown()) info.known[string(known.getName())] = string(known.getValue());
    info.trouble = {in.getRefused(), in.getFaults(), string(in.getFault()), Duration(in.getFaultAt())};
    info.now = Duration(in.getNow());
    return info;
  });
}

}  // namespace weft::client
