#include "tests/engine/master/core/simulated_journal.hpp"

#include <utility>

#include "base/assert.hpp"
#include "engine/master/journal/journaled_job.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "tests/engine/master/core/simulated.hpp"

namespace weft::master {

Time SimulatedJournal::Shell::now() const { return cluster_.now(); }
const Core& SimulatedJournal::Shell::core() const { return cluster_.core(); }

std::unique_ptr<FactRecorder> SimulatedJournal::recorder() {
  return std::make_unique<FactRecorder>(shell_, [this](JournalRecord record, Journal::Keep) { add(std::move(record)); });
}

void SimulatedJournal::add(JournalRecord record) {
  if (record.fact) date(*record.fact, masters_);
  frames_.push_back(to_frame(record));
  fold_.add(record, {frames_.size() - 1, static_cast<std::uint32_t>(frames_.back().size())});
}

void SimulatedJournal::record(JobId job, JobFact fact) {
  JournalRecord record;
  record.job = job;
  record.fact = std::move(fact);
  add(std::move(record));
}

/// As server and recorder do it.
void SimulatedJournal::after(const Event& event, const std::vector<Command>& commands) {
  if (const auto* submitted = std::get_if<JobSubmitted>(&event)) {
    client::Submit submit;
    submit.name = submitted->name;
    submit.options = submitted->options;
    SubmissionFact fact;
    fact.submit = std::string(as_chars(client::encode(std::move(submit)).header.view()));
    fact.at = shell_.now();
    fact.slow_start = shell_.core().view().job(submitted->job)->slow_start;
    record(submitted->job, std::move(fact));
  } else if (const auto* extended = std::get_if<PlanExtended>(&event)) {
    record(extended->job, PartFact{std::string(as_chars(plan::encode(extended->part).view()))});
  } else if (const auto* joined = std::get_if<WorkerJoined>(&event)) {
    JournalRecord record;
    record.node = fact_of(*joined, shell_.now(), 0);
    add(std::move(record));
    keep_all();
  }
  facts_->after(commands);
  for (const Command& command : commands) {
    const auto* finished = std::get_if<JobFinished>(&command);
    const auto* failed = std::get_if<JobFailed>(&command);
    if (finished == nullptr && failed == nullptr) continue;
    JournalRecord record;
    record.job = finished != nullptr ? finished->job : failed->job;
    record.ended = true;
    record.status = encode_status(shell_.core().job(*record.job).value());
    add(std::move(record));
  }
}

void SimulatedJournal::cut(std::uint64_t records) {
  WEFT_ASSERT(records >= kept_);
  frames_.resize(records);
  keep_all();
  fold_ = JournalFold(1000);
  for (std::uint64_t i = 0; i < frames_.size(); ++i) {
    const auto record = decode_record(as_bytes(frames_[i]).subspan(kRecordHeaderBytes));
    WEFT_ASSERT(record.has_value());
    fold_.add(*record, {i, static_cast<std::uint32_t>(frames_[i].size())});
  }
}

Restored SimulatedJournal::restored() {
  ++masters_;
  facts_ = recorder();
  Restored restored;
  const auto read = [this](const Extent& where) {
    return decode_record(as_bytes(frames_[where.offset]).subspan(kRecordHeaderBytes)).value();
  };
  for (const Extent& where : fold_.ended()) restored.ended.push_back(decode_status(as_bytes(read(where).status)).value());
  for (const auto& [id, where] : fold_.nodes()) restored.nodes.push_back(node_of(*read(where).node).value());
  for (const auto& [id, kept] : fold_.running()) {
    JournaledJob job;
    job.status.id = id;
    JournalFold::Job extents = kept;
    for_each_of(extents, [&](const Extent& where) {
      if (auto fact = read(where).fact) job.add(std::move(*fact));
    });
    restored.jobs.push_back(resume(job, masters_).value().core);
  }
  return restored;
}

}  // namespace weft::master
