#include "schedulers/policies/shortest.hpp"

#include <algorithm>
#include <cmath>

#include "schedulers/parts/ranked_jobs.hpp"
#include "schedulers/parts/stage_orders.hpp"

namespace weft::schedulers {

namespace {

enum class Size { path, remaining_path, work };

class Shortest final : public RankedJobs {
 public:
  explicit Shortest(Size size) : size_(size) {}

 protected:
  double score(const ClusterView& view, const JobInfo& job) const override {
    if (size_ == Size::work) return remaining_work(view, job);
    double longest = 0;
    for (const auto& [id, length] : critical_paths(job, size_ == Size::remaining_path)) longest = std::max(longest, length);
    return longest;
  }

 private:
  Size size_;
};

Result<Composition> make(Options& options, std::string_view otherwise) {
  WEFT_ASSIGN(const Size size,
              options.choice<Size>("size", {{"path", Size::path}, {"remaining_path", Size::remaining_path}, {"work", Size::work}},
                                   otherwise));
  Composition parts;
  parts.jobs = std::make_unique<Shortest>(size);
  WEFT_ASSIGN(parts.stages, take_stage_order(options, "cpm"));
  return parts;
}

}  // namespace

double remaining_work(const ClusterView& view, const JobInfo& job) {
  double work = 0;
  for (const auto& [id, stage] : job.stages) {
    if (stage.complete()) continue;
    double squares = 0;
    for (const auto& kind : kResourceKinds) {
      const double all = view.capacity().*kind.amount;
      if (all > 0) squares += std::pow(stage.demand.*kind.amount / all, 2);
    }
    work += std::sqrt(squares) * static_cast<double>(stage.tasks.size() - stage.finished - stage.running) * task_seconds(stage);
  }
  return work;
}

std::unique_ptr<OrderingPolicy> least_work_order() { return std::make_unique<Shortest>(Size::work); }

Result<Composition> make_sjf(Options& options, const Registry&) { return make(options, "path"); }
Result<Composition> make_srtf(Options& options, const Registry&) { return make(options, "work"); }

}  // namespace weft::schedulers
