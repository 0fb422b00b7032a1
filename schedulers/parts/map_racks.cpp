#include "schedulers/parts/map_racks.hpp"

#include <algorithm>
#include <numeric>

namespace weft::schedulers {

namespace {

constexpr double kLately = 1.0 / 64;  // weight of the last launch in the moving average

constexpr std::uint32_t kNowhere = UINT32_MAX;
constexpr double kNoLess = 1e-12;  // of all bytes: amounts that differ by less are equal

/// The chunks with a replica in each rack.
class ChunksByRack {
 public:
  ChunksByRack(const MapInput& input, std::size_t racks) : first_(racks + 1), chunks_(input.racks.size()) {
    for (const std::uint32_t rack : input.racks) ++first_[rack + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t chunk = 0; chunk < input.bytes.size(); ++chunk)
      for (std::uint32_t i = input.first[chunk]; i < input.first[chunk + 1]; ++i) chunks_[next[input.racks[i]]++] = chunk;
  }
  std::span<const std::uint32_t> operator[](std::uint32_t rack) const {
    return std::span(chunks_).subspan(first_[rack], first_[rack + 1] - first_[rack]);
  }

 private:
  std::vector<std::uint32_t> first_, chunks_;
};

/// Assigns to `rack`, the last of `count`, first its unplaced chunks, then those of the other racks' surplus over an even part that
/// it holds, too. `placed`: bytes of the other racks together. Returns the bytes that were unplaced.
double take_in(std::uint32_t rack, std::span<const std::uint32_t> there, const std::vector<double>& bytes, double placed,
               std::size_t count, std::vector<std::uint32_t>& place, std::vector<double>& given) {
  double fresh = 0;
  for (const std::uint32_t chunk : there) {
    if (place[chunk] != kNowhere) continue;
    place[chunk] = rack;
    fresh += bytes[chunk];
  }
  given[rack] = fresh;
  const double even = (placed + fresh) / static_cast<double>(count);
  for (const std::uint32_t chunk : there) {
    const std::uint32_t from = place[chunk];
    if (from == rack || given[from] <= even || given[from] - given[rack] <= bytes[chunk]) continue;
    given[from] -= bytes[chunk];
    given[rack] += bytes[chunk];
    place[chunk] = rack;
  }
  return fresh;
}

/// The bytes of chunks with a replica in each rack.
std::vector<double> held_by_rack(const ChunksByRack& chunks, const std::vector<double>& bytes, std::size_t racks) {
  std::vector<double> held(racks);
  for (std::uint32_t rack = 0; rack < racks; ++rack)
    for (const std::uint32_t chunk : chunks[rack]) held[rack] += bytes[chunk];
  return held;
}

/// What is read from other racks where every rack runs as many maps.
double spread_reads(const std::vector<double>& held, double total) {
  const double even = total / static_cast<double>(held.size());
  double cross = 0;
  for (const double there : held) cross += std::max(0.0, even - there);
  return cross;
}

std::vector<std::uint32_t> by_input_held(const std::vector<double>& held, std::span<const RackOption> racks) {
  std::vector<std::uint32_t> order(racks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (held[a] != held[b]) return held[a] > held[b];
    return racks[a].load != racks[b].load ? racks[a].load < racks[b].load : racks[a].id < racks[b].id;
  });
  return order;
}

bool is_planned(const StageInfo& stage) { return !stage.reads_shuffle && stage.writes_shuffle && stage.pending.placed(); }

}  // namespace

void MapInput::add(std::uint64_t size, std::span<const std::uint32_t> replicas) {
  bytes.push_back(size);
  racks.insert(racks.end(), replicas.begin(), replicas.end());
  first.push_back(static_cast<std::uint32_t>(racks.size()));
}

std::uint64_t MapInput::total() const { return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}); }

MapRacks choose_map_racks(const MapInput& input, std::span<const RackOption> racks, double shuffle_bytes) {
  std::vector<double> bytes(input.bytes.begin(), input.bytes.end());
  if (input.total() == 0) bytes.assign(bytes.size(), 1);  // unknown sizes count as equal
  const double total = std::max(1.0, std::accumulate(bytes.begin(), bytes.end(), 0.0));
  const ChunksByRack chunks(input, racks.size());
  const std::vector<double> held = held_by_rack(chunks, bytes, racks.size());
  const std::vector<std::uint32_t> order = by_input_held(held, racks);

  std::vector<std::uint32_t> place(bytes.size(), kNowhere);
  std::vector<double> given(racks.size()), best;
  double remote = total, best_remote = total, least = 0;
  for (std::size_t count = 1; count <= order.size(); ++count) {
    const std::uint32_t rack = order[count - 1];
    remote = std::max(0.0, remote - take_in(rack, chunks[rack], bytes, total - remote, count, place, given));
    const double even = remote / static_cast<double>(count);
    double squares = 0;
    for (std::size_t i = 0; i < count; ++i) squares += (given[order[i]] + even) * (given[order[i]] + even);
    const double cross = remote + shuffle_bytes * std::max(0.0, 1 - squares / (total * total));
    if (!best.empty() && cross >= least - kNoLess * total) continue;
    least = cross;
    best_remote = remote;
    best.clear();
    for (std::size_t i = 0; i < count; ++i) best.push_back(given[order[i]]);
  }
  MapRacks chosen;
  chosen.cross_bytes = least;
  chosen.spread_reads = spread_reads(held, total);
  chosen.spread_bytes = chosen.spread_reads + shuffle_bytes * (1 - 1 / static_cast<double>(racks.size()));
  chosen.chunk_bytes = static_cast<double>(input.total()) / static_cast<double>(std::max<std::size_t>(1, bytes.size()));
  for (std::size_t i = 0; i < best.size(); ++i) {
    chosen.preferred.push_back(racks[order[i]].id);
    chosen.parts.emplace_back(racks[order[i]].id, (best[i] + best_remote / static_cast<double>(best.size())) / total);
  }
  return chosen;
}

void MapRackChoices::on_event(const ClusterView& view, const Notice& notice) {
  using Kind = Notice::Kind;
  if (notice.kind == Kind::stage_added) {
    if (!view.stage(notice.job, notice.stage)->reads_shuffle) due_.insert(notice.job);
  } else if (notice.kind == Kind::task_launched) {
    const MapRacks* chosen = of(notice.job);
    if (chosen == nullptr || view.stage(notice.job, notice.stage)->reads_shuffle) return;
    kept_ += kLately * ((chosen->has(view.node(notice.node)->rack) ? 1 : 0) - kept_);
  } else if (notice.kind == Kind::job_ended) {
    due_.erase(notice.job);
    forget(notice.job);
  } else if (notice.kind == Kind::node_joined || notice.kind == Kind::node_left) {
    const bool last = notice.kind == Kind::node_left && view.rack(view.node(notice.node)->rack)->nodes.size() == 1;
    const auto used = static_cast<std::size_t>(
        std::ranges::count_if(view.racks(), [](const auto& entry) { return !entry.second.nodes.empty(); }));
    if (std::exchange(racks_, used - (last ? 1 : 0)) == racks_) return;
    for (const auto& [id, choice] : choices_) due_.insert(id);
  }
}

std::set<JobId> MapRackChoices::refresh(const ClusterView& view, const RatioOf& ratio) {
  std::set<JobId> due = std::exchange(due_, {});
  for (const JobId id : due) {
    forget(id);
    if (const JobInfo* job = view.job(id)) choose(view, *job, ratio);
  }
  return due;
}

const MapRacks* MapRackChoices::of(JobId job) const {
  const auto found = choices_.find(job);
  return found == choices_.end() ? nullptr : &found->second.racks;
}

void MapRackChoices::forget(JobId job) {
  const auto found = choices_.find(job);
  if (found == choices_.end()) return;
  for (const auto& [rack, part] : found->second.racks.parts) load_[rack] -= part * found->second.bytes;
  choices_.erase(found);
}

void MapRackChoices::choose(const ClusterView& view, const JobInfo& job, const RatioOf& ratio) {
  std::vector<RackOption> racks;
  std::map<RackId, std::uint32_t> positions;
  for (const auto& [id, rack] : view.racks()) {
    if (rack.nodes.empty()) continue;
    positions.emplace(id, static_cast<std::uint32_t>(racks.size()));
    racks.push_back({id, std::max(0.0, load_[id])});
  }
  std::vector<std::optional<std::uint32_t>> rack_of_host;  // looked up once: the same few hosts hold all chunks
  const auto position = [&](HostId host) {
    if (host.value() >= rack_of_host.size()) rack_of_host.resize(host.value() + 1);
    auto& known = rack_of_host[host.value()];
    if (!known) {
      const auto rack = view.rack_of(host);
      const auto found = rack ? positions.find(*rack) : positions.end();
      known = found == positions.end() ? kNowhere : found->second;
    }
    return *known;
  };
  MapInput input;
  std::vector<std::uint32_t> replicas;
  for (const auto& [id, stage] : job.stages) {
    if (!is_planned(stage) || stage.complete()) continue;
    for (std::uint32_t task = 0; task < stage.tasks.size(); ++task) {
      replicas.clear();
      for (const HostId host : stage.pending.hosts(task)) {
        const std::uint32_t rack = position(host);
        if (rack != kNowhere && std::ranges::find(replicas, rack) == replicas.end()) replicas.push_back(rack);
      }
      input.add(stage.tasks[task].input_bytes, replicas);
    }
  }
  if (racks.empty() || input.racks.empty()) return;
  Choice& choice = choices_[job.id];
  choice.bytes = static_cast<double>(input.total());
  const double shuffle_bytes = ratio(job) * std::max(choice.bytes, static_cast<double>(input.bytes.size()));
  choice.racks = choose_map_racks(input, racks, shuffle_bytes);
  for (const auto& [rack, part] : choice.racks.parts) load_[rack] += part * choice.bytes;
}

}  // namespace weft::schedulers
