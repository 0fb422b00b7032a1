#include "engine/master/profiles/profile_service.hpp"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/master/profiles/record.hpp"

namespace weft::master {

namespace {

constexpr Duration kSaveEvery = std::chrono::seconds(1);

/// Programs sort apart from the numbers of their stages.
std::string store_key(const profiles::StageKey& key) { return fmt::format("p{}\n{:010}", key.program, key.stage.value()); }

bool ends_job(const Command& command) {
  return std::holds_alternative<JobFinished>(command) || std::holds_alternative<JobFailed>(command);
}

}  // namespace

Result<void> ProfileService::open(const ProfileStoreFactory& factory) {
  if (factory) {
    WEFT_ASSIGN(store_, factory([this](ProfileRecords records) { return restore(std::move(records)); }));
  }
  (void)history_.take_changes();  // the store has them
  if (history_.stages() > 0) log_.info("profiles of {} stages of {} programs", history_.stages(), history_.programs().size());
  return {};
}

Result<void> ProfileService::restore(ProfileRecords records) {
  (void)history_.forget("");
  for (const auto& [key, text] : records) {
    WEFT_ASSIGN(profiles::Record record, profiles::parse_record(text, fmt::format("the profile '{}'", escaped(key))));
    history_.restore(record.first, std::move(record.second));
  }
  return {};
}

void ProfileService::save_after(const std::vector<Command>& commands) {
  save_soon(std::any_of(commands.begin(), commands.end(), ends_job));
}

void ProfileService::save_soon(bool now) {
  if (!store_ || !history_.changed()) return;
  if (now) return save();
  if (!timer_) timer_ = reactor_.after(kSaveEvery, [this] { save(); });
}

void ProfileService::save() {
  timer_.reset();
  std::map<std::string, std::optional<std::string>> records;
  for (const profiles::StageKey& key : history_.take_changes()) {
    const profiles::StageHistory* stage = history_.find(key);
    records[store_key(key)] = stage == nullptr ? std::nullopt : std::optional(profiles::to_json(key, *stage));
  }
  if (!store_ || records.empty()) return;
  if (followers_ != nullptr && followers_->followed())
    followers_->append({Store::profiles, to_bytes(Changes{{records.begin(), records.end()}})});
  store_->put(std::move(records));
}

void ProfileService::replicate_to(ReplicationLog& log) {
  followers_ = &log;
  log.add([this](auto then) { then(std::make_unique<ListedSnapshot>(std::vector<LogEntry>{{Store::profiles, to_bytes(all())}})); });
}

Changes ProfileService::all() const {
  Changes all;
  for (const auto& [program, stages] : history_.programs())
    for (const auto& [id, stage] : stages)
      all.changes.emplace_back(store_key({program, id}), profiles::to_json({program, id}, stage));
  return all;
}

void ProfileService::close() {
  followers_ = nullptr;
  save();
  store_.reset();
}

Result<rpc::Payload> ProfileService::answer(const rpc::Message& message) {
  WEFT_ASSIGN(auto request, client::decode<client::ProfileRequest>(message));
  WEFT_ASSIGN(auto reply, reply_to(std::move(request)));
  return client::encode(std::move(reply));
}

Result<client::ProfileReply> ProfileService::reply_to(client::ProfileRequest request) {
  client::ProfileReply reply;
  switch (request.what) {
    case client::ProfileRequest::What::show: {
      std::string lines;
      for (const auto& [program, stages] : history_.programs()) {
        if (!request.program.empty() && program != request.program) continue;
        for (const auto& [id, stage] : stages) lines += profiles::to_json({program, id}, stage) + "\n";
        reply.stages += static_cast<std::uint32_t>(stages.size());
      }
      reply.records = Buffer::copy_of(as_bytes(lines));
      break;
    }
    case client::ProfileRequest::What::forget:
      reply.stages = static_cast<std::uint32_t>(history_.forget(request.program));
      break;
    case client::ProfileRequest::What::import: {
      WEFT_ASSIGN(auto records, profiles::parse_export(as_chars(request.records.view()), request.program));
      WEFT_TRY(history_.import(records));
      reply.stages = static_cast<std::uint32_t>(records.size());
      break;
    }
  }
  save_soon(true);
  if (reply.stages == 0 && !request.program.empty())
    return fail(Code::not_found,
                fmt::format("there are no profiles of '{}'; `weft profile list` shows those there are", escaped(request.program)));
  return reply;
}

}  // namespace weft::master
