#include "schedulers/parts/slot_matrix.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace weft::schedulers {

namespace {

double amount_of(const SlotDemand& task, std::pair<bool, std::size_t> kind) {
  return (kind.first ? task.use : task.demand).*kResourceKinds[kind.second].amount;
}

}  // namespace

SlotMatrix::SlotMatrix(std::vector<SlotJob> jobs, const std::vector<SlotNode>& nodes, Utility utility, Overcommit overcommit)
    : utility_(std::move(utility)), overcommit_(overcommit) {
  for (const bool of_use : {true, false}) {
    for (std::size_t k = 0; k < kResourceKinds.size(); ++k) {
      const std::pair kind{of_use, k};
      const bool counts = std::ranges::any_of(nodes, [&](const SlotNode& node) { return amount_of(node.capacity, kind) > 0; });
      if (counts || kResourceKinds[k].amount == &Resources::cpu) kinds_.push_back(kind);
    }
  }
  dimensions_ = kinds_.size();
  for (const SlotNode& node : nodes) {
    Node& added = nodes_.emplace_back();
    for (std::size_t d = 0; d < dimensions_; ++d) {
      const double has = amount_of(node.capacity, kinds_[d]);
      const bool unlimited = has <= 0 && kResourceKinds[kinds_[d].second].amount != &Resources::cpu;
      added.has[d] = added.left[d] = unlimited ? std::numeric_limits<double>::infinity() : has * (1 + 1e-9);
      has_[d] += has;
    }
  }
  least_.fill(std::numeric_limits<double>::infinity());
  for (std::uint32_t j = 0; j < jobs.size(); ++j) {
    Job& job = jobs_.emplace_back();
    job.of = jobs[j];
    job.task_shape = shape_of(job.of.task);
    job.early_shape = shape_of(job.of.early);
    job.utility = utility_(j, 0, 0);
    if (job.of.pending == 0) continue;
    shapes_[job.task_shape].wanting.emplace(job.utility, j);
    for (std::size_t d = 0; d < dimensions_; ++d) least_[d] = std::min(least_[d], shapes_[job.task_shape].amounts[d]);
  }
}

std::uint32_t SlotMatrix::shape_of(const SlotDemand& task) {
  Amounts amounts{};
  for (std::size_t d = 0; d < dimensions_; ++d) amounts[d] = std::max(0.0, amount_of(task, kinds_[d]));
  const auto [found, added] = shape_ids_.try_emplace(amounts, static_cast<std::uint32_t>(shapes_.size()));
  if (!added) return found->second;
  Shape& shape = shapes_.emplace_back();
  shape.amounts = amounts;
  for (std::size_t d = 0; d < dimensions_; ++d) {
    if (amounts[d] * has_[shape.most] > amounts[shape.most] * has_[d]) shape.most = d;
  }
  return found->second;
}

/// Demands in the master's account are never overcommitted.
bool SlotMatrix::fits(const Node& node, std::size_t dimension, bool most, double wants) const {
  const auto [of_use, kind] = kinds_[dimension];
  const Overcommit overcommit = of_use ? overcommit_ : Overcommit();
  return wants <= 0 || overcommit.fits(kResourceKinds[kind], most, wants, node.left[dimension], node.has[dimension]);
}

bool SlotMatrix::fits(const Node& node, const Shape& shape) const {
  for (std::size_t d = 0; d < dimensions_; ++d) {
    if (!fits(node, d, d == shape.most, shape.amounts[d])) return false;
  }
  return true;
}

bool SlotMatrix::fits(std::uint32_t node, std::uint32_t job, bool early) const {
  return fits(nodes_[node], shapes_[early ? jobs_[job].early_shape : jobs_[job].task_shape]);
}

void SlotMatrix::change(std::uint32_t at, std::uint32_t number, int slots, int early) {
  Node& node = nodes_[at];
  Job& job = jobs_[number];
  auto cell = std::ranges::find(node.cells, number, &Cell::job);
  if (cell == node.cells.end()) cell = node.cells.insert(cell, Cell{number, 0, 0});
  const auto add = [](std::uint32_t& to, int more) { to = static_cast<std::uint32_t>(static_cast<int>(to) + more); };
  const auto take = [&](std::uint32_t shape, int times) {
    for (std::size_t d = 0; d < dimensions_; ++d) node.left[d] -= shapes_[shape].amounts[d] * times;
  };
  if (slots != 0) take(job.task_shape, slots);
  if (early != 0) take(job.early_shape, early);
  add(cell->slots, slots);
  add(cell->early, early);
  add(node.early, early);
  if (cell->slots == 0 && cell->early == 0) node.cells.erase(cell);
  auto& wanting = shapes_[job.task_shape].wanting;
  if (job.slots < job.of.pending) wanting.erase({job.utility, number});
  add(job.slots, slots);
  add(job.early, early);
  job.utility = utility_(number, job.slots, job.early);
  if (job.slots < job.of.pending) wanting.emplace(job.utility, number);
}

bool SlotMatrix::hold(std::uint32_t node, std::uint32_t job, bool early) {
  const Job& of = jobs_[job];
  if (early ? of.early >= of.of.early_pending : of.slots >= of.of.pending) return false;
  change(node, job, early ? 0 : 1, early ? 1 : 0);
  return true;
}

const std::pair<double, std::uint32_t>* SlotMatrix::lowest(const Node& node) const {
  for (std::size_t d = 0; d < dimensions_; ++d) {
    if (!fits(node, d, true, least_[d]) && !fits(node, d, false, least_[d])) return nullptr;
  }
  const std::pair<double, std::uint32_t>* best = nullptr;
  for (const Shape& shape : shapes_) {
    if (shape.wanting.empty() || (best != nullptr && !(*shape.wanting.begin() < *best))) continue;
    if (fits(node, shape)) best = &*shape.wanting.begin();
  }
  return best;
}

void SlotMatrix::place(int rounds) {
  place_early();
  fill();
  double before = lowest_utility();
  for (int round = 0; round < rounds; ++round) {
    bool any = false;
    for (std::uint32_t node = 0; node < nodes_.size(); ++node) any = take_away(node) || any;
    if (!any) return;
    fill();
    if (!(lowest_utility() > std::exchange(before, lowest_utility()))) return;
  }
}

double SlotMatrix::lowest_utility() const {
  double lowest = 1;
  for (const Job& job : jobs_) {
    if (job.of.pending > 0) lowest = std::min(lowest, job.utility);
  }
  return lowest;
}

double SlotMatrix::fullness() const {
  double fullest = 0;
  for (std::size_t d = 0; d < dimensions_; ++d) {
    double left = 0;
    for (const Node& node : nodes_) left += node.left[d];
    if (has_[d] > 0 && left < has_[d]) fullest = std::max(fullest, 1 - left / has_[d]);
  }
  return fullest;
}

/// Lines 1 to 7.
void SlotMatrix::place_early() {
  std::vector<std::uint32_t> order(nodes_.size());
  for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
    const Job& job = jobs_[j];
    bool placed = true;
    while (job.early < job.of.early_pending && std::exchange(placed, false)) {
      std::iota(order.begin(), order.end(), 0u);
      const auto crowd = [&](std::uint32_t at) {
        const auto cell = std::ranges::find(nodes_[at].cells, j, &Cell::job);
        return std::pair(nodes_[at].early, cell == nodes_[at].cells.end() ? 0 : cell->early);
      };
      std::ranges::stable_sort(order, std::less<>(), crowd);
      for (const std::uint32_t at : order) {
        if (job.early >= job.of.early_pending) break;
        if (!fits(at, j, true)) continue;
        change(at, j, 0, 1);
        placed = true;
      }
    }
  }
}

/// Free capacity only becomes less here, so a node that a shape does not fit is dropped for that shape.
void SlotMatrix::fill() {
  using Free = std::pair<double, std::uint32_t>;  // what is left of the resource that the shape needs most, and the node
  std::vector<std::vector<Free>> frees(shapes_.size());
  const auto later = [](const Free& a, const Free& b) { return a.first != b.first ? a.first < b.first : a.second > b.second; };
  std::vector<std::uint32_t> open;
  for (std::uint32_t s = 0; s < shapes_.size(); ++s) {
    if (shapes_[s].wanting.empty()) continue;
    open.push_back(s);
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      if (fits(nodes_[n], shapes_[s])) frees[s].emplace_back(nodes_[n].left[shapes_[s].most], n);
    }
    std::ranges::make_heap(frees[s], later);
  }
  for (;;) {
    std::erase_if(open, [&](std::uint32_t s) { return frees[s].empty() || shapes_[s].wanting.empty(); });
    if (open.empty()) return;
    const std::uint32_t s =
        *std::ranges::min_element(open, std::less<>(), [&](std::uint32_t at) { return *shapes_[at].wanting.begin(); });
    std::ranges::pop_heap(frees[s], later);
    Free& most = frees[s].back();
    const double left = nodes_[most.second].left[shapes_[s].most];
    if (!fits(nodes_[most.second], shapes_[s])) {
      frees[s].pop_back();
      continue;
    }
    if (left == most.first) change(most.second, shapes_[s].wanting.begin()->second, 1, 0);
    most.first = nodes_[most.second].left[shapes_[s].most];
    std::ranges::push_heap(frees[s], later);
  }
}

/// Takes slots of the node from the job with the highest utility, as long as its utility stays above that of the job that would get
/// the capacity. False: none was taken.
bool SlotMatrix::take_away(std::uint32_t at) {
  Node& node = nodes_[at];
  bool any = false;
  for (;;) {
    const Cell* most = nullptr;
    for (const Cell& cell : node.cells) {
      if (cell.slots > 0 && (most == nullptr || jobs_[cell.job].utility > jobs_[most->job].utility)) most = &cell;
    }
    if (most == nullptr) return any;
    const std::uint32_t out = most->job;
    const double after = utility_(out, jobs_[out].slots - 1, jobs_[out].early);
    change(at, out, -1, 0);
    const auto* in = lowest(node);
    if (in == nullptr || in->second == out || after <= in->first) {
      change(at, out, 1, 0);
      return any;
    }
    any = true;
  }
}

}  // namespace weft::schedulers
