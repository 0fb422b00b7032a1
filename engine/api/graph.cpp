#include "weft/detail/graph.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/hash.hpp"
#include "base/log.hpp"
#include "runtime/executor/task.hpp"
#include "runtime/operators/fault.hpp"
#include "weft/aggregators.hpp"
#include "weft/failure.hpp"

namespace weft::detail {
namespace {

void absorb(Lineage& lineage, std::string_view text) { lineage.fingerprint = hash_combine(lineage.fingerprint, hash64(text)); }

}  // namespace

void StageHints::take_larger(const StageHints& other) {
  for (const auto& kind : schedulers::kResourceKinds)
    demand.*kind.amount = std::max(demand.*kind.amount, other.demand.*kind.amount);
  duration = std::max(duration, other.duration);
  output_ratio = std::max(output_ratio, other.output_ratio);
  variants.insert(other.variants.begin(), other.variants.end());
}

void refuse_in_tasks(const std::string& what) {
  if (runtime::current_task() == nullptr) return;
  throw runtime::TaskError{
      Error(Code::invalid_argument, what + " is called by a function that runs in tasks; call it in define(), and " +
                                        "capture its value, or use a join or broadcast()")};
}

void refuse_total() {
  throw runtime::TaskError{Error(Code::invalid_argument,
                                 "weft::sum: the total does not fit in 64 bits; sum floating-point numbers instead: "
                                 "weft::sum([](const auto& value) { return static_cast<double>(value); })")};
}

void check_partitions(const std::string& name, std::uint32_t partitions) {
  if (partitions <= kMostPartitions) return;
  throw JobFailure(Error(Code::invalid_argument, name + " asks for " + std::to_string(partitions) + " partitions; at most " +
                                                     std::to_string(kMostPartitions) +
                                                     " are possible, because each is a task, and often a file"));
}

StageHints demand_hint(const TaskDemand& amounts) {
  if (!schedulers::valid(amounts)) throw std::invalid_argument("demand: the amounts must be finite and not negative");
  return {.demand = amounts};
}

StageHints estimate_hint(std::chrono::nanoseconds duration, double output_ratio) {
  if (duration < std::chrono::nanoseconds(0) || !(output_ratio >= 0 && output_ratio <= 1e9))
    throw std::invalid_argument("estimate: the duration and the ratio must be finite and not negative");
  return {.duration = duration, .output_ratio = output_ratio};
}

StageHints variant_hint(const std::string& attribute) {
  if (attribute.empty() || attribute.front() == '=')
    throw std::invalid_argument("on: an attribute is NAME or NAME=VALUE, not '" + attribute + "'");
  return {.variants = {attribute}};
}

Lineage::Lineage() = default;
Lineage::~Lineage() = default;
Lineage::Lineage(const Lineage&) = default;
Lineage::Lineage(Lineage&&) noexcept = default;
Lineage& Lineage::operator=(const Lineage&) = default;
Lineage& Lineage::operator=(Lineage&&) noexcept = default;

StageDraft::StageDraft() = default;
StageDraft::~StageDraft() = default;
StageDraft::StageDraft(StageDraft&&) noexcept = default;
StageDraft& StageDraft::operator=(StageDraft&&) noexcept = default;

Lineage Lineage::then(std::string name, std::string_view type) const {
  Lineage next = then_same_keys(std::move(name), type);
  next.hashed.reset();
  if (next.determinism == Determinism::same_keys) next.determinism = Determinism::indeterminate;
  return next;
}

Lineage Lineage::ordered_values() const {
  Lineage next = *this;
  if (next.determinism == Determinism::unordered) next.determinism = Determinism::same_keys;
  return next;
}

Lineage Lineage::by_position() const {
  Lineage next = *this;
  if (next.determinism != Determinism::determinate) next.determinism = Determinism::indeterminate;
  return next;
}

Lineage Lineage::then_same_keys(std::string name, std::string_view type) const {
  Lineage next = *this;
  absorb(next, name);
  absorb(next, type);
  next.operators.push_back(std::move(name));
  return next;
}

Lineage Lineage::unsplit() const {
  Lineage next = *this;
  for (Origin& branch : next.branches) branch.splittable.clear(), branch.instead.clear();
  return next;
}

Lineage Lineage::grown() const {
  Lineage next = *this;
  next.may_grow = true;
  return next;
}

void Lineage::allow(const Lineage& streamed, const ShuffleRef& whole, std::string_view whole_side) {
  determinism = std::max(determinism, streamed.determinism);
  branches.at(0).instead.push_back({std::make_shared<const Lineage>(streamed), whole, whole_side});
}

Lineage Lineage::with_broadcast(const ShuffleRef& shuffle) const {
  Lineage next = *this;
  for (Origin& branch : next.branches) branch.broadcast.push_back(shuffle);
  next.determinism = std::max(next.determinism, shuffle->read());
  next.fingerprint = hash_combine(next.fingerprint, shuffle->id().value());
  return next;
}

Lineage Lineage::of(Origin origin, std::string name, std::string_view type) {
  check_partitions(name, origin.tasks);
  Lineage lineage;
  absorb(lineage, name);
  absorb(lineage, type);
  for (const ShuffleRef& shuffle : origin.partitioned) {
    lineage.fingerprint = hash_combine(lineage.fingerprint, shuffle->id().value());
    lineage.determinism = std::max(lineage.determinism, shuffle->read());
  }
  lineage.branches.push_back(std::move(origin));
  lineage.operators.push_back(std::move(name));
  return lineage;
}

Lineage Lineage::reading(const ShuffleRef& shuffle) {
  Origin origin;
  origin.kind = Origin::Kind::shuffles;
  origin.partitioned.push_back(shuffle);
  Lineage lineage;
  lineage.fingerprint = hash_combine(0, shuffle->id().value());
  lineage.determinism = shuffle->read();
  lineage.branches.push_back(std::move(origin));
  return lineage;
}

Lineage Lineage::after(const ShuffleRef& shuffle, std::string name, std::string_view type) {
  Origin origin;
  origin.kind = Origin::Kind::shuffles;
  origin.partitioned.push_back(shuffle);
  return of(std::move(origin), std::move(name), type);
}

Lineage Lineage::joined(const Lineage& first, const Lineage& second, std::string name) {
  Lineage lineage = first;
  lineage.hashed.reset();
  lineage.branches.insert(lineage.branches.end(), second.branches.begin(), second.branches.end());
  for (Origin& branch : lineage.branches) branch.instead.clear();  // it might have several branches then
  lineage.operators.insert(lineage.operators.end(), second.operators.begin(), second.operators.end());
  lineage.hints.take_larger(second.hints);
  lineage.may_grow = lineage.may_grow || second.may_grow;
  lineage.determinism = std::max(first.determinism, second.determinism);
  lineage.fingerprint = hash_combine(lineage.fingerprint, second.fingerprint);
  absorb(lineage, name);
  lineage.operators.push_back(std::move(name));
  return lineage;
}

Lineage Lineage::together(const Lineage& first, const Lineage& second, std::string name, std::string_view type) {
  Lineage lineage = first;
  Origin& branch = lineage.branches.at(0);
  const Origin& other = second.branches.at(0);
  const auto add = [](std::vector<ShuffleRef>& to, const std::vector<ShuffleRef>& from) {
    for (const ShuffleRef& shuffle : from) {
      if (std::find(to.begin(), to.end(), shuffle) == to.end()) to.push_back(shuffle);
    }
  };
  add(branch.partitioned, other.partitioned);
  add(branch.broadcast, other.broadcast);
  branch.splittable.clear();
  branch.instead.clear();
  lineage.hints.take_larger(second.hints);
  lineage.may_grow = true;
  lineage.determinism = std::max(first.determinism, second.determinism);
  lineage.operators.insert(lineage.operators.end(), second.operators.begin(), second.operators.end());
  lineage.fingerprint = hash_combine(lineage.fingerprint, second.fingerprint);
  lineage.hashed.reset();
  absorb(lineage, name);
  absorb(lineage, type);
  lineage.operators.push_back(std::move(name));
  return lineage;
}

void Graph::look_for_locals(const void* function, const void* copy, std::size_t bytes, std::string_view what,
                            const std::source_location& where) const {
  const auto low = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), high = reinterpret_cast<std::uintptr_t>(frame_);
  const auto own = reinterpret_cast<std::uintptr_t>(function);
  if (!on_driver() || high <= low) return;  // no definition, or not on this stack
  for (std::size_t i = 0; i + sizeof low <= bytes; i += sizeof low) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(function) + i, sizeof word);
    if (std::memcmp(static_cast<const std::byte*>(copy) + i, &word, sizeof word) != 0) continue;
    if (word <= low || word >= high || (word >= own && word < own + bytes)) continue;
    const std::string message = operator_name(what, where) +
                                ": the function refers to a local variable of the definition (a lambda that captures by "
                                "reference?), which other processes do "
                                "not have and which is gone when outputs are written; capture by value";
    if (has_executors()) throw JobFailure(Error(Code::invalid_argument, message));
    Log("job").warn("{}", message);
    return;
  }
}

bool indeterminate(const StageDraft& draft) {
  switch (draft.routing) {
    case Routing::key:
      return draft.lineage.determinism == Determinism::indeterminate;
    case Routing::record:
      return draft.lineage.determinism >= Determinism::same_keys;
    case Routing::position:
      return draft.lineage.determinism >= Determinism::unordered;
    case Routing::nothing:
      break;
  }
  return false;
}

/// Whoever reads an indeterminate stage reads one output of each of its tasks, so behind it only the order may differ.
Determinism determinism_behind(const StageDraft& draft) {
  if (indeterminate(draft) || draft.routing == Routing::nothing) return Determinism::unordered;
  return std::max(draft.lineage.determinism, Determinism::unordered);
}

ShuffleRef add_shuffle(Graph& graph, std::string name, Lineage lineage, std::uint32_t partitions,
                       std::unique_ptr<const runtime::StageBody> body, Routing routing) {
  StageDraft draft;
  draft.name = std::move(name);
  draft.lineage = std::move(lineage);
  draft.partitions = partitions;
  draft.routing = routing;
  draft.body = std::move(body);
  return graph.add_shuffle(std::move(draft));
}

StageDraft result_stage(const Lineage& before, std::string name, std::string_view type) {
  StageDraft draft;
  draft.lineage = before.then(name, type);
  draft.name = std::move(name);
  draft.output = plan::OutputKind::result;
  return draft;
}

std::uint64_t stage_fingerprint(const StageDraft& draft) {
  std::uint64_t hash = hash_combine(draft.lineage.fingerprint, static_cast<std::uint64_t>(draft.output));
  return hash_combine(hash, draft.partitions);
}

void check_same_flow(const std::shared_ptr<Graph>& one, const std::shared_ptr<Graph>& other, const std::string& name) {
  if (one != other)
    throw JobFailure(
        Error(Code::invalid_argument, name + ": the two datasets are of different flows, and each flow is a job of its own; "
                                             "define both in the same flow, or write one and read it in the other"));
}

std::string operator_name(std::string_view what, const std::source_location& where) {
  std::string_view file = where.file_name();
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return std::string(what) + " (" + std::string(file) + ":" + std::to_string(where.line()) + ")";
}

}  // namespace weft::detail
