#include "engine/master/election/leader_record.hpp"

#include <set>
#include <utility>

#include "base/json.hpp"
#include "base/json_reader.hpp"

namespace weft::master {
namespace {

Result<void> read_member(JsonReader& json, std::string_view name, LeaderRecord& record) {
  if (name == "cluster") {
    WEFT_ASSIGN(record.cluster, json.text());
  } else if (name == "epoch") {
    WEFT_ASSIGN(const std::int64_t epoch, json.integer());
    if (epoch < 0) return fail(json.error("an epoch is not negative"));
    record.epoch = static_cast<std::uint64_t>(epoch);
  } else if (name == "leader") {
    WEFT_ASSIGN(record.leader, json.text());
  } else if (name == "address") {
    WEFT_ASSIGN(record.address, json.text());
  } else if (name == "in_sync") {
    record.in_sync.clear();
    return json.array([&]() -> Result<void> {
      WEFT_ASSIGN(std::string member, json.text());
      record.in_sync.push_back(std::move(member));
      return {};
    });
  } else if (name == "marks") {
    record.marks.clear();
    return json.object([&](std::string_view member) -> Result<void> {
      std::string id(member);  // the view ends with the next token
      WEFT_ASSIGN(record.marks[std::move(id)], json.text());
      return {};
    });
  } else {
    return json.skip();
  }
  return {};
}

Result<LeaderRecord> read_record(std::string_view text, const std::string& key) {
  LeaderRecord record;
  std::set<std::string, std::less<>> missing{"cluster", "epoch", "leader", "address", "in_sync"};
  JsonReader json(text, key);
  WEFT_TRY(json.object([&](std::string_view name) {
    if (const auto found = missing.find(name); found != missing.end()) missing.erase(found);
    return read_member(json, name, record);
  }));
  WEFT_TRY(json.finish());
  if (!missing.empty()) return fail(json.error("there is no \"" + *missing.begin() + "\""));
  return record;
}

}  // namespace

std::string text_of(const LeaderRecord& record) {
  JsonWriter json;
  json.begin_object().member("cluster", record.cluster).member("epoch", record.epoch).member("leader", record.leader);
  json.member("address", record.address).key("in_sync").begin_array();
  for (const std::string& member : record.in_sync) json.value(member);
  json.end_array();
  if (!record.marks.empty()) {
    json.key("marks").begin_object();
    for (const auto& [member, mark] : record.marks) json.member(member, mark);
    json.end_object();
  }
  json.end_object();
  return json.text();
}

Result<LeaderRecord> parse_leader_record(std::string_view text, const std::string& key) {
  auto record = read_record(text, key);
  if (!record)
    return fail(std::move(record).error().wrap(
        Code::corrupt,
        "what is stored in " + key + " is no record of weft's masters; if something else uses that name, choose another one"));
  return record;
}

}  // namespace weft::master
