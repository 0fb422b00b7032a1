#include "benchmarks/papers/experiment.hpp"
namespace weft::papers {
std::vector<Experiment> carbyne_experiments() { return {}; }
}  // namespace weft::papers
